"""Records new runs and takes over existing ones, so that one process at a time writes a run.

What it yields is a handle that has not been launched: the runner launches it, ends it or only records it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection

from ...core.events import Event
from ...store import Database
from ...store.money import ledger
from ...store.records import leases
from ...store.records import runs as store
from ...store.records.runs import WORKER
from ..handle import RunHandle
from ..journal import Inherited
from ..learned import LearnedHistory
from ..options.key_limits import with_key_caps
from ..resources import RunResources
from ..run_rows import (
    Resumable,
    create_run,
    inherited_calls,
    new_id,
    new_row,
    prior_elapsed_s,
    run_started,
    take_over,
)
from ..spec import LOCAL, Spec
from ..spending.budget import budget_event
from .lease import this_worker
from .lease_keeper import LeaseKeeper
from .local_runs import LocalRuns

__all__ = ["Ownership"]

STARTS = 8
"""Runs that start at the same time: each writes its first prompts at once, and other work waits."""


class Ownership:
    """The runs that this process owns.

    local: those that it has launched. worker: whether it is a `pnyx worker`. keeper: keeps them its own.
    """

    def __init__(
        self, database: Database, resources: RunResources, local: LocalRuns, *, worker: bool
    ) -> None:
        self._database, self._resources, self._worker = database, resources, worker
        self._settings = resources.settings
        self._name = f"{WORKER}{this_worker()}" if worker else this_worker()
        self.keeper = LeaseKeeper(database, self._name, local, "running" if worker else "paused")
        self._learned = LearnedHistory(database)
        self._starting = asyncio.Semaphore(STARTS)

    @asynccontextmanager
    async def recorded(
        self, spec: Spec, *, run_id: str | None = None, forked_from: str | None = None, queued: bool = False
    ) -> AsyncIterator[RunHandle]:
        """Record a new run. queued: for the first worker that takes it; else it is this process's.

        Raises `Taken`, `OverLimit`, `ConfigError`, `StoreError`.
        """
        notes = await self._resources.prepare(spec)
        spec = self._resources.traced(await self._learned.apply(spec), here=not queued)
        if spec.owner != LOCAL:
            spec = await self._database.read(partial(with_key_caps, settings=self._settings, spec=spec))
        if missing := self._resources.missing_tools(spec):
            spec = replace(spec, tools=tuple(name for name in spec.tools if name not in missing))
        worker = None if queued else self._name
        row = new_row(run_id or new_id(), spec, forked_from, worker, self._database.now())
        inherited = await inherited_calls(self._database, forked_from)
        handle = self._handle(row.id, spec, row.epoch, inherited=inherited, notes=notes)

        def create(connection: Connection) -> None:
            epochs.clear()  # from an attempt that was rolled back
            create_run(connection, row, spec, None if queued else self._settings)
            handle.context.budget.open(connection, row.created_at)
            if not queued:
                handle.context.hold(connection, row.created_at)
            epochs.append(row.epoch)

        async with self._starting:
            # A run for a worker is not ours and stays as it is: a release checks the owner.
            with self.keeper.ownership(row.id) as epochs:
                await handle.context.journal.append(run_started(spec, row), ledger=create)
            yield handle

    @asynccontextmanager
    async def resumed(
        self, run: Resumable, *, owner: str | None, budget_usd: float | None
    ) -> AsyncIterator[RunHandle]:
        """Take a run to continue it in the block; it is released if that raises. Raises `Running`.

        owner: its key, whose limits it has; None: no limits. budget_usd: the new cap, for its record.
        """
        inherited = await inherited_calls(self._database, run.row.forked_from)
        run = run._replace(spec=self._resources.traced(run.spec))
        handle = self.existing_handle(run.row, run.spec, run.past, inherited)
        with self.keeper.ownership(run.row.id) as epochs:
            result, limits = handle.interim_result(), None if owner is None else self._settings
            take = partial(take_over, run=run, worker=self._name, result=result, limits=limits)
            take = partial(take, now=self._database.now(), by_owner=not self._worker)
            await self.keeper.take(epochs, partial(take, hold=handle.context.hold))
            handle.context.write_off()  # requests that an earlier process left in flight
            if budget_usd is not None:
                account = await self._database.read(lambda c: ledger.read_account(c, run.budget.run_scope))
                await handle.context.journal.append(budget_event("raised", account, self._database.now()))
            yield handle

    @asynccontextmanager
    async def taken(self, row: store.RunRow) -> AsyncIterator[RunHandle]:
        """Take a run that no process runs, to end or pause it in the block. Raises `Running`."""
        past = await self._database.read(lambda c: store.log(c, row.id))
        handle = self.existing_handle(row, Spec.from_json(row.check().spec, row.id), past)
        now = self._database.now()
        take = partial(leases.take, run_id=row.id, worker=self._name, now=now, seen=row, by_owner=False)
        with self.keeper.ownership(row.id) as epochs:
            await self.keeper.take(epochs, take)
            yield handle

    def existing_handle(
        self,
        row: store.RunRow,
        spec: Spec,
        past: Sequence[Event],
        inherited: Mapping[str, Inherited] | None = None,
    ) -> RunHandle:
        """Return the handle of an existing run, before it is taken: an error in this changes nothing."""
        # A run keeps its deadline when it goes from one worker to another.
        used_s = row.read_at - row.first_taken_at if self._worker and row.first_taken_at else 0.0
        context = {"past": past, "inherited": inherited, "used_s": used_s}
        return self._handle(row.id, spec, row.epoch + 1, elapsed_s=prior_elapsed_s(row, past), **context)

    def finished_handle(self, run: Resumable) -> RunHandle:
        """Return the handle of a run that is over."""
        return self._handle(run.row.id, run.spec, run.row.epoch, past=run.past)

    def _handle(
        self, run_id: str, spec: Spec, epoch: int, elapsed_s: float = 0.0, **context: Any
    ) -> RunHandle:
        """Return a handle of a run. context: as for `RunResources.context`."""
        made = self._resources.context(run_id, spec, epoch, self._database, **context)
        return RunHandle(made, elapsed_s=elapsed_s, requeue_on_stop=self._worker)
