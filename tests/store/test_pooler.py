"""PgBouncer between pnyx and PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

import pnyx
from pnyx.errors import StoreError
from pnyx.store.queue import Queue
from tests.store.test_postgresql import at_port

PROGRAM = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")
RUNS = 8
DIRECT = "?prepared_statement_cache_size=0"


@contextlib.contextmanager
def pooler(url: str, mode: str, *settings: str) -> Iterator[str]:
    """The URL of the database behind a pooler that has fewer connections to it than pnyx may open."""
    assert PROGRAM is not None, "install PgBouncer: apt install pgbouncer, or brew install pgbouncer"
    server = make_url(url)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lines = ["[databases]", f"* = host=127.0.0.1 port={server.port} user={server.username} "]
    lines[-1] += f"password={server.password}"
    lines += ["[pgbouncer]", "listen_addr = 127.0.0.1", f"listen_port = {port}", "unix_socket_dir ="]
    lines += [
        "auth_type = any",
        f"pool_mode = {mode}",
        f"default_pool_size = {2 if mode != 'session' else 50}",
    ]
    lines += settings
    # It refuses to run as root, and nobody else may enter pytest's folder.
    who = {"user": "nobody"} if os.geteuid() == 0 else {}
    file = Path(tempfile.gettempdir()) / f"pnyx-pgbouncer-{port}.ini"
    file.write_text("\n".join(lines))
    process = subprocess.Popen(
        [PROGRAM, "--quiet", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **who,  # type: ignore[call-overload]
    )
    try:
        until = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        yield at_port(url, port)
    finally:
        process.kill()
        process.wait()
        file.unlink()


async def debates(url: str) -> set[str]:
    """The outcomes of several debates at once, each with two models."""
    settings = pnyx.load_settings(overrides={"storage": {"url": url}})
    providers = {"m": pnyx.FakeProvider(lambda call: "Final answer: yes")}
    asked: Any = {"panel": ["m:a", "m:b"], "rounds": 1}
    runs = (pnyx.ask("Why?", providers=providers, settings=settings, **asked) for _ in range(RUNS))
    done = await asyncio.gather(*runs, return_exceptions=True)  # none goes on without its database
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return {one.status for one in done if not isinstance(one, BaseException)}


async def until_refused(url: str) -> None:
    while True:  # until two messages of a statement meet different connections
        await debates(url)


@pytest.mark.parametrize(("mode", "query"), [("session", ""), ("session", DIRECT), ("transaction", DIRECT)])
async def test_debates_through_a_pooler(postgres_url: str, mode: str, query: str) -> None:
    with pooler(postgres_url, mode) as url:
        assert await debates(url + query) == {"consensus"}
        assert await debates(url + query) == {"consensus"}


async def test_what_a_pooler_needs_is_said(postgres_url: str) -> None:
    with pooler(postgres_url, "transaction") as url:
        await debates(url + DIRECT)
        with pytest.raises(StoreError, match="prepared_statement_cache_size=0 to the address"):
            await until_refused(url)
        with pytest.raises(StoreError, match="the address of PostgreSQL instead of a pooler's"):
            await Queue.open(url)


@pytest.mark.parametrize("mode", ["session", "transaction"])
async def test_a_pooler_that_ignores_options_is_named(postgres_url: str, mode: str) -> None:
    """Before, a type of the queue did not exist."""
    said = pytest.raises(StoreError, match=r"ignores its options; .* the address of PostgreSQL instead")
    with pooler(postgres_url, mode, "ignore_startup_parameters = options") as url, said:
        await Queue.open(url)
