"""Starts, resumes, forks and cancels runs, for every interface.

A `Runner` owns the database and the providers of a process. Each run is a task with a `RunHandle`. Interfaces
read its events and its result; all its state is in the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

from sqlalchemy import Connection

from ..config.load import database_url
from ..config.schema import Settings
from ..core.decision import FINAL
from ..core.events import Event
from ..errors import ConfigError, NotFound, Running, Taken
from ..providers.registry import Providers
from ..store import Database
from ..store.money import ledger
from ..store.records import leases
from ..store.records import runs as store
from ..store.records.runs import WORKER
from .handle import RunHandle
from .journal import Inherited
from .learned import LearnedHistory
from .leases.lease import is_held, is_waiting, this_worker
from .leases.lease_keeper import LeaseKeeper
from .leases.local_runs import LocalRuns
from .options.key_limits import with_key_caps
from .resources import RunResources
from .run_rows import (
    Resumable,
    create_run,
    find_resumable,
    id_for_name,
    inherited_calls,
    new_id,
    new_row,
    prior_elapsed_s,
    run_started,
    take_over,
)
from .spec import LOCAL, Spec
from .spending.budget import budget_event

__all__ = ["Runner"]

T = TypeVar("T")
CANCEL_TRIES = 20
"""How often `cancel` tries to end a run that workers keep taking."""
STARTS = 8
"""Runs that start at the same time: each writes its first prompts at once, and other work waits."""


class Runner:
    """All runs of this process. Use as `async with Runner.open(settings) as runner`.

    worker: whether it is a `pnyx worker`, whose runs wait for another worker when it stops. local: its runs.
    """

    def __init__(
        self, settings: Settings, database: Database, providers: Providers, worker: bool = False
    ) -> None:
        self.settings, self.database, self.providers, self.worker = settings, database, providers, worker
        self._name = f"{WORKER}{this_worker()}" if worker else this_worker()
        self.local = LocalRuns()
        self.resources = RunResources(settings, providers, database)
        self._keeper = LeaseKeeper(database, self._name, self.local, "running" if worker else "paused")
        self._learned = LearnedHistory(database)
        self._starting = asyncio.Semaphore(STARTS)
        self.stopping = False
        self._background: set[asyncio.Task[object]] = set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, providers: Providers | None = None, worker: bool = False, create: bool = True
    ) -> AsyncIterator[Self]:
        """Open a runner on the database, see `Database.open`; at the end, its runs are interrupted."""
        database = await Database.open(database_url(settings), create=create)
        runner = cls(settings, database, providers or Providers(settings), worker)
        try:
            yield runner
        finally:
            await runner.close()

    @property
    def active(self) -> int:
        """The number of runs of this process."""
        return len(self.local)

    def drain(self, grace_s: float) -> None:
        """Pause every run, also those that start from now on; calls in flight have `grace_s` seconds."""
        self.stopping = True
        for handle in self.local.values():
            handle.pause(grace_s)

    async def drained(self) -> None:
        """Wait until every run has ended, after `drain`."""
        await asyncio.gather(*(handle.wait() for handle in self.local.values()))

    async def close(self) -> None:
        """Stop all runs at once, and close the providers and the database."""
        for handle in self.local.values():
            handle.kill()
        await self.drained()
        await self._keeper.close()
        if self._background:
            await asyncio.wait(self._background)
        await self.providers.close()
        await self.database.close()

    async def start(self, spec: Spec) -> RunHandle:
        """Record a new run and start it. Raises `UsageError`, `ConfigError`, `StoreError`."""
        spec.check()
        return await self._start_new(spec)

    async def get_or_start(self, spec: Spec, name: str, exactly: bool = False) -> RunHandle:
        """Return the run that its owner names `name`: a new one, the resumed one, or the finished one.

        So a process with many questions can be killed and start again from the first. spec: for a new run;
        for an existing one, its deadline, and its budget if that is larger. exactly: the existing run must
        have the same panel, protocol and options too, not only the same question. Raises `Taken` if it
        differs, else what `start` and `resume` raise.
        """

        async def reattach(row: store.RunRow) -> RunHandle:
            return self.local.get(row.id) or await self.resume(row.id, **spec.resume_arguments(row.spec))

        return await self._get_or_create(spec, name, reattach, self._start_new, exactly)

    async def _get_or_create(
        self,
        spec: Spec,
        name: str,
        reattach: Callable[[store.RunRow], Awaitable[T]],
        create: Callable[..., Awaitable[T]],
        exactly: bool,
    ) -> T:
        """Return `reattach` of the run of that name, or `create` of a new one if there is none."""
        try:
            return await reattach(await self.find_named(spec, name, exactly))
        except NotFound:
            spec.check()
        try:
            return await create(spec, run_id=id_for_name(spec.owner, name))
        except Taken:
            # Another process created it in between.
            return await reattach(await self.find_named(spec, name, exactly))

    async def find_named(self, spec: Spec, name: str, exactly: bool) -> store.RunRow:
        """Return the run that its owner names `name`. Raises `NotFound`, and `Taken` as `get_or_start`."""
        run_id = id_for_name(spec.owner, name)
        row = await self.database.read(lambda c: store.find(c, run_id, spec.owner))
        existing = Spec.from_json(row.check().spec, row.id)
        if existing.question != spec.question or (exactly and not existing.same_request(spec)):
            raise Taken(f"run {run_id} has this name or Idempotency-Key, and another request; use a new one")
        return row

    async def enqueue(self, spec: Spec, name: str | None = None) -> str:
        """Record a run for a worker and return its id. name, errors: as in `get_or_start`, with `exactly`."""

        async def reattach(row: store.RunRow) -> str:
            return await self.requeue(row.id, **spec.resume_arguments(row.spec))

        if name is not None:
            return await self._get_or_create(spec, name, reattach, self._record_new, True)
        spec.check()
        return await self._record_new(spec)

    async def requeue(
        self,
        prefix: str,
        *,
        budget_usd: float | None = None,
        deadline_s: float | None = None,
        fork: bool = False,
        owner: str | None = None,
    ) -> str:
        """Let a worker resume the run, and return its id. Arguments and errors: as in `resume`."""
        run = await self._find_resumable(prefix, owner, budget_usd=budget_usd, deadline_s=deadline_s)
        row, spec = run.row, run.spec
        if fork:
            spec.check()
            return await self._record_new(spec, forked_from=row.id)
        stored = Spec.from_json(row.check().spec, row.id)
        if row.status in FINAL or (is_waiting(row) and spec == stored):
            return row.id
        await self._check_resumable(run)
        result = self._existing_handle(row, spec, run.past).interim_result()

        def put(connection: Connection) -> None:
            epoch = take_over(connection, run, None, result, self.database.now(), by_owner=True)
            account = ledger.read_account(connection, run.budget.run_scope)
            events = [] if budget_usd is None else [budget_event("raised", account, self.database.now())]
            store.append(connection, row.id, epoch, events)

        await self.database.write(put)
        return row.id

    async def resume(
        self,
        prefix: str,
        *,
        budget_usd: float | None = None,
        deadline_s: float | None = None,
        fork: bool = False,
        owner: str | None = None,
    ) -> RunHandle:
        """Continue a run from its journal; a finished one is only returned.

        budget_usd: the new cap of the whole run. deadline_s: seconds from now; None: as many as before. fork:
        start a new run that reuses every recorded reply whose step has not changed. Raises `NotFound`,
        `Running`, and what `start` raises.
        """
        run = await self._find_resumable(prefix, owner, budget_usd=budget_usd, deadline_s=deadline_s)
        row, past, spec, budget = run
        if fork:
            spec.check()
            return await self._start_new(spec, forked_from=row.id)
        if row.status in FINAL:
            return self._handle(row.id, spec, row.epoch, past=past)
        await self._check_resumable(run)
        inherited = await inherited_calls(self.database, row.forked_from)
        run = run._replace(spec=self.resources.traced(spec))
        handle = self._existing_handle(row, run.spec, past, inherited)
        with self._keeper.ownership(row.id) as epochs:
            result, limits = handle.interim_result(), None if owner is None else self.settings
            take = partial(take_over, run=run, worker=self._name, result=result, limits=limits)
            take = partial(take, now=self.database.now(), by_owner=not self.worker, hold=handle.context.hold)
            await self._keeper.take(epochs, take)
            handle.context.write_off()  # requests that an earlier process left in flight
            if budget_usd is not None:
                account = await self.database.read(lambda c: ledger.read_account(c, budget.run_scope))
                await handle.context.journal.append(budget_event("raised", account, self.database.now()))
            return self._launch(handle)

    async def _find_resumable(self, prefix: str, owner: str | None, **changes: float | None) -> Resumable:
        updates = {name: value for name, value in changes.items() if value is not None}
        find = partial(find_resumable, prefix=prefix, owner=owner, changes=updates, settings=self.settings)
        run = await self.database.read(find)
        if run.row.stop == "cancel" and not (run.row.status in FINAL or is_held(run.row)):
            # The process that it was requested of ended before it could.
            await self.cancel(run.row.id)
            return await self._find_resumable(prefix, owner, **changes)
        return run

    async def _check_resumable(self, run: Resumable) -> None:
        """Raise `Running`, or why the run cannot continue in this process."""
        row = run.row
        if is_held(row):
            why = f"run {row.id} is still running ({row.worker}). Stop it with: pnyx cancel {row.id}"
            raise Running(row.id, why)
        run.spec.check()
        notes = await self.resources.prepare(run.spec)
        if self.resources.missing_tools(run.spec):
            raise ConfigError(f"run {row.id} uses tools that are not available: {'; '.join(notes)}")

    async def cancel(self, prefix: str, owner: str | None = None) -> str:
        """End a run for good, wherever it runs; return its id. Raises `Running` if workers keep taking it."""
        for _ in range(CANCEL_TRIES):
            row = await self.database.read(partial(store.find, prefix=prefix, owner=owner))
            # It may be about to pause, or a worker may take it in between: then try again.
            if await self._try_cancel(row):
                return row.id
        raise Running(row.id, f"workers keep taking run {row.id}. Try again: pnyx cancel {row.id}")

    async def _try_cancel(self, row: store.RunRow) -> bool:
        """Return whether the run has ended, or its process was requested to end it; False: try again."""
        local = self.local.get(row.id)
        if row.status in FINAL:
            return True
        if local is not None:
            local.cancel()
            await local.wait()
            await asyncio.sleep(0)
            return False
        if is_held(row):
            await self.database.write(lambda c: store.patch(c, row.id, {"stop": "cancel"}))
            row = await self.database.read(lambda c: store.find(c, row.id))
        if row.status not in FINAL and not is_held(row):
            try:
                async with self.taken(row) as handle:
                    await handle.end_cancelled()
            except Running:
                return False  # a worker was faster
        return True

    @asynccontextmanager
    async def taken(self, row: store.RunRow) -> AsyncIterator[RunHandle]:
        """Take a run that no process runs, to end or pause it in the block. Raises `Running`."""
        past = await self.database.read(lambda c: store.log(c, row.id))
        handle = self._existing_handle(row, Spec.from_json(row.check().spec, row.id), past)
        now = self.database.now()
        take = partial(leases.take, run_id=row.id, worker=self._name, now=now, seen=row, by_owner=False)
        with self._keeper.ownership(row.id) as epochs:
            await self._keeper.take(epochs, take)
            yield handle

    async def pause(self, run_id: str) -> None:
        """Pause a run, here or in another process; its owner can resume it."""
        if (local := self.local.get(run_id)) is not None:
            return local.pause()
        row = await self.database.read(lambda c: store.find(c, run_id))
        if is_held(row):
            await self.database.write(lambda c: store.patch(c, run_id, {"stop": "pause"}))
        else:
            await self.database.write(lambda c: leases.release(c, run_id, row.epoch))

    def forget(self, run_id: str, pause: bool = False) -> None:
        """Cancel or pause a run in the background, without waiting for it."""
        ending: Coroutine[Any, Any, object] = self.pause(run_id) if pause else self.cancel(run_id)
        task = asyncio.create_task(ending)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def find(self, run_id: str) -> RunHandle | None:
        """Return the handle of a run of this process, or None."""
        return self.local.get(run_id)

    async def _start_new(
        self, spec: Spec, forked_from: str | None = None, run_id: str | None = None
    ) -> RunHandle:
        async with self._new_run(spec, forked_from, run_id, self._name) as handle:
            return self._launch(handle)

    async def _record_new(self, spec: Spec, forked_from: str | None = None, run_id: str | None = None) -> str:
        async with self._new_run(spec, forked_from, run_id, None) as handle:
            return handle.run_id

    @asynccontextmanager
    async def _new_run(
        self, spec: Spec, forked_from: str | None, run_id: str | None, worker: str | None
    ) -> AsyncIterator[RunHandle]:
        """Record a new run. worker: the process that runs it; None: the first worker that takes it."""
        notes = await self.resources.prepare(spec)
        spec = self.resources.traced(await self._learned.apply(spec), here=worker is not None)
        if spec.owner != LOCAL:
            spec = await self.database.read(partial(with_key_caps, settings=self.settings, spec=spec))
        missing = self.resources.missing_tools(spec)
        spec = replace(spec, tools=tuple(name for name in spec.tools if name not in missing))
        row = new_row(run_id or new_id(), spec, forked_from, worker, self.database.now())
        inherited = await inherited_calls(self.database, forked_from)
        handle = self._handle(row.id, spec, row.epoch, inherited=inherited, notes=notes)

        def create(connection: Connection) -> None:
            epochs.clear()  # from an attempt that was rolled back
            create_run(connection, row, spec, None if worker is None else self.settings)
            handle.context.budget.open(connection, row.created_at)
            if worker is not None:
                handle.context.hold(connection, row.created_at)
            epochs.append(row.epoch)

        async with self._starting:
            # A run for a worker is not ours and stays as it is: a release checks the owner.
            with self._keeper.ownership(row.id) as epochs:
                await handle.context.journal.append(run_started(spec, row), ledger=create)
            yield handle

    def _existing_handle(
        self,
        row: store.RunRow,
        spec: Spec,
        past: Sequence[Event],
        inherited: Mapping[str, Inherited] | None = None,
    ) -> RunHandle:
        """Return the handle of an existing run, before it is taken: an error in this changes nothing."""
        # A run keeps its deadline when it goes from one worker to another.
        used_s = row.read_at - row.first_taken_at if self.worker and row.first_taken_at else 0.0
        context = {"past": past, "inherited": inherited, "used_s": used_s}
        return self._handle(row.id, spec, row.epoch + 1, elapsed_s=prior_elapsed_s(row, past), **context)

    def _handle(
        self, run_id: str, spec: Spec, epoch: int, elapsed_s: float = 0.0, **context: Any
    ) -> RunHandle:
        """Return a handle of a run. context: as for `RunResources.context`."""
        made = self.resources.context(run_id, spec, epoch, self.database, **context)
        return RunHandle(made, elapsed_s=elapsed_s, requeue_on_stop=self.worker)

    def _launch(self, handle: RunHandle) -> RunHandle:
        self.local.launched(handle)
        handle.launch(partial(self._ended, handle))
        if self.stopping:
            handle.interrupt()
        self._keeper.start()
        return handle

    def _ended(self, handle: RunHandle) -> None:
        self.local.ended(handle)
        if handle.needs_release:
            self._keeper.release_later(handle.run_id, [handle.context.journal.epoch])
