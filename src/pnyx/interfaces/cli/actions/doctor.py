"""The action of `pnyx doctor`: check what a question requires, and print a fix for each problem."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .... import protocols
from ....config.paths import models_dir
from ....config.schema import OWN, ProviderSettings, Settings, ToolsSettings
from ....config.stored_keys import ENVIRONMENT
from ....errors import ConfigError, NoTables, NotFound, PnyxError, ProviderError
from ....providers.catalogue import parse_seats
from ....providers.default_panel import default_panel
from ....providers.embedded.weights import find
from ....providers.embedded.weights_table import KNOWN
from ....providers.installed import KINDS, configure, key_variables, list_models
from ....providers.registry import Providers
from ....run.options.request import RunRequest
from ....run.options.resolve import resolve
from ....run.resources import check_providers
from ....similar import nearest
from ....store.altered import Altered
from ....tools.open import enabled_tools, open_tools
from ...process.open_settings import open_settings
from ...records.existing_database import missing_database
from ...records.runs import RunRecords
from ...render.terminal import safe, wrap
from ...requests.option_names import with_flags
from ...views.outcome import refuses_key
from ...views.transcript import quantity
from ..terminal.output import Output, Stream
from ..terminal.plain import WIDE
from .saved_panels import QUESTION

__all__ = ["Finding", "check_host", "examine", "finding_lines"]

REACH_S = 5.0
"""How long a host may take to list its models, in seconds."""
LEAST_FREE_MB = 200
"""Space below which the disk of the database is nearly full: some 8,000 debates of 25 kB."""
COMPARE_S = 10.0
"""How long stored texts are compared with their checksums, in seconds, if not all of them are."""
PROGRESS_S = 5.0
"""Seconds between two lines that say how far a long check is."""
MOST_NAMED = 8
"""Damaged runs that are named."""
INDENT = "     "
UNREACHABLE = "check the address, the network and the proxy settings in the environment"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    fix: what to do, where `found` does not say it already.
    ok: None for a warning: something optional, or something that may be wrong, if there is a fix.
    """

    what: str
    ok: bool | None
    found: str
    fix: str = ""


def examine(output: Output, full: bool, as_json: bool) -> int:
    """Print the findings, and return 0 if pnyx is ready to answer a question, else 1.

    full: compare all that is stored, however long it takes.
    """
    findings, ready = asyncio.run(_examine(output, full))
    if as_json:
        output.json({"ready": ready, "findings": [asdict(finding) for finding in findings]})
        return 0 if ready else 1
    for finding in findings:
        output.out.lines(finding_lines(finding, output.out))
    marks = {
        "FAIL": any(f.ok is False for f in findings),
        "warn": any(f.fix and f.ok is None for f in findings),
    }
    marked = " or ".join(mark for mark, found in marks.items() if found)
    last = (
        f"Ready{marked and f'; see the lines marked {marked}'}"
        if ready
        else "Not ready; fix the lines marked FAIL"
    )
    output.out.line(last, "bold")
    return 0 if ready else 1


def finding_lines(finding: Finding, out: Stream) -> Iterator[str]:
    """A finding as lines, with its fix."""
    warning = ("warn", "yellow") if finding.fix else ("-", "dim")
    sign, look = {True: ("ok", "green"), False: ("FAIL", "red"), None: warning}[finding.ok]
    line, *more = wrap(safe(with_flags(f"{finding.what}: {finding.found}")), out.width or WIDE, INDENT)
    yield out.paint(f"{sign:5}", look) + line.removeprefix(INDENT)
    yield from more
    if finding.fix:
        for line in wrap(f"-> {finding.fix}", out.width or WIDE, INDENT):
            yield out.paint(line, "yellow")


async def _examine(output: Output, full: bool) -> tuple[list[Finding], bool]:
    try:
        settings = open_settings()
    except PnyxError as exc:
        # A message about a folder that is not trusted says so itself.
        return [Finding("settings", False, str(exc), "correct it; pnyx config check checks again")], False
    findings = [Finding("settings", True, "valid"), await _database(settings, output, full)]
    findings += _protocols(settings.run.protocol)
    findings += _kinds()
    try:
        refs = parse_seats(settings.panel.seats) or default_panel(settings).refs
    except PnyxError as exc:
        panel = Finding("panel", False, str(exc))
        return [*findings, *await _hosts(settings, ()), panel], False
    findings += _weights(refs, settings)
    findings += await _hosts(settings, refs)
    findings += await asyncio.to_thread(_tools, settings.tools)
    failed = {finding.what for finding in findings if finding.ok is False}
    usable = [ref for ref in refs if not failed & {ref, f"provider {ref.partition(':')[0]}"}]
    seats = f"{len(usable)} of {quantity(len(refs), 'seat')} usable"
    if f"protocol {settings.run.protocol}" in failed:
        return [*findings, Finding("panel", bool(usable), seats)], False
    protocol = protocols.get(settings.run.protocol)
    ready = len(usable) >= protocol.quorum
    found, fix = f"{seats}; {protocol.name} requires {protocol.quorum}", ""
    if not ready:
        fix = "fix the seats that fail above, or choose others in [panel] seats"
    elif problem := _refusal(settings):
        ready, found = False, f"{seats}, but no question is asked: {problem}"
    findings.append(Finding("panel", ready, found, fix))
    return findings, ready and findings[1].ok is not False


