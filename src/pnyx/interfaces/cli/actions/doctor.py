"""What `pnyx doctor` does: try every part that a question needs, and say how to mend what fails."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from .... import protocols
from ....config.paths import models_dir
from ....config.schema import OWN, ProviderSettings, Settings, ToolsSettings, nearest
from ....errors import ConfigError, NotFound, PnyxError, ProviderError
from ....providers.catalogue import default_panel, parse_seats
from ....providers.embedded.weights import find
from ....providers.embedded.weights_table import KNOWN
from ....providers.installed import KINDS, configure, key_variables, list_models
from ....tools.open import enabled_tools, open_tools
from ...open_settings import open_settings
from ...render.terminal import safe, wrapped
from ...run_records import RunRecords
from ...views.transcript import quantity
from ..terminal.output import Output
from ..terminal.plain import WIDE

__all__ = ["Finding", "examine"]

REACH_S = 5.0
"""How long a host may take to list its models."""
INDENT = "     "
UNREACHED = "check the address, the network, and a proxy that the environment names"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried. fix: what to do.

    ok: None where a question can do without it, or where a fix says what may be wrong with it.
    """

    what: str
    ok: bool | None
    found: str
    fix: str = ""


def examine(output: Output, as_json: bool) -> int:
    """Print the findings; 0 when a question could be asked."""
    findings, ready = asyncio.run(_examine())
    if as_json:
        output.json({"ready": ready, "findings": [asdict(finding) for finding in findings]})
        return 0 if ready else 1
    for finding in findings:
        unsure = ("warn", "yellow") if finding.fix else ("-", "dim")
        sign, look = {True: ("ok", "green"), False: ("FAIL", "red"), None: unsure}[finding.ok]
        out = output.out
        line, *more = wrapped(safe(f"{finding.what}: {finding.found}"), out.width or WIDE, INDENT)
        out.lines([out.paint(f"{sign:5}", look) + line.removeprefix(INDENT), *more])
        if finding.fix:
            out.lines(
                out.paint(line, "yellow") for line in wrapped(f"-> {finding.fix}", out.width or WIDE, INDENT)
            )
    doubt = "; see what is marked warn" if any(f.fix and f.ok is None for f in findings) else ""
    output.out.line(f"a question can be asked{doubt}" if ready else "no question can be asked yet", "bold")
    return 0 if ready else 1


async def _examine() -> tuple[list[Finding], bool]:
    try:
        settings = open_settings()
    except PnyxError as exc:
        return [Finding("settings", False, str(exc), "change what is named there, or run pnyx trust")], False
    findings = [Finding("settings", True, "all keys are known and fit"), await _database(settings)]
    findings += _protocols(settings.run.protocol)
    findings += _kinds()
    try:
        refs = parse_seats(settings.panel.seats) or default_panel(settings).refs
    except PnyxError as exc:
        fix = "name seats in [panel], set a provider's key, or pull a model"
        return [*findings, Finding("panel", False, str(exc), fix)], False
    findings += _weights(refs, settings)
    hosts = dict.fromkeys([*(ref.partition(":")[0] for ref in refs), *settings.providers])
    findings += await asyncio.gather(
        *(_host(name, settings, refs) for name in hosts if settings.provider(name).kind != "embedded")
    )
    findings += await asyncio.to_thread(_tools, settings.tools)
    failed = {finding.what for finding in findings if finding.ok is False}
    usable = [ref for ref in refs if not failed & {ref, f"provider {ref.partition(':')[0]}"}]
    told = f"{quantity(len(usable), 'usable seat')} of {len(refs)}"
    if f"protocol {settings.run.protocol}" in failed:
        return [*findings, Finding("panel", bool(usable), told)], False
    page = protocols.get(settings.run.protocol)
    enough = len(usable) >= page.quorum
    fix = "" if enough else "mend the seats that fail above, or set other ones in [panel] seats"
    findings.append(Finding("panel", enough, f"{told}, {page.name} needs {page.quorum}", fix))
    return findings, enough and findings[1].ok is True


async def _database(settings: Settings) -> Finding:
    try:
        async with RunRecords.open(settings) as stored:
            return Finding("database", True, stored.database_name)
    except PnyxError as exc:
        return Finding("database", False, str(exc), "mend it, or name another with PNYX_DATABASE")


def _protocols(chosen: str) -> Iterator[Finding]:
    """Installed protocols that cannot be used. A question minds only the `chosen` one."""
    for name, reason in protocols.broken().items():
        fix = f"update or uninstall {protocols.distribution(name)}"
        yield Finding(f"protocol {name}", False if name == chosen else None, str(reason), fix)


