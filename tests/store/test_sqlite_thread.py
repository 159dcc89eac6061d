"""The thread that writes to SQLite, and a loop that ends while it works."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import Connection

from pnyx.store import Database
from pnyx.store.money import ledger
from tests.support.waiting import STALL_S

Report: TypeAlias = Callable[[object], None]


class Commit:
    """A write that waits for `goes_on` in the writer's thread."""

    def __init__(self) -> None:
        self.began, self.goes_on = threading.Event(), threading.Event()
        self.threads: list[threading.Thread] = []

    def __call__(self, connection: Connection) -> int:
        self.threads.append(threading.current_thread())
        self.began.set()
        assert self.goes_on.wait(STALL_S)
        ledger.open_account(connection, "run:x", 7)
        return 7


async def open_with(
    file: Path, commit: Commit, done: Report | None = None, failed: Report | None = None
) -> None:
    """Open a database and return while it commits."""
    database = await Database.open(file)
    database.submit(commit, done, failed)
    await asyncio.to_thread(commit.began.wait, STALL_S)


def test_a_commit_is_reported_though_the_loop_cancels_who_waits_for_it(tmp_path: Path) -> None:
    """`asyncio.run` cancels all tasks at its end; what was committed must not be reported as refused."""
    commit, done, failed = Commit(), list[object](), list[object]()

    async def program() -> None:
        await open_with(tmp_path / "a.db", commit, done.append, failed.append)
        asyncio.get_running_loop().call_later(0.05, commit.goes_on.set)

    asyncio.run(program())
    assert (done, failed) == ([7], [])


def test_a_commit_that_ends_after_its_loop_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    commit = Commit()

    async def program() -> None:
        await open_with(tmp_path / "a.db", commit)
        for _ in range(2):  # the second one ends the wait for the commit too
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0.01)

    asyncio.run(program())
    commit.goes_on.set()
    (thread,) = commit.threads
    # It ends with the executor, which nothing refers to any longer.
    thread.join(STALL_S)
    assert not thread.is_alive()
    assert not caplog.records
