"""Each refused host name and origin is allowed by exactly the setting that its refusal names."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.config.tables.server import NO_LIMITS, ServeSettings
from pnyx.interfaces.http.access import Access

PORT = 8642
HERE = f"127.0.0.1:{PORT}"


def answer(
    settings: ServeSettings, path: str = "/v1/runs", **headers: str | None
) -> tuple[int, dict[str, Any]]:
    """The status and the setting of the response to a request with these headers, and without those None."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def owner(key: str) -> str | None:
        return "ada"

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    fields = {"host": HERE, "authorization": "Bearer key", **headers}
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [
            (name.encode(), value.encode("latin-1")) for name, value in fields.items() if value is not None
        ],
        "server": ("127.0.0.1", PORT),
    }
    asyncio.run(Access(app, settings, owner, {"/health"}, lambda _: NO_LIMITS, 100)(scope, receive, send))
    body = json.loads(sent[1]["body"])
    message = body["error"]["message"] if "error" in body else ""
    found = re.search(r"in \[serve\] of the settings: (.+)$", message)
    return sent[0]["status"], tomllib.loads(found[1]) if found else {}


@pytest.mark.parametrize(
    ("header", "value", "status", "setting"),
    [
        # A forwarded port, a proxy, a container, a tunnel.
        ("host", "localhost:9000", 421, "hosts"),
        ("host", "127.0.0.1:9000", 421, "hosts"),
        ("host", "[::1]:9000", 421, "hosts"),
        ("host", "localhost", 421, "hosts"),
        ("host", "pnyx.example", 421, "hosts"),
        ("host", "host.docker.internal:8642", 421, "hosts"),
        ("host", "abc-8642.app.github.dev", 421, "hosts"),
        # Desktop programs, editors, a page under development, extensions of browsers.
        ("origin", "app://obsidian.md", 403, "origins"),
        ("origin", "app://-", 403, "origins"),
        ("origin", "vscode-webview://1l6q0v9c3h", 403, "origins"),
        ("origin", "http://localhost:3000", 403, "origins"),
        ("origin", "http://127.0.0.1:5173", 403, "origins"),
        ("origin", "tauri://localhost", 403, "origins"),
        ("origin", "capacitor://localhost", 403, "origins"),
        ("origin", "chrome-extension://abcdefghijklmnop", 403, "origins"),
        ("origin", "moz-extension://0c1b7c5e-aaaa", 403, "origins"),
        ("origin", "https://chat.example", 403, "origins"),
        ("origin", "null", 403, "origins"),
        ("origin", "file://", 403, "origins"),
    ],
)
def test_the_setting_that_a_refusal_names_allows_the_request(
    header: str, value: str, status: int, setting: str
) -> None:
    refused, named = answer(ServeSettings(), **{header: value})
    assert (refused, named) == (status, {setting: [value]})
    assert answer(ServeSettings(**named), **{header: value})[0] == 200
    # And nothing else: not another port, not a longer name.
    assert answer(ServeSettings(**named), **{header: value + "1"})[0] == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        # As load balancers and probes ask: with HTTP/1.0, or by the address.
        (None, 200),
        ("10.2.3.4:8642", 200),
        ("10.2.3.4", 200),
        ("[fd00::1]:8642", 200),
        ("127.0.0.1:9000", 200),
        # A page whose name is bound to the address of this machine.
        ("evil.example", 421),
        ("evil.example:8642", 421),
        ("10.2.3.4.evil.example", 421),
        ("0x7f.1", 421),
        ("", 421),
        ("[::1", 421),
    ],
)
def test_a_check_of_the_server_needs_no_known_host(host: str | None, status: int) -> None:
    assert answer(ServeSettings(), "/health", host=host, authorization=None)[0] == status
    for path in ("/v1/runs", "/", "/healthy", "/health/"):
        assert answer(ServeSettings(), path, host=host)[0] == 421


def test_a_check_with_two_hosts_is_refused() -> None:
    assert answer(ServeSettings(), "/health", host="10.2.3.4", Host="10.2.3.4")[0] == 421


@pytest.mark.parametrize(
    ("origins", "fine", "refused"),
    [
        ("vscode-webview://*", "vscode-webview://0abc", "vscode-webview://0abc/evil"),
        ("http://localhost:*", "http://localhost:5173", "http://localhost.evil.example"),
        ("https://*.example", "https://a.b.example", "https://a.example.evil"),
        ("app://*", "app://obsidian.md", "apps://obsidian.md"),
    ],
)
def test_a_star_matches_any_characters_of_one_origin(origins: str, fine: str, refused: str) -> None:
    settings = ServeSettings(origins=(origins,))
    assert answer(settings, origin=fine)[0] == 200
    assert answer(settings, origin=refused)[0] == 403


@given(value=st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=60))
def test_no_refusal_quotes_a_strange_header(value: str) -> None:
    for header, setting in (("host", "hosts"), ("origin", "origins")):
        status, named = answer(ServeSettings(), **{header: value})
        if status != 200:
            assert named[setting] in ([value], ["NAME"])
            assert named == {setting: ["NAME"]} or re.fullmatch(r"[\w.:/\[\]-]+", value)
