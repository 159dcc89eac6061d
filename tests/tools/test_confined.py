"""A confined process ends in time with all that it started, says only so much, and inherits nothing."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from pnyx.tools.confined import confined, inside
from tests.tools.processes import command_running, ends, group_alive


async def test_what_a_process_says_on_both_streams_comes_back_with_its_status() -> None:
    finished = await confined(["sh", "-c", "cat; echo oh >&2; exit 3"], b"in\n", seconds=5, limit=100)
    assert (finished.output, finished.status, finished.cut) == ("in\noh\n", 3, False)


async def test_a_process_inherits_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "secret")
    finished = await confined(
        [sys.executable, "-I", "-c", "import os; print(os.environ)"], b"", seconds=5, limit=500
    )
    assert finished.status == 0
    assert "PLANTED" not in finished.output


async def test_at_the_end_of_its_time_the_whole_group_is_gone() -> None:
    began = time.monotonic()
    finished = await confined(["sh", "-c", "echo $$; sleep 60 & sleep 60"], b"", seconds=0.3, limit=100)
    assert time.monotonic() - began < 2
    assert finished.status is None
    assert not finished.cut
    assert await ends(lambda: group_alive(int(finished.output)))


async def test_a_process_that_says_too_much_is_stopped_at_once() -> None:
    began = time.monotonic()
    finished = await confined(["sh", "-c", "echo $$; exec yes"], b"", seconds=30, limit=1000)
    assert time.monotonic() - began < 2
    assert finished.cut
    assert len(finished.output) == 1000
    assert await ends(lambda: group_alive(int(finished.output.split()[0])))


async def test_a_cancelled_caller_leaves_no_process() -> None:
    marker = f"pnyx-{time.time_ns()}"
    task = asyncio.create_task(confined(["sh", "-c", f"sleep 60; : {marker}"], b"", seconds=60, limit=10))
    assert await ends(lambda: not command_running(marker))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ends(lambda: command_running(marker))


async def test_a_job_limits_itself_before_it_begins() -> None:
    command = inside("cpython", {"AS": 200 << 20}, python=sys.executable)
    finished = await confined(command, b"bytearray(1 << 30)", seconds=10, limit=1000)
    assert finished.output.endswith("MemoryError\n")
    assert finished.status == 1
