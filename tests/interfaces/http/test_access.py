"""The requests that the server refuses, before it acts on them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import AsyncMock

import pytest
from fastapi import FastAPI

from pnyx.config.tables.server import ServeSettings
from pnyx.errors import StoreError
from pnyx.interfaces.access.keys import FRESH_S
from pnyx.store import keys as store
from tests.interfaces.conftest import KEY
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, open_server

MOST = int(ServeSettings().body_mb * 1_000_000)

ASK = json.dumps({"question": "Why?", "protocol": "voting"})


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    async with open_server(hosts=["pnyx.example"]) as server:
        yield server


async def raw(server: ServerHandle, request: str) -> tuple[int, dict[str, str], Any]:
    """Send exactly these bytes, and return status, headers and the JSON of the body."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request.replace("\n", "\r\n").encode("latin-1"))
    async with asyncio.timeout(60):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:]) if k}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    writer.close()
    try:
        return int(head[0].split()[1]), headers, json.loads(body)
    except ValueError:
        return int(head[0].split()[1]), headers, body


def get(
    path: str = "/v1/runs", host: str | None = None, *, key: str | None = SERVER_KEY, **headers: str
) -> str:
    lines = [f"GET {path} HTTP/1.1"]
    lines += [] if host is None else [f"Host: {host}"]
    lines += [] if key is None else [f"Authorization: Bearer {key}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\n".join(lines) + "\n\n"


def host_of(server: ServerHandle) -> str:
    return server.url.removeprefix("http://")


def routes(app: FastAPI) -> list[tuple[str, str]]:
    schema = app.openapi()["paths"]
    return sorted((method.upper(), path) for path in schema for method in schema[path])


async def test_every_path_except_public_ones_needs_a_key(server: ServerHandle) -> None:
    app = server.app
    known = routes(app)
    assert len(known) >= 12
    async with server.client(None) as client:
        for method, path in known:
            answer = await client.request(method, path.replace("{run_id}", "x"))
            assert (answer.status_code == 200) is (path == "/health"), (method, path)
            if path != "/health":
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"].startswith("Bearer")
        for path in (
            "/docs",
            "/index.html",
            "/assets/",
            "/nothing",
            "/health/",
            "//health",
            "/health/../v1/runs",
            "/%68ealth/x",
            "/HEALTH",
        ):
            status, _, _ = await raw(server, get(path, host_of(server), key=None))
            assert status == 401, path


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {SERVER_KEY[:-1]}",
        f"Bearer {SERVER_KEY}x",
        f"Basic {SERVER_KEY}",
        SERVER_KEY,
        "Bearer " + "x" * 5000,
        f"Bearer {SERVER_KEY}\nAuthorization: Bearer {SERVER_KEY}",
    ],
)
async def test_a_wrong_key_is_refused(server: ServerHandle, authorization: str) -> None:
    status, _, body = await raw(server, get(host=host_of(server), key=None, Authorization=authorization))
    assert (status, body["error"]["type"]) == (401, "unauthorized")


async def test_a_key_is_stored_as_its_hash_printed_once_and_valid_until_revoked(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await asyncio.to_thread(pnyx, "serve", "--new-key", "ada")
    assert made.code == 0, made.err
    key = made.out.strip()
    assert len(key) > 40
    second = await asyncio.to_thread(pnyx, "serve", "--new-key", "ada")
    assert (second.code, second.out) == (2, "")
    assert "ada already has a key" in second.err
    assert (await asyncio.to_thread(pnyx, "serve", "--keys")).out == "ada\n"
    async with server.client(key) as client:
        assert (await client.get("/v1/runs")).status_code == 200
        assert key not in repr(await server.runner.database.read(store.stored))
        assert (await asyncio.to_thread(pnyx, "serve", "--revoke-key", "ada")).code == 0
        await asyncio.sleep(FRESH_S + 0.1)
        assert (await client.get("/v1/runs")).status_code == 401
    revoked = await asyncio.to_thread(pnyx, "serve", "--revoke-key", "ada")
    assert (revoked.code, "there is no key 'ada'" in revoked.err) == (2, True)


@pytest.mark.parametrize("name", ["local", "eval", "", "Ada", "a b", "../x", "x" * 41])
def test_an_invalid_key_name_is_refused(lab: ScriptedHost, name: str) -> None:
    done = pnyx("serve", "--new-key", name)
    assert (done.code, done.out) == (2, "")


async def test_requests_to_other_hosts_or_ports_are_refused(server: ServerHandle) -> None:
    port = host_of(server).partition(":")[2]
    fine = [host_of(server), f"localhost:{port}", f"LOCALHOST:{port}", "pnyx.example", "pnyx.example:443"]
    wrong = [
        "evil.example",
        f"evil.example:{port}",
        "localhost",
        "127.0.0.1:1",
        "localhost.evil.example:" + port,
        "",
        "[::1",
    ]
    for host in fine:
        assert (await raw(server, get(host=host)))[0] == 200, host
    for host in wrong:
        for path in ("/", "/v1/runs"):
            status, _, body = await raw(server, get(path, host=host))
            assert (status, body["error"]["type"]) == (421, "misdirected_request"), host


async def test_requests_from_other_origins_are_refused(server: ServerHandle) -> None:
    for origin in (server.url, "https://pnyx.example"):
        assert (await raw(server, get(host=host_of(server), Origin=origin)))[0] == 200, origin
    for origin in (
        "http://evil.example",
        "null",
        "http://localhost:1",
        "https://tool.example.evil.example",
        "x" * 50,
    ):
        status, _, body = await raw(server, get("/health", host=host_of(server), Origin=origin))
        assert (status, body["error"]["type"]) == (403, "forbidden"), origin


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 202),
        ("Application/JSON; charset=utf-8", 202),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        (None, 415),
    ],
)
async def test_a_body_that_is_not_json_is_refused(
    server: ServerHandle, lab: ScriptedHost, kind: str | None, status: int
) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    async with server.client() as client:
        answer = await client.post("/v1/runs", content=ASK, headers=headers)
    assert answer.status_code == status
    assert bool(await server.runner.database.read(_runs)) is (status == 202)
    # Who has no key learns nothing of what a body must be.
    async with server.client(key=None) as client:
        assert (await client.post("/v1/runs", content=ASK, headers=headers)).status_code == 401


