"""The files of the page: served without a key, with a strict policy, and no other file."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from pnyx.core.events import from_json, to_json
from pnyx.interfaces.http import app as http_app
from pnyx.interfaces.http.page import FOLDER, read_page
from tests.interfaces.page.runs import FOLDER as FOLDER_OF_RUNS
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


async def test_the_page_needs_no_key_and_has_a_strict_policy(server: ServerHandle) -> None:
    async with server.client(None) as client:
        index = await client.get("/")
        assets = re.findall(r'(?:src|href)="(/assets/[^"]+)"', index.text)
        files = {path: await client.get(path) for path in assets}
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert index.headers["cache-control"] == "no-store"
    kinds = {file.headers["content-type"].partition(";")[0] for file in files.values()}
    assert kinds == {"text/javascript", "text/css", "image/svg+xml"}
    for path, file in files.items():
        assert re.search(r"-[\w-]{8}\.\w+$", path)
        assert "immutable" in file.headers["cache-control"]
    for answer in (index, *files.values()):
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


async def test_the_page_has_no_inline_script_and_no_other_host(server: ServerHandle) -> None:
    async with server.client(None) as client:
        index = (await client.get("/")).text
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", index)
    assert not re.search(r"(src|href)=\"(?!/assets/)", index)


async def test_only_the_files_of_the_page_are_served_and_only_by_get(server: ServerHandle) -> None:
    async with server.client() as known, server.client(None) as unknown:
        for path in (
            "/index.html",
            "/assets/",
            "/assets/nothing.js",
            "/assets/../index.html",
            "/assets/%2e%2e/%2e%2e/page.py",
            "/..%2fpage.py",
            "/__init__.py",
        ):
            assert (await unknown.get(path)).status_code == 401, path
            assert (await known.get(path)).status_code == 404, path
        written = await unknown.post("/", json={})
        assert (written.status_code, written.headers["allow"]) == (405, "GET, HEAD")
        head = await unknown.head("/")
        assert (head.status_code, head.content) == (200, b"")
        assert (await unknown.get("/", headers={"Host": "evil.example"})).status_code == 421


async def test_every_built_file_is_served(server: ServerHandle) -> None:
    built = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert {path.removeprefix("/") or "index.html" for path in read_page()} == built


async def test_each_request_gets_a_whole_file_compressed_or_not(lab: ScriptedHost) -> None:
    paths = sorted(read_page())
    async with open_server() as server, server.client(None) as client:
        for coding in ("gzip", "identity", "gzip"):
            for path in paths:
                answer = await client.get(path, headers={"Accept-Encoding": coding})
                assert answer.status_code == 200
                assert answer.content == read_page()[path].body, (path, coding)


async def test_without_a_built_page_the_server_runs_and_says_so(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_app, "read_page", lambda: read_page(tmp_path))
    async with open_server() as server, server.client(None) as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
        assert "no web page" in answer.text
        assert (await client.get("/health")).json()["status"] == "ok"


@pytest.mark.parametrize("file", sorted(FOLDER_OF_RUNS.glob("*.json")), ids=lambda file: file.stem)
def test_the_recorded_runs_of_the_page_tests_match_the_current_events(file: Path) -> None:
    for event in json.loads(file.read_text()):
        assert json.loads(json.dumps(to_json(from_json(event)))) == event


def test_a_page_is_painted_from_less_than_100_kb_of_script() -> None:
    """Markdown, colours for code and KaTeX come later, in chunks of their own."""
    names = re.findall(r'<script[^>]* src="/assets/([^"]+)"', (FOLDER / "index.html").read_text())
    names += [path.name for path in FOLDER.glob("assets/Run-*.js")]
    assert len(names) >= 2
    first = set[str]()
    while names:
        if (name := names.pop()) not in first:
            first.add(name)
            script = (FOLDER / "assets" / name).read_text()
            names += re.findall(r'(?:from|import)"\./([^"]+\.js)"', script)
    assert len(first) >= 3
    assert sum(len(gzip.compress((FOLDER / "assets" / name).read_bytes())) for name in first) < 100_000
    assert not any(b"katex-html" in (FOLDER / "assets" / name).read_bytes() for name in first)