def _kinds() -> Iterator[Finding]:
    """Installed kinds of providers that cannot be used. Only their own providers need them."""
    for name, reason in KINDS.broken().items():
        yield Finding(
            f"provider kind {name}", None, str(reason), f"update or uninstall {KINDS.distribution(name)}"
        )


def _tools(settings: ToolsSettings) -> list[Finding]:
    """The tools that the settings ask for. One that is off costs a question only what it would have found."""
    found = []
    for name in enabled_tools(settings):
        _, off = open_tools(settings, os.environ, [name])
        found.append(
            Finding(f"tool {name}", None if off else True, off[0].partition(": ")[2] if off else "is there")
        )
    return found


def _weights(refs: tuple[str, ...], settings: Settings) -> Iterator[Finding]:
    for ref in dict.fromkeys(refs):
        provider, _, model = ref.partition(":")
        if settings.provider(provider).kind == "embedded":
            try:
                yield Finding(ref, True, str(find(model, models_dir())))
            except NotFound as exc:
                fix = KNOWN[model].command if model in KNOWN else "name another model in [panel] seats"
                yield Finding(ref, False, str(exc), fix)


async def _host(name: str, settings: Settings, refs: tuple[str, ...]) -> Finding:
    """Whether a host accepts the key: a request for the list of its models, sent as calls are."""
    provider = settings.provider(name)
    what = f"provider {name}"
    if provider.kind == OWN:
        return Finding(what, None, "is supplied by a program")
    kind = KINDS.find(provider.kind)
    if kind is None:
        return Finding(what, False, f"its kind {provider.kind} cannot be used", "see the kind above")
    variables = key_variables(provider)
    if variables and not any(os.environ.get(variable) for variable in variables):
        return Finding(what, False, "its key is not set", f"export {variables[0]}=...")
    try:
        config = configure(name, provider, os.environ)
    except ConfigError as exc:
        fix = f"export {variables[0]}=..." if variables else f"change [providers.{name}]"
        return Finding(what, False, str(exc), fix)
    url = config.base_url or name
    try:
        async with asyncio.timeout(REACH_S):
            listed = await list_models(kind, config)
    except TimeoutError:
        reason = f"no answer within {REACH_S:g} s"
        return Finding(what, False, f"{url} cannot be reached: {reason}", UNREACHED)
    except ProviderError as exc:
        return _unlisted(what, url, name, provider, exc)
    if listed is None:
        return Finding(what, None, f"not contacted: the kind {kind.name} cannot list its models")
    models = dict.fromkeys(ref.partition(":")[2] for ref in refs if ref.startswith(f"{name}:"))
    if listed and (missing := [model for model in models if not _is_listed(model, listed)]):
        hint = nearest(missing[0], sorted(listed)).removeprefix("; ")
        told = f"{url} answers, but does not list {', '.join(missing)}"
        return Finding(what, None, told, hint or "check the names in [panel] seats")
    return Finding(what, True, f"{url} answers" + (", its key is set" if config.api_key else ""))


def _unlisted(what: str, url: str, name: str, provider: ProviderSettings, exc: ProviderError) -> Finding:
    """What it means that a host gave no list, and what to do."""
    said = str(exc).removeprefix("cannot connect: ")
    # Google has no status of its own for a wrong key.
    if exc.kind == "auth" or (exc.kind == "refused" and "api key" in said.lower()):
        variable = next((v for v in key_variables(provider) if os.environ.get(v, "").strip()), None)
        if variable is None:
            fix = f"name the variable that holds its key as api_key_env in [providers.{name}]"
            return Finding(what, False, f"{url} wants a key: {said}", fix)
        fix = f"export {variable}=... with a key that is valid there"
        return Finding(what, False, f"{url} refuses the key in ${variable}: {said}", fix)
    match exc.kind:
        case "unreachable" | "timeout" | "truncated":
            return Finding(what, False, f"{url} cannot be reached: {said}", UNREACHED)
        case "overloaded":
            return Finding(what, False, f"{url} is out of order: {said}", "try again later")
        case "rate_limited":
            return Finding(what, None, f"{url} answers, but not now: {said}", "try again later")
    versioned = provider.kind not in ("openai", "ollama") or urlsplit(url).path.rstrip("/").endswith("/v1")
    fix = f"check its base_url{'' if versioned else ': is /v1 missing at its end?'}"
    found = f"{url} answers, but not with its models, so that its key is not tried: {said}"
    return Finding(what, None, found, f"{fix}; a host that lists none may be fine")


def _is_listed(model: str, listed: frozenset[str]) -> bool:
    """Whether a host lists a model: as named, with the date or tag that is meant, or without its variant."""
    dated = re.compile(re.escape(model.removesuffix("-latest")) + r"(:latest|-\d[\d-]*)?")
    return model.partition(":")[0] in listed or any(map(dated.fullmatch, listed))