def _runs(connection: Any) -> list[Any]:
    return list(connection.exec_driver_sql("select id from runs"))


async def test_a_body_without_a_length_is_refused_past_the_limit(server: ServerHandle) -> None:
    async def unbounded() -> AsyncIterator[bytes]:
        yield b'{"question": "'
        for _ in range(200):
            yield b"x" * (MOST // 100)

    async with server.client() as client:
        response = await client.post(
            "/v1/runs", content=b" " * (MOST + 1), headers={"Content-Type": "application/json"}
        )
        assert (response.status_code, response.json()["error"]["type"]) == (413, "too_large")
        sent = await client.post(
            "/v1/runs", content=unbounded(), headers={"Content-Type": "application/json"}
        )
        assert (sent.status_code, sent.json()["error"]["type"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 422, "question is missing"),
        ([], 422, "a request must be an object"),
        ({"question": 3}, 422, "question must be text, not 3"),
        ({"question": "Why?", "panel": ["lab:alpha"]}, 422, "panel is the name of a saved panel; a list"),
        ({"question": "Why?", "base_url": "http://127.0.0.1:9"}, 422, "unknown key 'base_url'"),
        ({"question": "Why?", "waits": True}, 422, "unknown key 'waits'; did you mean wait?"),
        ({"questoin": "Why?"}, 422, "unknown key 'questoin'; did you mean question?"),
        ({"question": " "}, 400, "there is no question"),
        ({"question": "a\0b"}, 400, "NUL"),
        ({"question": "Why?", "protocol": "consensu"}, 404, "no protocol 'consensu'"),
        ({"question": "Why?", "models": ["evil:x", "evil:y"]}, 400, "no provider 'evil'"),
        (
            {"question": "Why?", "models": ["embedded:/etc/passwd"] * 2},
            400,
            "this server accepts model names, not paths",
        ),
        ({"question": "Why?", "tools": True}, 400, "tools are off on this server"),
        ({"question": "Why?", "options": {"round": 1}}, 400, "no option 'round'"),
        ({"question": "Why?", "rounds": 10**9}, 422, "rounds must be at most 1000"),
        ({"question": "Why?", "budget_usd": 1e300}, 422, "budget_usd must be at most 1000000000"),
        ({"question": "Why?", "models": [1] * 100_000}, 422, "models.0 must be text, not 1"),
        ({"question": "Why?", "models": ["lab:alpha"] * 101}, 422, "at most 100 entries"),
        ({"question": "Why?", "responses": [f"{n}" for n in range(101)]}, 422, "at most 100 entries"),
        ({"question": "Why?", "options": {f"{n}": n for n in range(101)}}, 422, "at most 100"),
        ({"question": "Why?", "model": "lab:alpha"}, 422, "unknown key 'model'; did you mean models?"),
        # Another route has it.
        ({"question": "Why?", "tags": ["a"]}, 422, "unknown key 'tags'"),
        ({"question": "Why?", "on_disconnect": "explode"}, 422, "on_disconnect must be one of"),
    ],
)
async def test_an_invalid_request_is_refused_with_what_to_do(
    server: ServerHandle, lab: ScriptedHost, body: Any, status: int, message: str
) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/runs", json=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]
    assert lab.log == []
    assert await server.runner.database.read(_runs) == []


