"""What `pnyx worker` does: takes runs that wait, several at once, and has the runner go on with them.

Whether a run waits is told by its row alone. A job makes a worker look at it now; every `SWEEP_S` seconds
each worker looks by itself for runs that no job names. So a job may be lost, late or there twice. See
design/worker.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial

from ..core.decision import FINAL
from ..errors import Diverged, Fenced, NotFound, PnyxError, Running, StoreError
from ..store import runs as store
from ..store.queue import Job, Queue
from .lease import BEAT_S, LEASE_S, taken_by_worker, waiting
from .result import Result
from .runner import Runner

__all__ = ["Worker"]

SWEEP_S = 5.0
"""Between two looks for jobs that are due and runs that no job names, in seconds."""
AWAY_S = 1.0
"""Between two tries while the database is away, in seconds."""
LEFT_S = 20.0
"""How often a worker that cannot go on with some runs looks at those that others have left, in seconds."""
AT_ONCE = 1000
"""Runs that are looked through in one sweep."""
SETTLE_S = 1.5
"""How long jobs may take to be put back once the runs have stopped, in seconds."""


class End(Enum):
    """What becomes of a job: nothing more, another look at the run now or later, one by other workers."""

    OVER = auto()
    WAITS = auto()
    LATER = auto()
    LEFT = auto()
    LEFT_AGAIN = auto()


class Worker:
    """runner: one that was opened as a worker's. tell: takes a line; problem: takes one that is wrong."""

    def __init__(
        self,
        runner: Runner,
        queue: Queue,
        concurrency: int,
        tell: Callable[[str], None],
        problem: Callable[[str], None],
    ) -> None:
        self.runner, self.queue, self.concurrency = runner, queue, concurrency
        self._tell, self._problem = tell, problem
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._fetching = asyncio.Lock()
        self._refused: set[str] = set()
        self._looked = 0.0
        self._away = False
        self._grace_s = 0.0

    async def work(self) -> None:
        """Carry out runs until `stop`, whose runs then wait for another worker."""
        sides = [
            asyncio.create_task(self._every(BEAT_S, self._beat)),
            asyncio.create_task(self._every(SWEEP_S, self._sweep)),
            asyncio.create_task(self._every(AWAY_S, partial(self.queue.listen, self._news.set))),
        ]
        try:
            while not self.runner.stopping:
                self._news.clear()
                if len(self._jobs) >= self.concurrency or not await self._fetch():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._news.wait(), SWEEP_S)
        finally:
            for side in sides:
                side.cancel()
            await asyncio.wait(sides)
            await self._settled()

    def stop(self, grace_s: float) -> None:
        """Take no more, and let go of the runs here; their calls in flight have `grace_s` seconds."""
        self._grace_s = grace_s
        self.runner.drain(grace_s)
        self._news.set()

    async def _settled(self) -> None:
        """Until every run here has ended and its job is put back, which is given up after a while."""
        if jobs := list(self._jobs.values()):
            _, left = await asyncio.wait(jobs, timeout=self._grace_s + SETTLE_S)
            for task in left:
                task.cancel()

    async def _every(self, seconds: float, part: Callable[[], Awaitable[None]]) -> None:
        """Do one part again and again; a database that is away is told once, and waited for."""
        while True:
            with suppress(StoreError):
                await self._reached(part())
            await asyncio.sleep(seconds)

    async def _reached(self, asked: Awaitable[None]) -> None:
        try:
            await asked
        except StoreError as exc:
            if not self._away:
                self._problem(f"{exc}; waiting for it")
            self._away = True
            raise
        if self._away:
            self._tell("the database is back")
        self._away = False

    async def _fetch(self) -> bool:
        """Begin with the next job; False where there is none that is due, or the database is away."""
        async with self._fetching:
            try:
                job = await self.queue.fetch(declined=self._looks_at_left())
            except StoreError:
                return False  # the parts that run beside this one tell
            if job is not None:
                task = self._jobs[job.id] = asyncio.create_task(self._carried_out(job))
                task.add_done_callback(partial(self._over, job.id))
        return job is not None

    def _looks_at_left(self) -> bool:
        """Whoever cannot go on with a run must not be faster than those who can."""
        if self._refused and time.monotonic() - self._looked < LEFT_S:
            return False
        self._looked = time.monotonic()
        return True

    def _over(self, job_id: int, task: asyncio.Task[None]) -> None:
        del self._jobs[job_id]
        self._news.set()
        if not task.cancelled() and (exc := task.exception()) is not None:
            self._problem(f"this is a bug in pnyx: {self._redacted(exc)}")

    async def _carried_out(self, job: Job) -> None:
        try:
            end = await self._run(job.run_id)
        except Fenced as exc:
            self._problem(str(exc))
            end = End.OVER
        except StoreError as exc:
            self._problem(f"run {job.run_id}: {exc}")
            end = End.LATER
        while True:
            with suppress(StoreError):
                return await self._put_away(job, end)
            await asyncio.sleep(AWAY_S)

    async def _put_away(self, job: Job, end: End) -> None:
        if not await self.queue.owns(job):
            return  # whoever took it while this process was silent sees to it
        match end:
            case End.OVER:
                await self.queue.finish(job)
            case End.WAITS:
                # A new job is heard of at once, one that is put back is not.
                await self.queue.finish(job)
                await self.queue.defer(job.run_id)
            case End.LATER:
                await self.queue.put_back(job, SWEEP_S)
            case End.LEFT:
                await self.queue.put_back(job, declined=True)
            case End.LEFT_AGAIN:
                await self.queue.put_back(job, LEFT_S, declined=True)

    async def _run(self, run_id: str) -> End:
        """Go on with the run that a job names, if it waits. Raises `Fenced`, `StoreError`."""
        try:
            row = await self.runner.database.read(partial(store.find, prefix=run_id))
        except NotFound:
            return End.OVER
        if not waiting(row, time.time()) or self.runner.find(run_id) is not None:
            return End.OVER  # or paused, or taken up: whoever has it sees to it
        if row.stop == "cancel":
            # It was asked of a worker that did not live to hear it.
            await self.runner.cancel(run_id)
            return End.OVER
        if row.stop is not None:
            await self.runner.pause(run_id)
            return End.OVER
        if run_id in self._refused:
            return End.LEFT_AGAIN
        try:
            handle = await self.runner.resume(run_id)
        except Running:
            return End.OVER
        except StoreError:
            raise
        except Exception as exc:
            self._refused.add(run_id)
            self._looked = time.monotonic()
            self._problem(
                f"run {run_id} cannot go on here, and is left to other workers: {self._redacted(exc)}; start "
                f"this worker again once that is mended, or `pnyx cancel {run_id}`"
            )
            return End.LEFT
        self._tell(f"run {run_id} · {'taken up' if row.epoch > 1 else 'begun'}")
        try:
            result = await handle.result()
        except Diverged as exc:
            self._problem(str(exc))
            return End.OVER
        return self._ended(result, handle.gives_back)

    def _ended(self, result: Result, gives_back: bool) -> End:
        if result.status not in FINAL and gives_back and result.stop_reason == "interrupted":
            self._tell(f"run {result.run_id} · put back")
            return End.WAITS
        self._tell(f"run {result.run_id} · {result.status}")
        return End.OVER

    def _redacted(self, exc: BaseException) -> str:
        told = str(exc) if isinstance(exc, PnyxError) else f"{type(exc).__name__}: {exc}"
        return self.runner.providers.redact(told)

    async def _beat(self) -> None:
        await self.queue.beat(LEASE_S)

    async def _sweep(self) -> None:
        """Have a job for every run that waits, and none that nobody works on."""
        async with self._fetching:
            await self.queue.put_back_strays(self._jobs.keys())
        rows = await self.runner.database.read(partial(store.unattended, limit=AT_ONCE))
        found = [row for row in rows if waiting(row, time.time())]
        if not found:
            return
        named = await self.queue.queued_runs()
        for row in found:
            waits, taken = named.get(row.id), taken_by_worker(row)
            # Whoever put it there may be about to tell the queue, and whoever has its job about to take it
            # up; the job of a worker that is gone is nobody's.
            if not waits and (taken or (waits is None and _age_s(row) > SWEEP_S)):
                await self.queue.defer(row.id)


def _age_s(row: store.RunRow) -> float:
    """Seconds since the run was begun, taken up or put back."""
    return (datetime.now(UTC) - datetime.fromisoformat(row.updated_at)).total_seconds()
