"""How long a connection to a host may take, and how often it is tried."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import aiohttp
import pytest

from pnyx.providers.hosted import connection
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.hosted.trouble import trouble
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


@pytest.mark.parametrize(
    ("code", "words", "fix"),
    [
        (18, "self-signed certificate", "set SSL_CERT_FILE"),
        (10, "certificate has expired", "its operator has to renew it"),
        (9, "certificate is not yet valid", "check the clock"),
        (62, "Hostname mismatch, certificate is not valid for 'x'.", "check base_url"),
    ],
)
def test_a_certificate_is_explained_by_what_is_wrong_with_it(code: int, words: str, fix: str) -> None:
    wrong = ssl.SSLCertVerificationError(1, words)
    wrong.verify_code, wrong.verify_message = code, words
    key = aiohttp.client_reqrep.ConnectionKey("x", 443, True, True, None, None, None)
    error = trouble(aiohttp.ClientConnectorCertificateError(key, wrong))
    assert error.kind == "refused"
    assert f"({words.removesuffix('.')}): {fix}" in str(error)


def test_a_name_that_is_not_known_may_be_that_of_the_proxy() -> None:
    key = aiohttp.client_reqrep.ConnectionKey("proxy.example", 3128, False, True, None, None, None)
    error = aiohttp.ClientConnectorDNSError(key, OSError("unknown"))
    assert "check HTTPS_PROXY" in str(trouble(error, "api.example"))
    assert "check base_url" in str(trouble(error, "proxy.example"))
