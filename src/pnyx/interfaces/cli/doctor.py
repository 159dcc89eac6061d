"""What `pnyx doctor` does: try every part that a question needs, and say how to mend what fails."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from ... import protocols
from ...config import database_url
from ...errors import ConfigError, NotFound, PnyxError
from ...paths import models_dir
from ...providers.catalogue import default_panel, parse_seats
from ...providers.registry import key_of
from ...providers.weights import find
from ...providers.weights_table import KNOWN
from ...settings import KINDS, Settings, ToolsSettings
from ...store import Database
from ...tools.open import open_tools, wanted
from ..opening import open_settings
from ..transcript import quantity
from .output import Output

__all__ = ["Finding", "examine"]

REACH_S = 3.0
"""How long a host may take to accept a connection."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried. ok: None where it does not matter for a question. fix: what to do."""

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
        sign, look = {True: ("ok", "green"), False: ("FAIL", "red"), None: ("-", "dim")}[finding.ok]
        output.out.write(output.out.paint(f"{sign:5}", look))
        output.out.line(f"{finding.what}: {finding.found}")
        if finding.fix:
            output.out.line(f"     -> {finding.fix}", "yellow")
    output.out.line("a question can be asked" if ready else "no question can be asked yet", "bold")
    return 0 if ready else 1


async def _examine() -> tuple[list[Finding], bool]:
    try:
        settings = open_settings()
    except PnyxError as exc:
        return [Finding("settings", False, str(exc), "change what is named there, or run pnyx trust")], False
    findings = [Finding("settings", True, "all keys are known and fit"), await _database(settings)]
    try:
        refs = parse_seats(settings.panel.seats) or default_panel(settings).refs
    except PnyxError as exc:
        fix = "name seats in [panel], set a provider's key, or pull a model"
        return [*findings, Finding("panel", False, str(exc), fix)], False
    findings += _weights(refs, settings)
    hosts = dict.fromkeys([*(ref.partition(":")[0] for ref in refs), *settings.providers])
    findings += await asyncio.gather(
        *(_host(name, settings) for name in hosts if settings.provider(name).kind != "embedded")
    )
    findings += await asyncio.to_thread(_tools, settings.tools)
    failed = {finding.what for finding in findings if finding.ok is False}
    usable = [ref for ref in refs if not failed & {ref, f"provider {ref.partition(':')[0]}"}]
    page = protocols.get(settings.run.protocol)
    enough = len(usable) >= page.quorum
    seats = f"{quantity(len(usable), 'usable seat')} of {len(refs)}, {page.name} needs {page.quorum}"
    fix = "" if enough else "mend the seats that fail above, or set other ones in [panel] seats"
    findings.append(Finding("panel", enough, seats, fix))
    return findings, enough and findings[1].ok is True


async def _database(settings: Settings) -> Finding:
    try:
        database = await Database.open(database_url(settings))
    except PnyxError as exc:
        return Finding("database", False, str(exc), "mend it, or name another with PNYX_DATABASE")
    await database.close()
    return Finding("database", True, database.name)


def _tools(settings: ToolsSettings) -> list[Finding]:
    """The tools that the settings ask for. One that is off costs a question only what it would have found."""
    found = []
    for name in wanted(settings):
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


async def _host(name: str, settings: Settings) -> Finding:
    provider = settings.provider(name)
    what, variables = f"provider {name}", provider.key_variables
    if variables and not any(os.environ.get(variable) for variable in variables):
        return Finding(what, False, "its key is not set", f"export {variables[0]}=...")
    try:
        key_of(name, provider, os.environ)
    except ConfigError as exc:
        return Finding(what, False, str(exc), f"export {variables[0]}=...")
    url = provider.base_url or _own(provider.kind)
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    try:
        async with asyncio.timeout(REACH_S):
            _, writer = await asyncio.open_connection(
                parts.hostname, port, ssl=ssl.create_default_context() if secure else None
            )
    except (OSError, TimeoutError) as exc:
        reason = str(exc) or f"no connection within {REACH_S:.0f} s"
        return Finding(what, False, f"{url} cannot be reached: {reason}", "check the address and the network")
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return Finding(what, True, f"{url} answers" + (", its key is set" if variables else ""))


def _own(kind: str) -> str:
    if host := KINDS[kind].host:
        return f"https://{host}"
    # Hosts that are nobody's own are known where their SDKs are, which take a second to load.
    from ...providers._sdks import KINDS as HOSTED

    return HOSTED[kind].base_url
