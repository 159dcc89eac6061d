"""The action of `pnyx share`."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from typing import Any

from ....config.schema import ServeSettings
from ....errors import UsageError
from ....store.records.shares import ShareRow
from ...access.shares import share_document
from ...process.open_settings import open_settings
from ...records.runs import RunRecords
from ...render.terminal import columns
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import Output, streams

__all__ = ["share"]


def share(
    run_id: str | None,
    expires_s: float,
    list_links: bool,
    revoke: bool,
    link: str | None,
    url: str | None,
    as_json: bool,
) -> int:
    output, settings = streams(), open_settings()
    if list_links and revoke:
        raise UsageError("--list and --revoke exclude each other; use one of them")
    if link and not revoke:
        raise UsageError("--link goes with --revoke")
    if list_links:
        return _list(output, with_records(settings, lambda stored: _links(stored, run_id or "")), as_json)
    if run_id is None:
        raise UsageError("name the run: pnyx share ID; `pnyx runs` lists them")
    if revoke:
        return _revoke(output, run_id, link or "", as_json)

    async def make(stored: RunRecords) -> tuple[str, ShareRow, dict[str, Any]]:
        token, row = await stored.shares.add(run_id, expires_s)
        return token, row, share_document(row, stored.now())

    token, row, document = with_records(settings, make)
    address = f"{(url or _server(settings.serve)).rstrip('/')}/#/shared/{token}"
    if as_json:
        output.json({**document, "token": token, "url": address})
        return 0
    output.out.line(address)
    output.note(
        f"whoever has this link sees run {row.run_id} until {row.expires_at[:10]}, while `pnyx serve` runs; "
        f"revoke it with: pnyx share {row.run_id} --revoke"
    )
    return 0


def _revoke(output: Output, run_id: str, link: str, as_json: bool) -> int:
    async def work(stored: RunRecords) -> tuple[list[str], list[dict[str, Any]]]:
        return await stored.shares.revoke(run_id, link=link), await _links(stored, run_id)

    revoked, links = with_records(open_settings(), work)
    if as_json:
        output.json(links)
    else:
        output.note(f"revoked {quantity(len(revoked), 'link')}" if revoked else "no link was in force")
    return 0


async def _links(stored: RunRecords, run_id: str) -> list[dict[str, Any]]:
    return [share_document(row, stored.now()) for row in await stored.shares.listing(run_id)]


def _list(output: Output, links: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        output.json(links)
    elif links:
        heads = ["link", "run", "state", "until"]
        table = [[one["id"], one["run_id"], one["state"], one["expires_at"][:10]] for one in links]
        for n, line in enumerate(columns([heads, *table], width=output.out.width)):
            output.out.line(line, *(() if n else ("bold",)))
    else:
        output.note("no links yet. Make one with: pnyx share ID")
    return 0


def _server(serve: ServeSettings) -> str:
    """The address that `pnyx serve` of these settings has for this machine."""
    host = serve.host
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        if address.is_unspecified:
            host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://{f'[{host}]' if ':' in host else host}:{serve.port}"
