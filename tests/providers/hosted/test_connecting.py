"""How long a connection to a host may take, and how often it is tried."""

from __future__ import annotations

import socket

import pytest

from pnyx.providers.hosted import connection
from pnyx.providers.hosted.provider import open_hosted
from pnyx.run.calls.limits import delay
from tests.support.hosting import KEY, ask


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
