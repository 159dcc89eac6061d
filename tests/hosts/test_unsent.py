"""A deadline that passes before a request is sent costs nothing; behind it, the reservation stays charged."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from pnyx.core.events import CallFailed
from pnyx.core.models import Seat
from pnyx.providers.hosted.provider import open_hosted
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from pnyx.store import Database
from tests.hosts.case import PRICE
from tests.support.hosting import KEY
from tests.support.processes import Node, account_of


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def failure_at(database: Database, address: Callable[[int], str]) -> tuple[CallFailed, int]:
    """How a call to a server that never answers fails, and what its run is charged, in nUSD."""
    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as listener:
        provider = open_hosted("openai", base_url=address(listener.sockets[0].getsockname()[1]), api_key=KEY)
        node = Node(database, provider)  # type: ignore[arg-type]
        seat = Seat("Participant A", "h:alpha", price=PRICE)
        limits = Limits(0.5, 1000, 0)
        spec = Spec(question="Is 7 prime?", protocol="single", seats=(seat,), limits=limits, budget_usd=1.0)
        try:
            handle = await node.runner.start(spec)
            await handle.result()
            (failed,) = [e for e in await node.log(handle.run_id) if isinstance(e, CallFailed)]
            account = await account_of(node, handle.run_id)
        finally:
            await node.stop()
            await node.runner.ownership.keeper.close()
            await provider.close()
    assert account.reserved_nusd == 0
    return failed, account.spent_nusd


async def test_a_deadline_that_passes_during_the_handshake_costs_nothing(database: Database) -> None:
    failed, spent = await failure_at(database, "https://127.0.0.1:{}/v1".format)
    assert (failed.kind, failed.charged_usd, spent) == ("timeout", 0, 0)
    assert re.fullmatch(r"127\.0\.0\.1:\d+: no connection within 0\.\d s: nothing was sent", failed.message)


async def test_a_deadline_that_passes_behind_the_request_is_charged_as_unknown(database: Database) -> None:
    failed, spent = await failure_at(database, "http://127.0.0.1:{}/v1".format)
    assert failed.kind == "timeout"
    assert re.fullmatch(r"127\.0\.0\.1:\d+: no answer within 0\.\d s", failed.message)
    assert (failed.charged_usd or 0) > 0
    assert spent > 0


async def test_a_deadline_that_passes_while_the_request_is_written_costs_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(*args: object, **options: object) -> Awaitable[None]:
        return asyncio.sleep(60)

    monkeypatch.setattr("pnyx.providers.hosted.provider.HostedProvider._request", wait)
    failed, spent = await failure_at(database, "http://127.0.0.1:{}/v1".format)
    assert (failed.kind, failed.charged_usd, spent) == ("timeout", 0, 0)
