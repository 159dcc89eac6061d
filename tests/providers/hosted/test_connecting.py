"""How long a connection to a host may take, and how often it is tried."""

from __future__ import annotations

import socket
from typing import Any

import aiohttp
import pytest

from pnyx.providers.hosted import connection
from pnyx.providers.hosted.provider import open_hosted
from pnyx.run.calls.limits import delay
from tests.support.hosting import KEY, ask


async def test_after_one_silence_a_host_has_less_time_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float | None] = []

    async def request(*_: object, **options: Any) -> None:
        waits.append(options["timeout"].sock_connect)
        raise failures.pop()

    silence, refused = aiohttp.ConnectionTimeoutError(), aiohttp.ClientOSError()
    failures: list[Exception] = [silence, refused, silence, silence, silence]
    monkeypatch.setattr(aiohttp.ClientSession, "request", request)
    provider = open_hosted("openai", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    try:
        while failures:
            assert (await ask(provider)).error.kind == "unreachable"
    finally:
        await provider.close()
    assert waits == [10.0, 4.0, 4.0, 4.0, 10.0]


async def test_a_host_that_accepts_and_speaks_no_tls_ends_as_one_that_does_not_accept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system accepts, and nobody reads
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        provider = open_hosted("openai", base_url=url, api_key=KEY)
        try:
            error = (await ask(provider)).error
        finally:
            await provider.close()
    assert (error.kind, error.billed, error.retries) == ("unreachable", False, 1)
    assert str(error).startswith("127.0.0.1:")
    assert "cannot connect: nothing answers: check base_url" in str(error)
    assert delay(1, error) is not None
    assert delay(2, error) is None
