"""Starts, resumes, forks and cancels runs, for every interface.

A `Runner` owns the database and the providers of a process. Each run is a task with a `RunHandle`. Interfaces
read its events and its result; all its state is in the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Self, TypeVar

from sqlalchemy import Connection

from ..config.load import database_url
from ..config.schema import Settings
from ..core.decision import FINAL
from ..errors import ConfigError, NotFound, Running, Taken
from ..providers.registry import Providers
from ..store import Database
from ..store.money import ledger
from ..store.records import leases
from ..store.records import runs as store
from .handle import RunHandle
from .leases.lease import is_held, is_waiting
from .leases.local_runs import LocalRuns
from .leases.ownership import Ownership
from .resources import RunResources
from .run_rows import Resumable, find_resumable, id_for_name, take_over
from .spec import Spec
from .spending.budget import budget_event

__all__ = ["Runner"]

T = TypeVar("T")
CANCEL_TRIES = 20
"""How often `cancel` tries to end a run that workers keep taking."""


class Runner:
    """All runs of this process. Use as `async with Runner.open(settings) as runner`.

    worker: whether it is a `pnyx worker`, whose runs wait for another worker when it stops. local: its runs.
    """

    def __init__(
        self, settings: Settings, database: Database, providers: Providers, *, worker: bool = False
    ) -> None:
        self.settings, self.database, self.providers = settings, database, providers
        self.local = LocalRuns()
        self.resources = RunResources(settings, providers, database)
        self.ownership = Ownership(database, self.resources, self.local, worker=worker)
        self.stopping = False
        self._background: set[asyncio.Task[object]] = set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        providers: Providers | None = None,
        *,
        worker: bool = False,
        create: bool = True,
    ) -> AsyncIterator[Self]:
        """Open a runner on the database, see `Database.open`; at the end, its runs are interrupted."""
        database = await Database.open(database_url(settings), create=create)
        runner = cls(settings, database, providers or Providers(settings), worker=worker)
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
        await self.ownership.keeper.close()
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
        result = self.ownership.existing_handle(row, spec, run.past).interim_result()

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
        if fork:
            run.spec.check()
            return await self._start_new(run.spec, forked_from=run.row.id)
        if run.row.status in FINAL:
            return self.ownership.finished_handle(run)
        await self._check_resumable(run)
        async with self.ownership.resumed(run, owner=owner, budget_usd=budget_usd) as handle:
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
                async with self.ownership.taken(row) as handle:
                    await handle.end_cancelled()
            except Running:
                return False  # a worker was faster
        return True

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
        self, spec: Spec, *, run_id: str | None = None, forked_from: str | None = None
    ) -> RunHandle:
        async with self.ownership.recorded(spec, run_id=run_id, forked_from=forked_from) as handle:
            return self._launch(handle)

    async def _record_new(
        self, spec: Spec, *, run_id: str | None = None, forked_from: str | None = None
    ) -> str:
        new = self.ownership.recorded(spec, run_id=run_id, forked_from=forked_from, queued=True)
        async with new as handle:
            return handle.run_id

    def _launch(self, handle: RunHandle) -> RunHandle:
        self.local.launched(handle)
        handle.launch(partial(self._ended, handle))
        if self.stopping:
            handle.interrupt()
        self.ownership.keeper.start()
        return handle

    def _ended(self, handle: RunHandle) -> None:
        self.local.ended(handle)
        if handle.needs_release:
            self.ownership.keeper.release_later(handle.run_id, [handle.context.journal.epoch])
