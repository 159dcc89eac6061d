"""The thread that writes: its order, cancelled callers, errors, and what still runs at the end."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pnyx.store.writer_thread import WriterThread
from tests.support.waiting import STALL_S


async def test_work_runs_in_order_on_one_thread() -> None:
    thread = WriterThread("writes")
    order: list[int] = []

    def work(n: int) -> Callable[[], tuple[int, str]]:
        def run() -> tuple[int, str]:
            order.append(n)
            return n, threading.current_thread().name

        return run

    results = await asyncio.gather(*(thread.run(work(n)) for n in range(20)))
    assert results == [(n, "writes") for n in range(20)]
    assert order == list(range(20))
    thread.close()


async def test_an_error_is_raised_and_the_thread_goes_on() -> None:
    def fail() -> None:
        raise LookupError("none")

    thread = WriterThread("writes")
    with pytest.raises(LookupError, match="none"):
        await thread.run(fail)
    assert await thread.run(lambda: 1) == 1
    thread.close()


async def test_a_cancelled_caller_gets_the_result_of_work_that_is_done_anyway() -> None:
    thread = WriterThread("writes")
    begun, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> str:
        loop.call_soon_threadsafe(begun.set)
        assert may_end.wait(STALL_S)
        return "written"

    task = asyncio.create_task(thread.run(work))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    assert await task == "written"
    thread.close()


async def test_a_caller_that_is_cancelled_as_its_work_ends_gets_the_result() -> None:
    thread = WriterThread("writes")
    task = asyncio.create_task(thread.run(lambda: "written"))
    await asyncio.sleep(0)
    thread.close()  # the work has run, and the event loop has not heard of it
    asyncio.get_running_loop().call_soon(task.cancel)
    assert await task == "written"


def test_a_loop_that_is_closed_is_left_alone() -> None:
    thread = WriterThread("writes")
    may_end = threading.Event()
    written: list[int] = []

    def work() -> None:
        assert may_end.wait(STALL_S)
        written.append(1)

    loop = asyncio.new_event_loop()
    left = loop.create_task(thread.run(work))
    left._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    may_end.set()
    assert asyncio.run(thread.run(lambda: list(written))) == [1]
    thread.close()


def test_the_thread_of_a_forgotten_object_ends() -> None:
    thread = WriterThread("forgotten")
    asyncio.run(thread.run(lambda: None))
    (running,) = (one for one in threading.enumerate() if one.name == "forgotten")
    del thread
    gc.collect()
    running.join(STALL_S)
    assert not running.is_alive()


def test_what_is_queued_is_written_before_the_interpreter_ends(tmp_path: Path) -> None:
    program = """
import asyncio, pathlib, sys, time
from pnyx.store.writer_thread import WriterThread
thread = WriterThread("writes")
def work():
    time.sleep(0.2)
    pathlib.Path(sys.argv[1]).write_text("written")
loop = asyncio.new_event_loop()
tasks = [loop.create_task(thread.run(work)) for _ in range(2)]
loop.run_until_complete(asyncio.sleep(0))
"""
    file = tmp_path / "file"
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True)
    assert file.read_text() == "written", done.stderr
