"""`pnyx worker`: takes waiting runs, several at once, and resumes them with the runner.

Only a run's row decides whether it waits. A job makes a worker look at the run now; every `SWEEP_S` seconds
each worker also looks for waiting runs without a job. So a job may be lost, late or duplicated. See
design/worker.md.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from enum import Enum, auto
from functools import partial

from ..config.tables.server import KeyLimits
from ..core.decision import FINAL
from ..errors import Diverged, Fenced, NotFound, PnyxError, Running, StoreError
from ..store.queue import Job, Queue
from ..store.queue_shares import Share
from ..store.records import leases
from ..store.records import runs as store
from .headroom import read_headroom
from .leases.lease import BEAT_S, LEASE_S, belongs_to_worker, host_of, is_waiting
from .options.key_limits import limits_of_keys
from .result import Result
from .runner import Runner

__all__ = ["Worker"]

SWEEP_S = 5.0
"""Seconds between checks for jobs that are due and for waiting runs without a job."""
RETRY_S = 1.0
"""Seconds between attempts while the database is unavailable."""
DECLINED_S = 20.0
"""Seconds between checks of declined jobs by a worker that has declined some itself."""
HEADROOM_S = 0.5
"""Seconds between checks of memory and open files."""
LEAVE_S = 8.0
"""Seconds that calls in flight have when one of them is used up."""
SWEEP_LIMIT = 1000
"""The most runs that one sweep reads."""
CLOSE_S = 1.5
"""Seconds that jobs have to be put back once the runs have stopped."""
CANCEL_S = 1.0
"""Seconds after which a task that still works is cancelled once more."""


class End(Enum):
    """The end of a job: done, again now, again later, for other workers now, for other workers later."""

    DONE = auto()
    REQUEUE = auto()
    RETRY = auto()
    DECLINE = auto()
    DECLINE_LATER = auto()


class Worker:
    """Performs queued runs.

    runner: opened with `worker=True`. report: called with a line of progress. report_problem: called with a
    line about an error.
    """

    def __init__(
        self,
        runner: Runner,
        queue: Queue,
        concurrency: int,
        report: Callable[[str], None],
        report_problem: Callable[[str], None],
    ) -> None:
        self.runner, self.queue, self.concurrency = runner, queue, concurrency
        self._report, self._report_problem = report, report_problem
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self._wake = asyncio.Event()
        self._fetching = asyncio.Lock()
        self._declined: set[str] = set()
        self._last_try: str | None = None
        self._jobless: dict[str, float] = {}
        self._declined_checked_at = 0.0
        self._database_is_down = False
        self._grace_s = 0.0
        self._is_short = False
        self.ran_out = False
        """Whether it stopped for lack of memory or open files."""
        self._shares = _shares(runner.settings.serve.keys)

    async def work(self) -> None:
        """Perform runs until `stop`. Runs that are not finished then wait for another worker."""
        tasks = [
            asyncio.create_task(self._every(BEAT_S, self._beat)),
            asyncio.create_task(self._every(SWEEP_S, self._sweep)),
            asyncio.create_task(self._every(RETRY_S, partial(self.queue.listen, self._wake.set))),
            asyncio.create_task(self._every(HEADROOM_S, self._watch_headroom)),
        ]
        try:
            while not self.runner.stopping:
                self._wake.clear()
                is_full = self._is_short or len(self._jobs) >= self.concurrency
                if is_full or not await self._fetch():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), SWEEP_S)
        finally:
            await _end(tasks)
            await self._finish_jobs()

    def stop(self, grace_s: float) -> None:
        """Take no further runs and stop those here; their calls in flight have `grace_s` seconds."""
        self._grace_s = grace_s
        self.runner.drain(grace_s)
        self._wake.set()

    async def _finish_jobs(self) -> None:
        """Wait until every run has ended and its job is closed; cancel what takes longer than `CLOSE_S`."""
        if jobs := list(self._jobs.values()):
            _, left = await asyncio.wait(jobs, timeout=self._grace_s + CLOSE_S)
            for task in left:
                task.cancel()

    async def _every(self, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        """Repeat an action; report an unavailable database once, and wait for it."""
        while True:
            try:
                await self._watch_database(action)
            except StoreError:
                pass
            except Exception as exc:
                # Without its heartbeat, for example, it would lose its runs.
                self._report_problem(f"this is a bug in pnyx: {self._error_text(exc)}")
            await asyncio.sleep(seconds)

    async def _watch_database(self, action: Callable[[], Awaitable[None]]) -> None:
        try:
            await action()
        except StoreError as exc:
            if not self._database_is_down:
                self._report_problem(f"{exc}; waiting for it")
            self._database_is_down = True
            raise
        # A heartbeat writes; what only reads succeeds on a server that takes no writes, too.
        if self._database_is_down and action == self._beat:
            self._report("the database is available again")
            self._database_is_down = False

    async def _watch_headroom(self) -> None:
        """Take no runs while memory or open files are short. Before they are used up, stop: other workers
        continue the runs."""
        found = read_headroom()
        short = next((one for one in found if one.is_short), None)
        was_short, self._is_short = self._is_short, short is not None
        used_up = next((one for one in found if one.is_used_up), None)
        if used_up is not None and self._jobs and not self.runner.stopping:
            self.ran_out = True
            self._report_problem(f"only {used_up}: its runs go to another worker, and it ends")
            self.stop(LEAVE_S)
        elif short is not None and not was_short:
            self._report_problem(f"only {short}: takes no further runs until there is more")
        elif short is None and was_short:
            self._report("takes runs again: memory and open files suffice")
            self._wake.set()

    async def _fetch(self) -> bool:
        """Start the next job. Return False if none is due, or the database is unavailable."""
        async with self._fetching:
            try:
                job = await self.queue.fetch(self._may_take_declined(), self._shares)
            except StoreError:
                return False  # `_every` reports it
            if job is not None:
                task = self._jobs[job.id] = asyncio.create_task(self._perform(job))
                task.add_done_callback(partial(self._on_job_end, job.id))
        return job is not None

    def _may_take_declined(self) -> bool:
        """Return whether to fetch declined jobs, so that a worker that can perform one gets it first."""
        if self._declined and time.monotonic() - self._declined_checked_at < DECLINED_S:
            return False
        self._declined_checked_at = time.monotonic()
        return True

    def _on_job_end(self, job_id: int, task: asyncio.Task[None]) -> None:
        del self._jobs[job_id]
        self._wake.set()
        if not task.cancelled() and (exc := task.exception()) is not None:
            self._report_problem(f"this is a bug in pnyx: {self._error_text(exc)}")

    async def _perform(self, job: Job) -> None:
        try:
            end = await self._run(job.run_id)
        except Fenced as exc:
            self._report_problem(str(exc))
            end = End.DONE
        except StoreError as exc:
            self._report_problem(f"run {job.run_id}: {exc}")
            end = End.RETRY
        while True:
            with suppress(StoreError):
                return await self._close_job(job, end)
            await asyncio.sleep(RETRY_S)

    async def _close_job(self, job: Job, end: End) -> None:
        if not await self.queue.owns(job):
            return  # another worker took it while this process was silent
        match end:
            case End.DONE:
                await self.queue.finish(job)
            case End.REQUEUE:
                # Workers are notified of a new job, and not of one that is put back.
                await self.queue.finish(job)
                await self.queue.defer(job.run_id, job.owner)
            case End.RETRY:
                await self.queue.put_back(job, SWEEP_S)
            case End.DECLINE:
                await self.queue.put_back(job, declined=True)
            case End.DECLINE_LATER:
                await self.queue.put_back(job, DECLINED_S, declined=True)

    async def _run(self, run_id: str) -> End:
        """Resume the run of a job if it waits; return the end of the job. Raises `Fenced`, `StoreError`."""
        try:
            row = await self.runner.database.read(partial(store.find, prefix=run_id))
        except NotFound:
            return End.DONE
        if not is_waiting(row) or self.runner.find(run_id) is not None:
            return End.DONE  # also if paused, or taken by another process
        if row.stop == "cancel":
            # The worker that it was requested of ended before it could.
            await self.runner.cancel(run_id)
            return End.DONE
        if row.stop is not None:
            await self.runner.pause(run_id)
            return End.DONE
        if run_id in self._declined:
            return End.DECLINE_LATER
        return await self._try(row)

    async def _try(self, row: store.RunRow) -> End:
        """Carry out a waiting run, unless it has lost too many workers. Return the end of its job."""
        lost, tries = row.lost_workers + (row.worker is not None), self.runner.settings.worker.tries
        if lost >= tries:
            return await self._hold_back(row, lost)
        is_last = lost > 0 and lost == tries - 1
        if not is_last:
            return await self._resume(row)
        if self._last_try is not None:
            return End.RETRY
        # Runs that have lost the same workers may be harmless: each gets its last try without the others.
        self._last_try = row.id
        try:
            return await self._resume(row)
        finally:
            self._last_try = None

    async def _hold_back(self, row: store.RunRow, lost: int) -> End:
        workers = "the worker" if lost == 1 else f"{lost} workers, one after another,"
        why = (
            f"{workers} that carried out this run ended without a word or without "
            f"memory, the last one on {host_of(row.worker) or 'an unknown host'}. No worker takes the "
            f"run again by itself; to try again: pnyx resume {row.id}, to end it: pnyx cancel {row.id}"
        )
        with suppress(Running):
            async with self.runner.ownership.taken(row) as handle:
                await handle.end_held_back(why)
            self._report_problem(f"run {row.id} is paused: {why}")
        return End.DONE

    async def _resume(self, row: store.RunRow) -> End:
        try:
            handle = await self.runner.resume(row.id)
        except Running:
            return End.DONE
        except StoreError:
            raise
        except Exception as exc:
            return await self._decline(row, self._error_text(exc))
        self._report(f"run {row.id} · {'resumed' if row.epoch > 1 else 'started'}")
        try:
            result = await handle.result()
        except Diverged as exc:
            self._report_problem(str(exc))
            return End.DONE
        return await self._end_of(result, handle.requeue_on_stop, handle.starved)

    async def _decline(self, row: store.RunRow, why: str) -> End:
        """Leave a run that cannot continue here to other workers, and tell its owner why."""
        self._declined.add(row.id)
        self._declined_checked_at = time.monotonic()
        self._report_problem(
            f"run {row.id} cannot continue here and waits for another worker: {why}. "
            f"Fix this and restart the worker, or end the run with: pnyx cancel {row.id}"
        )
        note = f"{socket.gethostname()}: {why}"
        await self.runner.database.write(lambda connection: leases.decline(connection, row, note))
        return End.DECLINE

    async def _end_of(self, result: Result, requeue: bool, starved: bool) -> End:
        if result.status not in FINAL and requeue and result.stop_reason == "interrupted":
            if self.ran_out or starved:
                # It may be the one that needs so much, and come to the next worker, and the next.
                await self.runner.database.write(partial(leases.count_lost, run_id=result.run_id))
            self._report(f"run {result.run_id} · put back")
            return End.REQUEUE
        self._report(f"run {result.run_id} · {result.status}")
        return End.DONE

    def _error_text(self, exc: BaseException) -> str:
        text = str(exc) if isinstance(exc, PnyxError) else self._bug_text(exc)
        return self.runner.providers.redact(text)

    def _bug_text(self, exc: BaseException) -> str:
        # Its message may quote a prompt, and a log is read by many.
        chosen = self.runner.settings.telemetry
        shown = chosen.log_format == "text" or chosen.content
        return f"{type(exc).__name__}: {exc}" if shown else type(exc).__name__

    async def _beat(self) -> None:
        await self.queue.beat(LEASE_S)

    async def _sweep(self) -> None:
        """Create a job for every waiting run without one, and put back jobs that no process performs."""
        limits = await self.runner.database.read(partial(limits_of_keys, settings=self.runner.settings))
        self._shares = _shares(limits)
        async with self._fetching:
            await self.queue.put_back_strays(self._jobs.keys())
        rows = await self.runner.database.read(partial(leases.unattended, limit=SWEEP_LIMIT))
        waiting = [row for row in rows if is_waiting(row)]
        now = time.monotonic()
        self._jobless = {row.id: self._jobless.get(row.id, now) for row in waiting}
        if not waiting:
            return
        queued = await self.queue.queued_runs([row.id for row in waiting])
        for row in waiting:
            job_waits, has_worker = queued.get(row.id), belongs_to_worker(row)
            if job_waits is not None:
                self._jobless[row.id] = now
            # A new run may be about to get its job, and the process with its job about to take it. The job of
            # a worker that is gone belongs to no process.
            if not job_waits and (
                has_worker or (job_waits is None and now - self._jobless[row.id] >= SWEEP_S / 2)
            ):
                await self.queue.defer(row.id, row.owner)


async def _end(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: waiting for notifications goes on if one arrives just then."""
    while tasks:
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=CANCEL_S)


def _shares(limits: Mapping[str, KeyLimits]) -> dict[str, Share]:
    """What keys have of the workers. limits: name -> those of the key."""
    return {name: Share(one.priority, one.runs_at_once) for name, one in limits.items()}