def _refusal(settings: Settings) -> str:
    """Why a question is refused before its first call, in the words of `pnyx ask`; "" if it is not."""
    try:
        check_providers(resolve(RunRequest(question=QUESTION), settings), Providers(settings))
    except PnyxError as exc:
        return str(exc)
    return ""


async def _hosts(settings: Settings, refs: tuple[str, ...]) -> list[Finding]:
    """The hosts of the seats, and the configured ones."""
    names = dict.fromkeys([*(ref.partition(":")[0] for ref in refs), *settings.providers])
    return await asyncio.gather(
        *(check_host(name, settings, refs) for name in names if settings.provider(name).kind != "embedded")
    )


async def _database(settings: Settings, output: Output, full: bool) -> Finding:
    where = settings.origin("storage", "url")
    if (missing := missing_database(settings)) is not None:
        folder = next(folder for folder in missing.absolute().parents if folder.exists())
        if not os.access(folder, os.W_OK | os.X_OK):
            fix = "make it writable, or set PNYX_DATABASE to a file elsewhere"
            return Finding("database", False, f"{missing} cannot be created: {folder} is read only", fix)
        found = f"{missing} does not exist yet: the first question creates it"
        if where == "default":
            return Finding("database", True, found)
        return Finding("database", None, found, f"check the name, which {where} sets")
    try:
        async with RunRecords.open(settings) as stored:
            await stored.check()
            name, damage, altered = stored.database_name, await stored.damage(), Altered()
            if not damage:
                await stored.check(writes=True)
                altered = await stored.altered(None if full else COMPARE_S, _Progress(output).report)
    except NoTables as exc:
        return Finding("database", None, str(exc), f"check the name, which {where} sets")
    except PnyxError as exc:
        return Finding("database", False, str(exc), "repair it, or set PNYX_DATABASE to another one")
    if damage:
        fix = "restore a backup with pnyx restore, or recover what can be read with sqlite3's .recover"
        return Finding("database", False, f"{name} is damaged: {damage}", fix)
    if altered.altered:
        return _altered(name, altered)
    if (free := _free_mb(name)) is not None and free < LEAST_FREE_MB:
        fix = "free some space, or delete old runs with: pnyx prune --older-than 90d"
        return Finding("database", None, f"{name}, whose disk has only {free:,} MB left", fix)
    if altered.is_complete:
        return Finding("database", True, name)
    part = f"{altered.compared:,} of about {altered.total:,} stored texts, runs and events"
    return Finding("database", True, f"{name}; {part} are intact, pnyx doctor --full compares all")


def _altered(name: str, found: Altered) -> Finding:
    """The finding for stored values that are not what was stored."""
    ids = sorted(found.run_ids)
    named = ", ".join(ids[:MOST_NAMED]) + (f" and {len(ids) - MOST_NAMED:,} more" if ids[MOST_NAMED:] else "")
    part = f"{found.altered:,} of {found.compared:,} stored texts, runs and events"
    problem = f"{name} is damaged: {part} are not what was stored"
    fix = "check the disk and the memory of its machine; restore a backup made before with pnyx restore"
    if not ids:
        return Finding("database", False, problem, fix)
    fix += ", or delete the runs: pnyx delete " + " ".join(ids[:MOST_NAMED])
    return Finding("database", False, f"{problem}, in {quantity(len(ids), 'run')}: {named}", fix)


