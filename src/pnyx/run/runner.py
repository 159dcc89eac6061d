"""Start, resume, fork, cancel: the one way in, whatever the door.

A `Runner` owns the database and the providers of a process. Each run is a task behind a
`RunHandle`; doors read its events and its result and leave nothing behind that is not in the journal.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

from sqlalchemy import Connection

from ..config.load import database_url
from ..config.schema import Settings
from ..core.decision import FINAL
from ..core.events import CallFinished, Event
from ..errors import ConfigError, NotFound, Running, Taken
from ..providers.registry import Providers
from ..store import Database, ledger
from ..store import runs as store
from ..store.runs import WORKER
from .budget import budget_event
from .handle import RunHandle
from .learned import LearnedHistory
from .lease import held, this_worker, waiting
from .lease_keeper import LeaseKeeper
from .limits import now
from .resolve import shared_caps
from .resources import RunResources
from .run_rows import (
    Resumable,
    inherited_calls,
    named_id,
    new_id,
    new_row,
    resumable,
    run_started,
    spent_s,
    take_up,
)
from .spec import Spec

__all__ = ["Runner"]

T = TypeVar("T")
CANCEL_TRIES = 20
"""How often `cancel` looks at a run that is taken up again before it could be ended."""
STARTS = 8
"""Runs that begin together: each writes its first prompts at once, and all else waits for those."""


class Runner:
    """All runs of this process. Use as `async with Runner.open(settings) as runner`.

    worker: whether it is a `pnyx worker`, whose runs wait for another one when it stops.
    """

    def __init__(
        self, settings: Settings, database: Database, providers: Providers, worker: bool = False
    ) -> None:
        self.settings, self.database, self.providers = settings, database, providers
        self.worker = worker
        self._name = f"{WORKER}{this_worker()}" if worker else this_worker()
        self._handles: dict[str, RunHandle] = {}
        self.resources = RunResources(settings, providers)
        self._keeper = LeaseKeeper(database, self._name, self._handles, "running" if worker else "paused")
        self._experience = LearnedHistory(database)
        self._starting = asyncio.Semaphore(STARTS)
        self.stopping = False
        self._forgotten: set[asyncio.Task[object]] = set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, providers: Providers | None = None, *, worker: bool = False
    ) -> AsyncIterator[Self]:
        """A runner on the configured database; on leaving, its runs are interrupted and saved."""
        database = await Database.open(database_url(settings))
        runner = cls(settings, database, providers or Providers(settings), worker)
        try:
            yield runner
        finally:
            await runner.close()

    @property
    def active(self) -> int:
        """Runs under way here."""
        return len(self._handles)

    def drain(self, grace_s: float) -> None:
        """Pause every run, also what begins from now on; calls in flight have `grace_s` seconds."""
        self.stopping = True
        for handle in self._handles.values():
            handle.interrupt()
            asyncio.get_running_loop().call_later(grace_s, handle.kill)

    async def close(self) -> None:
        for handle in self._handles.values():
            handle.kill()
        for handle in list(self._handles.values()):
            await handle.wait()
        await self._keeper.close()
        if self._forgotten:
            await asyncio.wait(self._forgotten)
        await self.providers.close()
        await self.database.close()

    async def start(self, spec: Spec) -> RunHandle:
        """Record a new run and start it. Raises `UsageError`, `ConfigError`, `StoreError`."""
        spec.check()
        return await self._begin(spec)

    async def once(self, spec: Spec, name: str, exactly: bool = False) -> RunHandle:
        """The one run that its owner calls `name`: started, taken up again, or shown, where it is over.

        So whoever has many questions to put can be killed and begin again from the start. name: tells
        what is asked; spec: how, if it was not begun yet, how long it may take, and what it may cost where
        that is more than before. exactly: refuse one that was begun with another panel, protocol or options,
        not with another question alone. Raises `Taken` then, else as `start` and `resume` do.
        """

        async def again(row: store.RunRow) -> RunHandle:
            return self._handles.get(row.id) or await self.resume(row.id, **spec.going_on(row.spec))

        return await self._once(spec, name, again, self._begin, exactly)

    async def _once(
        self,
        spec: Spec,
        name: str,
        again: Callable[[store.RunRow], Awaitable[T]],
        begin: Callable[..., Awaitable[T]],
        exactly: bool,
    ) -> T:
        """What `again` makes of the run of that name, if it asks the same, or `begin` where there is none."""
        try:
            return await again(await self.named(spec, name, exactly))
        except NotFound:
            spec.check()
        try:
            return await begin(spec, run_id=named_id(spec.owner, name))
        except Taken:
            # Somebody began it in between: it is under way, or over.
            return await again(await self.named(spec, name, exactly))

    async def named(self, spec: Spec, name: str, exactly: bool = False) -> store.RunRow:
        """The run that the owner of `spec` calls `name`. Raises `NotFound`, and `Taken` as `once` does."""
        run_id = named_id(spec.owner, name)
        row = await self.database.read(lambda c: store.find(c, run_id, spec.owner))
        known = Spec.from_json(row.check().spec, row.id)
        if known.question != spec.question or (exactly and not known.same_request(spec)):
            raise Taken(f"run {run_id} goes by this name, and asks something else")
        return row

    async def enqueue(self, spec: Spec, name: str | None = None) -> str:
        """Record a new run for a worker to carry out; its id. name: as for `once`, exactly so. Errors too."""

        async def again(row: store.RunRow) -> str:
            return await self.requeue(row.id, **spec.going_on(row.spec))

        if name is not None:
            return await self._once(spec, name, again, self._record, True)
        spec.check()
        return await self._record(spec)

    async def requeue(
        self,
        prefix: str,
        *,
        budget_usd: float | None = None,
        deadline_s: float | None = None,
        fork: bool = False,
        owner: str | None = None,
    ) -> str:
        """`resume`, left to the first worker that takes the run up; its id. Raises as that does."""
        run = await self._found(prefix, owner, budget_usd=budget_usd, deadline_s=deadline_s)
        row, spec = run.row, run.spec
        if fork:
            spec.check()
            return await self._record(spec, forked_from=row.id)
        known = Spec.from_json(row.check().spec, row.id)
        if row.status in FINAL or (waiting(row, time.time()) and spec == known):
            return row.id
        await self._check_resumable(run)
        so_far = self._again(row, spec, run.past).so_far()

        def put(connection: Connection) -> None:
            epoch = take_up(connection, run, None, so_far)
            account = ledger.read_account(connection, run.budget.run_scope)
            raised = [] if budget_usd is None else [budget_event("raised", account, now())]
            store.append(connection, row.id, epoch, raised)

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
        """Go on with a run that is not over, from its journal; a finished one is only shown again.

        budget_usd: the new cap of the whole run. deadline_s: seconds from now on; None: as many as before,
        from now on. fork: a new run that keeps every recorded reply whose question is still the same.
        Raises `NotFound`, and `Running`.
        """
        run = await self._found(prefix, owner, budget_usd=budget_usd, deadline_s=deadline_s)
        row, past, spec, budget = run
        if fork:
            spec.check()
            return await self._begin(spec, forked_from=row.id)
        if row.status in FINAL:
            return self._handle(row.id, spec, row.epoch, past=past)
        await self._check_resumable(run)
        inherited = await inherited_calls(self.database, row.forked_from)
        handle = self._again(row, spec, past, inherited)
        with self._keeper.ours(row.id) as taken:
            take = partial(take_up, run=run, worker=self._name, so_far=handle.so_far())
            await self._keeper.take(taken, take)
            handle.write_off()
            if budget_usd is not None:
                account = await self.database.read(lambda c: ledger.read_account(c, budget.run_scope))
                await handle.context.journal.append(budget_event("raised", account, now()))
            return self._launch(handle)

    async def _found(self, prefix: str, owner: str | None, **changes: float | None) -> Resumable:
        told = {name: value for name, value in changes.items() if value is not None}
        told |= shared_caps(self.settings)
        run = await self.database.read(partial(resumable, prefix=prefix, owner=owner, changes=told))
        if run.row.stop == "cancel" and not (run.row.status in FINAL or held(run.row)):
            # It was asked of a process that did not live to hear it.
            await self.cancel(run.row.id)
            return await self._found(prefix, owner, **changes)
        return run

    async def _check_resumable(self, run: Resumable) -> None:
        """Raises `Running`, and what keeps the run from going on here."""
        row = run.row
        if held(row):
            raise Running(
                row.id, f"run {row.id} is still running ({row.worker}); `pnyx cancel {row.id}` stops it"
            )
        run.spec.check()
        notes = await self.resources.prepare(run.spec)
        if self.resources.off(run.spec):
            raise ConfigError(f"run {row.id} uses tools that are off now: {'; '.join(notes)}")

    async def cancel(self, prefix: str, owner: str | None = None) -> str:
        """End a run for good, wherever it runs; its id. Raises `Running` where it is taken up each time."""
        for _ in range(CANCEL_TRIES):
            row = await self.database.read(partial(store.find, prefix=prefix, owner=owner))
            # It may be about to pause, or a worker may take it up in between: then look again.
            if await self._try_cancel(row):
                return row.id
        raise Running(row.id, f"run {row.id} is taken up again at once; try `pnyx cancel {row.id}` again")

    async def _try_cancel(self, row: store.RunRow) -> bool:
        """Whether the run is over, or its process has been asked to end it; False: look at it again."""
        local = self._handles.get(row.id)
        if row.status in FINAL:
            return True
        if local is not None:
            local.cancel()
            await local.wait()
            await asyncio.sleep(0)
            return False
        if held(row):
            await self.database.write(lambda c: store.patch(c, row.id, {"stop": "cancel"}))
            row = await self.database.read(lambda c: store.find(c, row.id))
        if row.status not in FINAL and not held(row):
            past = await self.database.read(lambda c: store.log(c, row.id))
            handle = self._again(row, Spec.from_json(row.check().spec, row.id), past)
            take = partial(
                store.take, run_id=row.id, worker=self._name, now=now(), beat_at=time.time(), seen=row
            )
            try:
                with self._keeper.ours(row.id) as taken:
                    await self._keeper.take(taken, take)
                    await handle.end_cancelled()
            except Running:
                return False  # a worker was faster
        return True

    async def pause(self, run_id: str) -> None:
        """Have a run stop at once where it is, for its owner to go on with, here or in another process."""
        if (local := self._handles.get(run_id)) is not None:
            return local.kill()
        row = await self.database.read(lambda c: store.find(c, run_id))
        if held(row):
            await self.database.write(lambda c: store.patch(c, run_id, {"stop": "pause"}))
        else:
            await self.database.write(lambda c: store.release(c, run_id, row.epoch))

    def forget(self, run_id: str, pause: bool = False) -> None:
        """Cancel, or pause, a run that nobody waits for any more, without waiting either."""
        ending: Coroutine[Any, Any, object] = self.pause(run_id) if pause else self.cancel(run_id)
        task = asyncio.create_task(ending)
        self._forgotten.add(task)
        task.add_done_callback(self._forgotten.discard)

    def find(self, run_id: str) -> RunHandle | None:
        """The handle of a run that this process is running."""
        return self._handles.get(run_id)

    async def _begin(
        self, spec: Spec, forked_from: str | None = None, run_id: str | None = None
    ) -> RunHandle:
        async with self._beginning(spec, forked_from, run_id, self._name) as handle:
            return self._launch(handle)

    async def _record(self, spec: Spec, forked_from: str | None = None, run_id: str | None = None) -> str:
        async with self._beginning(spec, forked_from, run_id, None) as handle:
            return handle.run_id

    @asynccontextmanager
    async def _beginning(
        self, spec: Spec, forked_from: str | None, run_id: str | None, worker: str | None
    ) -> AsyncIterator[RunHandle]:
        """A new run, recorded. worker: who runs it; None: the first one that takes it up."""
        notes = await self.resources.prepare(spec)
        spec = await self._experience.applied(spec)
        off = self.resources.off(spec)
        spec = replace(spec, tools=tuple(name for name in spec.tools if name not in off))
        row = new_row(run_id or new_id(), spec, forked_from, worker)
        inherited = await inherited_calls(self.database, forked_from)
        handle = self._handle(row.id, spec, row.epoch, inherited=inherited, notes=notes)

        def create(connection: Connection) -> None:
            taken.clear()
            store.create(connection, row)
            handle.context.budget.open(connection, row.created_at)
            taken.append(row.epoch)

        async with self._starting:
            # One that is left to a worker is not ours, and stays as it is: letting go looks at whose it is.
            with self._keeper.ours(row.id) as taken:
                await handle.context.journal.append(run_started(spec, row), ledger=create)
            yield handle

    def _again(
        self,
        row: store.RunRow,
        spec: Spec,
        past: Sequence[Event],
        inherited: Mapping[str, CallFinished] | None = None,
    ) -> RunHandle:
        """The handle of a run that is there, before it is taken: what fails in making it leaves it alone."""
        return self._handle(
            row.id, spec, row.epoch + 1, past=past, inherited=inherited, spent_s=spent_s(row, past)
        )

    def _handle(
        self,
        run_id: str,
        spec: Spec,
        epoch: int,
        *,
        past: Sequence[Event] = (),
        inherited: Mapping[str, CallFinished] | None = None,
        spent_s: float = 0.0,
        notes: tuple[str, ...] = (),
    ) -> RunHandle:
        context = self.resources.context(
            run_id, spec, epoch, self.database, past=past, inherited=inherited, notes=notes
        )
        return RunHandle(context, spent_s=spent_s, gives_back=self.worker)

    def _launch(self, handle: RunHandle) -> RunHandle:
        self._handles[handle.run_id] = handle
        handle.launch(partial(self._ended, handle))
        if self.stopping:
            handle.interrupt()
        self._keeper.start()
        return handle

    def _ended(self, handle: RunHandle) -> None:
        if self._handles.get(handle.run_id) is handle:
            del self._handles[handle.run_id]
        if handle.stranded:
            self._keeper.let_go(handle.run_id, [handle.context.journal.epoch])
