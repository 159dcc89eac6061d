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
from functools import partial

from ..errors import Diverged, Fenced, NotFound, PnyxError, Running, StoreError
from ..store import runs as store
from ..store.queue import Job, Queue
from .handle import FINAL
from .lease import BEAT_S, LEASE_S, taken_by_worker, waiting
from .result import Result
from .runner import Runner

__all__ = ["Worker"]

SWEEP_S = 5.0
"""Between two looks for jobs that are due and runs that no job names, in seconds."""
AWAY_S = 1.0
"""Between two tries while the database is away, in seconds."""
REFUSED_S = (5.0, 60.0)
"""How long a run that cannot go on here is left to other workers: the first time, and at most, in seconds."""
AT_ONCE = 1000
"""Runs that are looked through in one sweep."""
SETTLE_S = 1.5
"""How long jobs may take to be put back once the runs have stopped, in seconds."""


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
                job = await self.queue.fetch()
            except StoreError:
                return False  # the parts that run beside this one tell
            if job is not None:
                task = self._jobs[job.id] = asyncio.create_task(self._carried_out(job))
                task.add_done_callback(partial(self._over, job.id))
        return job is not None

    def _over(self, job_id: int, task: asyncio.Task[None]) -> None:
        del self._jobs[job_id]
        self._news.set()
        if not task.cancelled() and (exc := task.exception()) is not None:
            self._problem(f"this is a bug in pnyx: {self._redacted(exc)}")

    async def _carried_out(self, job: Job) -> None:
        again_s: float | None
        try:
            again_s = await self._run(job)
        except Fenced as exc:
            self._problem(str(exc))
            again_s = 0.0
        except StoreError as exc:
            self._problem(f"run {job.run_id}: {exc}")
            again_s = SWEEP_S
        while True:
            with suppress(StoreError):
                return await self._put_away(job, again_s)
            await asyncio.sleep(AWAY_S)

    async def _put_away(self, job: Job, again_s: float | None) -> None:
        """again_s: in how many seconds somebody should look at the run again; None: nobody need."""
        if not await self.queue.owns(job):
            return  # whoever took it while this process was silent sees to it
        if again_s is None:
            await self.queue.finish(job)
        elif again_s:
            await self.queue.again(job, again_s)
        else:
            # A new job is heard of at once, one that is put back is not.
            await self.queue.finish(job)
            await self.queue.defer(job.run_id)

    async def _run(self, job: Job) -> float | None:
        """Go on with the run that a job names, if it waits; what `_put_away` is to do with the job.

        Raises `Fenced`, `StoreError`.
        """
        run_id = job.run_id
        try:
            row = await self.runner.database.read(partial(store.find, prefix=run_id))
        except NotFound:
            return None
        if not waiting(row, time.time()) or self.runner.find(run_id) is not None:
            return None  # over, paused, or taken up: whoever has it sees to it
        if row.stop == "cancel":
            # It was asked of a worker that did not live to hear it.
            await self.runner.cancel(run_id)
            return None
        if row.stop is not None:
            await self.runner.pause(run_id)
            return None
        left_s: float = min(REFUSED_S[0] * 2 ** min(job.tries, 10), REFUSED_S[1])
        if run_id in self._refused:
            return left_s
        try:
            handle = await self.runner.resume(run_id)
        except Running:
            return None
        except StoreError:
            raise
        except Exception as exc:
            self._refused.add(run_id)
            self._problem(
                f"run {run_id} cannot go on here, and is left to other workers: {self._redacted(exc)}; start "
                f"this worker again once that is mended, or `pnyx cancel {run_id}`"
            )
            return left_s
        self._tell(f"run {run_id} · {'taken up' if row.epoch > 1 else 'begun'}")
        try:
            result = await handle.result()
        except Diverged as exc:
            self._problem(str(exc))
            return None
        return self._ended(result, handle.gives_back)

    def _ended(self, result: Result, gives_back: bool) -> float | None:
        if result.status not in FINAL and gives_back and result.stop_reason == "interrupted":
            self._tell(f"run {result.run_id} · put back")
            return 0.0
        self._tell(f"run {result.run_id} · {result.status}")
        return None

    def _redacted(self, exc: BaseException) -> str:
        told = str(exc) if isinstance(exc, PnyxError) else f"{type(exc).__name__}: {exc}"
        return self.runner.providers.redact(told)

    async def _beat(self) -> None:
        await self.queue.beat(LEASE_S)

    async def _sweep(self) -> None:
        """Have a job for every run that waits, and none that nobody works on."""
        async with self._fetching:
            await self.queue.strays(self._jobs.keys())
        rows = await self.runner.database.read(partial(store.unattended, limit=AT_ONCE))
        found = [row for row in rows if waiting(row, time.time())]
        if not found:
            return
        named = await self.queue.named()
        for row in found:
            waits, taken = named.get(row.id), taken_by_worker(row)
            # Whoever put it there may be about to tell the queue, and whoever has its job about to take it
            # up; the job of a worker that is gone is nobody's.
            if not waits and (taken or (waits is None and _age_s(row) > SWEEP_S)):
                await self.queue.defer(row.id)


def _age_s(row: store.RunRow) -> float:
    """Seconds since the run was begun, or put back."""
    return (datetime.now(UTC) - datetime.fromisoformat(row.updated_at)).total_seconds()