class _Progress:
    """Says every few seconds how far the comparison of a large database is."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._next = time.monotonic() + PROGRESS_S

    def report(self, found: Altered) -> None:
        if time.monotonic() >= self._next:
            self._next += PROGRESS_S
            what = f"{found.compared:,} of about {found.total:,} stored texts, runs and events"
            self._output.note(f"{what} compared so far")


def _free_mb(name: str) -> int | None:
    """The space on the disk of an SQLite database; None for a server, whose disk is elsewhere."""
    return None if "://" in name else shutil.disk_usage(Path(name).parent).free // 1_000_000


def _protocols(chosen: str) -> Iterator[Finding]:
    """Installed protocols that cannot be used; a failure only for the `chosen` one."""
    for name, reason in protocols.broken().items():
        fix = f"update or uninstall {protocols.distribution(name)}"
        yield Finding(f"protocol {name}", False if name == chosen else None, str(reason), fix)


def _kinds() -> Iterator[Finding]:
    """Installed kinds of providers that cannot be used; a warning, because other providers work."""
    for name, reason in KINDS.broken().items():
        yield Finding(
            f"provider kind {name}", None, str(reason), f"update or uninstall {KINDS.distribution(name)}"
        )


def _tools(settings: ToolsSettings) -> list[Finding]:
    """The configured tools. One that is off is only a note: questions work without it."""
    findings = []
    for name in enabled_tools(settings):
        _, off = open_tools(settings, ENVIRONMENT, [name])
        findings.append(
            Finding(f"tool {name}", None if off else True, off[0].partition(": ")[2] if off else "available")
        )
    return findings


def _weights(refs: tuple[str, ...], settings: Settings) -> Iterator[Finding]:
    for ref in dict.fromkeys(refs):
        provider, _, model = ref.partition(":")
        if settings.provider(provider).kind == "embedded":
            try:
                yield Finding(ref, True, str(find(model, models_dir())))
            except NotFound as exc:
                fix = KNOWN[model].command if model in KNOWN else "choose another model in [panel] seats"
                yield Finding(ref, False, str(exc), fix)


async def check_host(name: str, settings: Settings, refs: tuple[str, ...]) -> Finding:
    """Check a host and its API key by requesting its list of models."""
    provider = settings.provider(name)
    what = f"provider {name}"
    if provider.kind == OWN:
        return Finding(what, None, "not checked: supplied by a program")
    kind = KINDS.find(provider.kind)
    if kind is None:
        return Finding(what, False, f"its kind {provider.kind} cannot be used", "fix the provider kind above")
    variables = key_variables(provider)
    if variables and not any(ENVIRONMENT.get(variable) for variable in variables):
        return Finding(what, False, "its API key is not set", f"export {variables[0]}=...")
    try:
        config = configure(name, provider, ENVIRONMENT, beyond_text=settings.tools.enabled)
    except ConfigError as exc:
        fix = f"export {variables[0]}=..." if variables else f"correct [providers.{name}]"
        return Finding(what, False, str(exc), fix)
    url = config.base_url or name
    try:
        async with asyncio.timeout(REACH_S):
            available = await list_models(kind, config)
    except TimeoutError:
        reason = f"no answer within {REACH_S:g} s"
        return Finding(what, False, f"cannot reach {url}: {reason}", UNREACHABLE)
    except ProviderError as exc:
        return _no_list(what, url, name, provider, exc)
    if available is None:
        return Finding(what, None, f"not contacted: the kind {kind.name} cannot list its models")
    models = dict.fromkeys(ref.partition(":")[2] for ref in refs if ref.startswith(f"{name}:"))
    if available and (missing := [model for model in models if not _is_available(model, available)]):
        hint = nearest(missing[0], sorted(available)).removeprefix("; ")
        problem = f"{url} responds, but does not list {', '.join(missing)}"
        return Finding(what, None, problem, hint or "check the names in [panel] seats")
    return Finding(what, True, f"{url} responds" + ("; its API key is set" if config.api_key else ""))


def _no_list(what: str, url: str, name: str, provider: ProviderSettings, exc: ProviderError) -> Finding:
    """The finding for a host that did not return its list of models."""
    error = str(exc).removeprefix("cannot connect: ")
    if error != str(exc):  # also what no other try changes, such as a certificate that is not accepted
        reason, _, fix = error.rpartition(": ")
        return Finding(what, False, f"cannot reach {url}: {reason or error}", fix if reason else UNREACHABLE)
    if refuses_key(exc.kind, error):
        variable = next((v for v in key_variables(provider) if ENVIRONMENT.get(v, "").strip()), None)
        if variable is None:
            fix = f"set api_key_env in [providers.{name}] to the variable that contains its API key"
            return Finding(what, False, f"{url} requires an API key: {error}", fix)
        is_exported = bool(os.environ.get(variable))  # else it is in the keyring
        fix = f"export {variable}=... with a valid API key" if is_exported else f"pnyx keys set {name}"
        return Finding(what, False, f"{url} rejects the API key in ${variable}: {error}", fix)
    match exc.kind:
        case "unreachable" | "timeout" | "truncated":
            return Finding(what, False, f"cannot reach {url}: {error}", UNREACHABLE)
        case "overloaded":
            return Finding(what, False, f"{url} has an error: {error}", "try again later")
        case "rate_limited":
            return Finding(what, None, f"{url} responds, but limits requests: {error}", "try again later")
    versioned = provider.kind not in ("openai", "ollama") or urlsplit(url).path.rstrip("/").endswith("/v1")
    fix = f"check its base_url{'' if versioned else ': is /v1 missing at its end?'}"
    problem = f"{url} responds, but not with a list of models, so its API key is unchecked: {error}"
    return Finding(what, None, problem, f"{fix}; some hosts list no models and work")


def _is_available(model: str, available: frozenset[str]) -> bool:
    """Whether a host lists the model: by its name, with a date or tag, or without its variant."""
    dated = re.compile(re.escape(model.removesuffix("-latest")) + r"(:latest|-\d[\d-]*)?")
    return model.partition(":")[0] in available or any(map(dated.fullmatch, available))
