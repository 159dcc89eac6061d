"""What `conftest.py` promises to every other test."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from tests.support import network
from tests.support.postgres import PostgresServer
from tests.support.sources import ROOT

OUTSIDE = "192.0.2.1"
"""An address that belongs to nobody (RFC 5737)."""


def _connect() -> None:
    with socket.socket() as sock:
        sock.connect((OUTSIDE, 80))


def _connect_asyncio() -> None:
    asyncio.run(asyncio.wait_for(asyncio.open_connection(OUTSIDE, 80), 1))


def _send() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", (OUTSIDE, 53))


def _serve() -> None:
    with socket.socket() as sock:
        sock.bind(("", 0))


def _resolve() -> None:
    socket.getaddrinfo("pnyx.invalid", 443)


@pytest.mark.parametrize("leave", [_connect, _connect_asyncio, _send, _serve, _resolve])
def test_a_test_cannot_leave_the_machine(leave: Callable[[], None]) -> None:
    with pytest.raises(network.NetworkForbiddenError, match="loopback"):
        leave()
    assert len(network.refused) == 1
    network.refused.clear()


async def test_loopback_and_unix_sockets_are_open_to_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async def heard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        said = await reader.read()
        writer.close()
        await writer.wait_closed()
        return said

    # A socket's path is short, and a folder for tests may not be.
    monkeypatch.chdir(tmp_path)
    async with await asyncio.start_server(hello, "localhost", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await heard(*await asyncio.open_connection("localhost", port)) == b"hello"
    async with await asyncio.start_unix_server(hello, "door"):
        assert await heard(*await asyncio.open_unix_connection("door")) == b"hello"


INNER = """
import contextlib, os, socket, warnings

def test_swallows():
    with contextlib.suppress(Exception):
        socket.create_connection(("192.0.2.1", 80))

def test_warns():
    warnings.warn("something is off")

def test_is_alone(home):
    assert not list(home.iterdir())
    assert os.path.expanduser("~") == str(home)
    assert not {"SOME_API_KEY", "PNYX_DATABASE", "https_proxy", "PGHOST", "OLLAMA_HOST"} & set(os.environ)
    assert os.environ["PNYX_MODELS"] == "kept"
"""


def test_a_swallowed_escape_and_a_warning_fail_and_the_environment_is_empty(tmp_path: Path) -> None:
    inner = tmp_path / "test_inner.py"
    inner.write_text(INNER)
    planted = dict.fromkeys(
        ["SOME_API_KEY", "PNYX_DATABASE", "https_proxy", "PGHOST", "OLLAMA_HOST"], "planted"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.conftest",
            "-c",
            str(ROOT / "pyproject.toml"),
            str(inner),
        ],
        cwd=ROOT,
        env=os.environ | planted | {"PNYX_MODELS": "kept"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "socket.connect to ('192.0.2.1', 80): tests may only reach loopback" in done.stdout
    assert "UserWarning: something is off" in done.stdout


def test_the_sqlite_database_is_new(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    assert not path.exists()
    sqlite3.connect(path).close()


def test_a_database_url_is_of_one_of_the_two_kinds(database_url: str, request: pytest.FixtureRequest) -> None:
    assert database_url.startswith(request.node.callspec.id)


@pytest.mark.parametrize("time", ["first", "second"])
async def test_each_test_gets_an_empty_postgresql_database(postgres_url: str, time: str) -> None:
    engine = create_async_engine(postgres_url)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE motions (id int)"))
    await engine.dispose()


async def test_what_postgresql_committed_outlives_a_stop_at_once(
    postgres: PostgresServer, postgres_url: str
) -> None:
    engine = create_async_engine(postgres_url, pool_pre_ping=True)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE motions AS SELECT 42 AS id"))
    postgres.stop(at_once=True)
    try:
        with pytest.raises((DBAPIError, OSError)):
            async with engine.connect():
                pass
    finally:
        postgres.start()
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT id FROM motions")) == 42
    await engine.dispose()