async def test_health_is_read_with_head_too(server: ServerHandle) -> None:
    async with server.client(key=None) as client:
        answer = await client.head("/health")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_malformed_json_is_reported(server: ServerHandle) -> None:
    async with server.client() as client:
        for content, status, message in (
            (b"{", 422, "the body is not JSON: Expecting"),
            (b"\xff", 400, "the body is not UTF-8 (byte 0)"),
            (b"[" * 100_000, 400, "it is nested too deep"),
            (b'{"question": NaN}', 422, "question must be text, not nan"),
            (b"9" * 5000, 400, "a number has more than 4,300 digits"),
            (b'{"question": "Why?", "options": {"rounds": 1e400}}', 422, "must be a finite number, not inf"),
        ):
            answer = await client.post(
                "/v1/runs", content=content, headers={"Content-Type": "application/json"}
            )
            error = answer.json()["error"]
            assert (answer.status_code, set(error)) == (status, {"type", "message"}), content[:10]
            assert message in error["message"]


async def test_a_budget_above_the_servers_cap_is_refused(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "0.5")
    async with open_server() as server, server.client() as client:
        answer = await client.post("/v1/runs", json={"question": "Why?", "budget_usd": 5})
        assert answer.status_code == 400
        assert "budget_usd must be at most $0.5 on this server" in answer.json()["error"]["message"]


async def test_every_error_has_the_error_schema(server: ServerHandle) -> None:
    async with server.client() as client:
        for path in ("GET /v1/nothing", "PUT /v1/runs", "GET /v1/runs/zzz", "GET /v1/runs?since=soon"):
            answer = await client.request(*path.split())
            assert answer.status_code in (404, 405, 422)
            assert set(answer.json()["error"]) == {"type", "message"}
        assert answer.json()["error"]["message"] == "since must be a day, such as 2026-11-26"


async def test_websockets_are_refused(server: ServerHandle) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "eA==",
    }
    status, _, _ = await raw(server, get("/v1/runs", host_of(server), key=None, **upgrade))
    assert status == 401


def test_a_public_address_needs_a_named_key(lab: ScriptedHost) -> None:
    done = pnyx("serve", "--host", "0.0.0.0", "--port", "0")
    assert (done.code, done.out) == (2, "")
    assert "create an API key first" in done.err


async def test_a_failing_database_is_reported_as_unavailable(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = AsyncMock(side_effect=StoreError("the database is down"))
    async with open_server() as server, server.client() as client:
        for name in ("read", "check"):
            monkeypatch.setattr(server.runner.database, name, failing)
        answers = [await client.get("/v1/runs"), await client.get("/health")]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert answers[0].json() == {"error": {"type": "store_error", "message": "the database is down"}}
    assert answers[1].json()["status"] == "unavailable"


async def test_a_bug_is_reported_without_secrets(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError(f"with {KEY} in it")

    monkeypatch.setattr(server.runner, "start", broken)
    async with server.client() as client:
        answer = await client.post("/v1/runs", json=json.loads(ASK))
    assert answer.status_code == 500
    assert answer.json()["error"]["message"] == "this is a bug in pnyx: ZeroDivisionError"
    ours = [record for record in caplog.records if record.name == "pnyx.http"]
    assert ours
    assert KEY not in "".join(record.getMessage() for record in ours)


async def test_a_setting_lets_a_forwarded_port_and_a_page_elsewhere_in(lab: ScriptedHost) -> None:
    lab.on("*", text="Final answer: 42")
    page = "vscode-webview://0abc"
    async with open_server(hosts=["localhost:9000"], origins=["vscode-webview://*", "app://me"]) as server:
        async with server.client() as client:
            for host, status in (("localhost:9000", 200), ("localhost:9001", 421), ("evil.example", 421)):
                answer = await client.get("/v1/models", headers={"Host": host})
                assert answer.status_code == status
                if status == 421:
                    assert f'hosts = ["{host}"]' in answer.json()["error"]["message"]
            for origin, status in ((page, 200), ("app://me", 200), ("app://me.evil", 403), ("null", 403)):
                answer = await client.get("/v1/models", headers={"Origin": origin})
                assert answer.status_code == status
                assert answer.headers.get("access-control-allow-origin") == (
                    origin if status == 200 else None
                )
            assert (
                'origins = ["app://me.evil"]'
                in (await client.get("/v1/runs", headers={"Origin": "app://me.evil"})).json()["error"][
                    "message"
                ]
            )
            strange = await client.get("/v1/runs", headers={"Origin": 'x"]\\u007f'})
            assert 'origins = ["NAME"]' in strange.json()["error"]["message"]
            asked = {
                "Origin": page,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type",
            }
        async with server.client(None) as browser:
            preflight = await browser.options("/v1/chat/completions", headers=asked)
        assert preflight.status_code == 200
        assert "authorization" in preflight.headers["access-control-allow-headers"]
