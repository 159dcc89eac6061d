"""The thread that writes to an SQLite database."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar
from weakref import WeakSet, finalize

__all__ = ["WriterThread"]

T = TypeVar("T")


class WriterThread:
    """A thread that runs functions one after another. When the interpreter ends, it first runs the rest.

    An executor would do the same, with two more futures, their locks, and more turns of the event loop for
    each transaction (design/store.md).
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of `work`. Also if the caller is cancelled, since the work is done anyway."""
        if self._thread is None:
            self._start()
        job = _Job(work)
        self._jobs.put(job)
        try:
            await job.waiter
        except asyncio.CancelledError:
            if not job.is_done:
                job.waiter = job.loop.create_future()
                await job.waiter
        error, job.error = job.error, None  # its traceback refers to the job
        if error is not None:
            raise error
        result: T = job.result
        return result

    def close(self) -> None:
        """Wait until all that is queued has run, and end the thread."""
        _OPEN.discard(self)
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _start(self) -> None:
        # It has no reference to this object, so that the thread of one that is forgotten ends.
        self._thread = threading.Thread(target=_run, args=(self._jobs,), name=self._name, daemon=True)
        self._thread.start()
        finalize(self, self._jobs.put, None).atexit = False
        _OPEN.add(self)


class _Job:
    """Work and its result or error. waiter: done once the event loop may read them."""

    __slots__ = ("error", "is_done", "loop", "result", "waiter", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.waiter: asyncio.Future[None] = self.loop.create_future()
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.work()
        except BaseException as exc:
            self.error = exc
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(self.end)

    def end(self) -> None:
        self.is_done = True
        if not self.waiter.done():
            self.waiter.set_result(None)


def _run(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        del job  # what it refers to does not live until the next one


_OPEN: WeakSet[WriterThread] = WeakSet()


@atexit.register
def _close_all() -> None:
    for thread in list(_OPEN):
        thread.close()
