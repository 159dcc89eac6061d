"""A confined process ends in time with its children, has limited output, and inherits nothing."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from pnyx.tools.confinement import child_command, run_confined
from tests.support.waiting import STALL_S
from tests.tools.processes import command_running, ends, group_alive


async def test_both_output_streams_and_the_exit_status_are_returned() -> None:
    finished = await run_confined(["sh", "-c", "cat; echo oh >&2; exit 3"], b"in\n", seconds=60, limit=100)
    assert (finished.output, finished.status, finished.cut) == ("in\noh\n", 3, False)


async def test_a_process_inherits_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "secret")
    finished = await run_confined(
        [sys.executable, "-I", "-c", "import os; print(os.environ)"], b"", seconds=60, limit=500
    )
    assert finished.status == 0
    assert "PLANTED" not in finished.output


async def test_a_timeout_kills_the_whole_process_group() -> None:
    for seconds in (0.3, 3, 20):
        began = time.monotonic()
        command = ["sh", "-c", "echo $$; sleep 99 & sleep 99"]
        finished = await run_confined(command, b"", seconds=seconds, limit=100)
        assert time.monotonic() - began < seconds + STALL_S
        if finished.output:  # it had started
            break
    assert finished.status is None
    assert not finished.cut
    assert await ends(lambda: group_alive(int(finished.output)))


async def test_a_process_with_too_much_output_is_stopped_at_once() -> None:
    began = time.monotonic()
    finished = await run_confined(["sh", "-c", "echo $$; exec yes"], b"", seconds=60, limit=1000)
    assert time.monotonic() - began < STALL_S
    assert finished.cut
    assert len(finished.output) == 1000
    assert await ends(lambda: group_alive(int(finished.output.split()[0])))


async def test_cancellation_leaves_no_process() -> None:
    marker = f"pnyx-{time.time_ns()}"
    task = asyncio.create_task(
        run_confined(["sh", "-c", f"sleep 600; : {marker}"], b"", seconds=600, limit=10)
    )
    assert await ends(lambda: not command_running(marker))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ends(lambda: command_running(marker))


async def test_a_job_sets_its_limits_before_it_starts() -> None:
    command = child_command("cpython", {"AS": 200 << 20}, python=sys.executable)
    finished = await run_confined(command, b"bytearray(1 << 30)", seconds=60, limit=1000)
    assert finished.output.endswith("MemoryError\n")
    assert finished.status == 1
