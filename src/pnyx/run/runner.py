"""Start, resume, fork, cancel: the one way in, whatever the door.

A `Runner` owns the database and the providers of a process. Each run is a task behind a
`RunHandle`; doors read its events and its result and leave nothing behind that is not in the journal.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, Self

from sqlalchemy import Connection

from .. import __version__
from ..config import database_url
from ..core.events import CallFinished, Event, RunStarted
from ..errors import ConfigError, NotFound, Running, StoreError, Taken
from ..protocols import grounding
from ..providers.registry import Providers
from ..settings import Settings
from ..store import Database, ledger
from ..store import runs as store
from ..tools import Toolbox
from ..tools.open import open_tools
from .budget import Purse, budget_event
from .calls import Caller
from .circuit import Circuits
from .experience import Experience
from .handle import FINAL, RunHandle
from .hedging import Hedging
from .journal import Journal
from .lease import BEAT_S, alive, this_worker
from .limits import Deadline, Gate, now
from .request import shared_caps
from .searching import TOOL as SEARCH
from .searching import note, searchless
from .spec import Spec

__all__ = ["Runner", "new_id"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
STARTS = 8
"""Runs that begin together: each writes its first prompts at once, and all else waits for those."""
POLL_S = 0.5
"""How often other processes' requests to stop are looked for, in seconds."""


class Runner:
    """All runs of this process. Use as `async with Runner.open(settings) as runner`."""

    def __init__(self, settings: Settings, database: Database, providers: Providers) -> None:
        self.settings, self.database, self.providers = settings, database, providers
        self._handles: dict[str, RunHandle] = {}
        self._gates = _Gates(settings)
        self._keeper: asyncio.Task[None] | None = None
        self._hedging = Hedging()
        self.circuits = Circuits()
        self._experience = Experience(database)
        self._toolbox = Toolbox()
        self._starting = asyncio.Semaphore(STARTS)
        self.stopping = False
        self._stranded: dict[str, int] = {}
        self._forgotten: set[asyncio.Task[str]] = set()

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, providers: Providers | None = None) -> AsyncIterator[Self]:
        """A runner on the configured database; on leaving, its runs are interrupted and saved."""
        database = await Database.open(database_url(settings))
        runner = cls(settings, database, providers or Providers(settings))
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
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        if self._forgotten:
            await asyncio.wait(self._forgotten)
        await self.providers.close()
        await self.database.close()

    async def start(self, spec: Spec) -> RunHandle:
        """Record a new run and start it. Raises `UsageError`, `ConfigError`, `StoreError`."""
        spec.check()
        return await self._begin(spec)

    async def once(self, spec: Spec, name: str) -> RunHandle:
        """The one run that its owner calls `name`: started, taken up again, or shown, where it is over.

        So whoever has many questions to put can be killed and begin again from the start. name: tells
        what is asked; spec: how, if it was not begun yet, and how long it may take. Raises as `start` and
        `resume` do.
        """
        run_id = new_id(f"{spec.owner}/{name}")
        try:
            return await self._again(run_id, spec)
        except NotFound:
            spec.check()
        try:
            return await self._begin(spec, run_id=run_id)
        except Taken:
            # Somebody began it in between: it is under way, or over.
            return await self._again(run_id, spec)

    async def _again(self, run_id: str, spec: Spec) -> RunHandle:
        """The run of that id, if it asks the same."""
        row = await self.database.read(lambda c: store.find(c, run_id, spec.owner))
        if row.question != spec.question:
            raise Taken(f"run {run_id} goes by this name, and asks something else")
        here = self._handles.get(run_id)
        return here or await self.resume(run_id, owner=spec.owner, deadline_s=spec.deadline_s)

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

        budget_usd: the new cap of the whole run. fork: a new run that keeps every recorded reply
        whose question is still the same. Raises `NotFound`, and `Running`.
        """
        row = await self.database.read(lambda c: store.find(c, prefix, owner))
        past = await self.database.read(lambda c: store.log(c, row.id))
        changes: dict[str, Any] = {"budget_usd": budget_usd, "deadline_s": deadline_s}
        given = {k: v for k, v in changes.items() if v is not None} | shared_caps(self.settings.budget)
        spec = replace(Spec.from_json(row.spec), **given)
        if fork:
            spec.check()
            inherited = {e.key: e for e in past if isinstance(e, CallFinished)}
            return await self._begin(spec, forked_from=row.id, inherited=inherited)
        if row.status in FINAL:
            return RunHandle(self.database, row.id, spec, past=past)
        if alive(row.worker, row.heartbeat_at, time.time()):
            raise Running(
                row.id, f"run {row.id} is still running ({row.worker}); `pnyx cancel {row.id}` stops it"
            )
        spec.check()
        notes = await self._prepare(spec)
        if self._off(spec):
            raise ConfigError(f"run {row.id} uses tools that are off now: {'; '.join(notes)}")
        # In one commit: what fails between the two would leave a run that nobody is running.
        epoch = await self._take(row, Purse(row.id, spec.caps))
        handle = self._handle(row.id, spec, epoch, past=past, spent_s=(row.result or {}).get("elapsed_s"))
        purse = handle.caller.purse
        handle.lost.extend(handle.caller.write_off())
        if budget_usd is not None:
            account = await self.database.read(lambda c: ledger.read_account(c, purse.run_scope))
            await handle.caller.journal.append(
                budget_event("raised", account, now()), columns={"spec": spec.to_json()}
            )
        return self._launch(handle)

    async def cancel(self, prefix: str, owner: str | None = None) -> str:
        """End a run for good, here or in another process. Returns its id. A finished one stays as it is."""
        row = await self.database.read(lambda c: store.find(c, prefix, owner))
        local = self._handles.get(row.id)
        if row.status in FINAL:
            return row.id
        if local is not None:
            local.cancel()
            await local.wait()
        elif alive(row.worker, row.heartbeat_at, time.time()):
            await self.database.write(lambda c: store.patch(c, row.id, {"stop": "cancel"}))
        else:
            past = await self.database.read(lambda c: store.log(c, row.id))
            spent_s = (row.result or {}).get("elapsed_s")
            handle = self._handle(
                row.id, Spec.from_json(row.spec), await self._take(row), past=past, spent_s=spent_s
            )
            await handle.end_cancelled()
        return row.id

    async def _take(self, row: store.RunRow, purse: Purse | None = None) -> int:
        """The run's new epoch. Raises `Running` where somebody took it up since it was looked at.

        purse: whose accounts get the caps that hold now.
        """

        def take(connection: Connection) -> int:
            epoch = store.take(connection, row.id, this_worker(), now(), time.time(), row.epoch)
            if purse is not None:
                purse.open(connection, now())
            return epoch

        return await self.database.write(take)

    def forget(self, run_id: str) -> None:
        """Cancel a run that nobody waits for any more, without waiting either."""
        task = asyncio.create_task(self.cancel(run_id))
        self._forgotten.add(task)
        task.add_done_callback(self._forgotten.discard)

    def find(self, run_id: str) -> RunHandle | None:
        """The handle of a run that this process is running."""
        return self._handles.get(run_id)

    async def _begin(
        self,
        spec: Spec,
        forked_from: str | None = None,
        inherited: Mapping[str, CallFinished] | None = None,
        run_id: str | None = None,
    ) -> RunHandle:
        notes = await self._prepare(spec)
        spec = await self._experience.applied(spec)
        off = self._off(spec)
        spec = replace(spec, tools=tuple(name for name in spec.tools if name not in off))
        row = _row(run_id or new_id(), spec, forked_from)
        handle = self._handle(row.id, spec, row.epoch, inherited=inherited)
        handle.notes = notes

        def create(connection: Connection) -> None:
            store.create(connection, row)
            handle.caller.purse.open(connection, row.created_at)

        async with self._starting:
            await handle.caller.journal.append(_started(spec, forked_from), ledger=create)
            return self._launch(handle)

    async def _prepare(self, spec: Spec) -> tuple[str, ...]:
        """Open the run's tools and say which are off, and why.

        Raises now what a seat's provider lacks, such as its key, or the search that the run is to be
        grounded on: not after others were paid.
        """
        for seat in spec.seats:
            self.providers.get(seat.provider)
        lacking = await searchless(spec.seats, self.providers.get) if spec.searches else ()
        needed = (*spec.tools, grounding.TOOL) if spec.ground else spec.tools
        if spec.searches and not lacking:
            needed = tuple(name for name in needed if name != SEARCH)
        notes: tuple[str, ...] = ()
        if missing := [name for name in needed if name not in self._toolbox.tools]:
            opened, notes = await asyncio.to_thread(open_tools, self.settings.tools, os.environ, missing)
            self._toolbox = Toolbox({**self._toolbox.tools, **opened.tools})
        if spec.ground and grounding.TOOL not in self._toolbox.tools:
            raise ConfigError(f"--ground needs a search service; {notes[-1]}")
        return (*notes, note(lacking, SEARCH in self._toolbox.tools)) if lacking else notes

    def _off(self, spec: Spec) -> set[str]:
        """Tools of the run that cannot be had here; a search is, where seats' hosts make it."""
        return set(spec.tools) - self._toolbox.tools.keys() - ({SEARCH} if spec.searches else set())

    def _handle(
        self,
        run_id: str,
        spec: Spec,
        epoch: int,
        *,
        past: Sequence[Event] = (),
        inherited: Mapping[str, CallFinished] | None = None,
        spent_s: float | None = None,
    ) -> RunHandle:
        handle = RunHandle(self.database, run_id, spec, past=past, spent_s=spent_s or 0.0)
        handle.caller = Caller(
            journal=Journal(
                self.database,
                run_id,
                epoch,
                past=past,
                inherited=inherited,
                observe=handle.summary.add,
                publish=handle.publish,
                on_stop=lambda stop: handle.cancel(),
            ),
            purse=Purse(run_id, spec.caps, spec.search_price),
            seats=spec.seats,
            quorum=spec.quorum,
            limits=spec.limits,
            deadline=Deadline.after(spec.deadline_s),
            gates=self._gates,
            open_provider=self.providers.get,
            # What was opened for another run is not for this one, whatever its models ask for.
            toolbox=self._toolbox.only((*spec.tools, grounding.TOOL) if spec.ground else spec.tools),
            hedging=self._hedging,
            circuits=self.circuits,
            redact=self.providers.redact,
            searches=spec.searches,
            warn_usd=spec.warn_usd,
            spent_nusd=handle.spent_nusd,
        )
        return handle

    def _launch(self, handle: RunHandle) -> RunHandle:
        self._handles[handle.run_id] = handle
        handle.launch(partial(self._ended, handle))
        if self.stopping:
            handle.interrupt()
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
        return handle

    def _ended(self, handle: RunHandle) -> None:
        if self._handles.get(handle.run_id) is handle:
            del self._handles[handle.run_id]
        if handle.stranded:
            self._stranded[handle.run_id] = handle.caller.journal.epoch

    async def _keep(self) -> None:
        """Renew the lease of our runs, and hear when another process wants one stopped."""
        beat = 0.0
        while True:
            await asyncio.sleep(POLL_S)
            with suppress(StoreError):  # a database that is away comes back, or the next write says so
                for run_id, epoch in list(self._stranded.items()):
                    await self.database.write(partial(store.release, run_id=run_id, epoch=epoch, now=now()))
                    del self._stranded[run_id]
                if not self._handles:
                    continue
                if time.monotonic() - beat > BEAT_S:
                    beat = time.monotonic()
                    await self.database.write(lambda c: store.beat(c, this_worker(), time.time()))
                for run_id in await self.database.read(lambda c: store.stopped(c, this_worker())):
                    if run_id in self._handles:
                        self._handles[run_id].cancel()


class _Gates(dict[str, Gate]):
    """One gate per provider, made when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    def __missing__(self, name: str) -> Gate:
        provider = self._settings.provider(name)
        self[name] = Gate(provider.concurrency, provider.requests_per_minute)
        return self[name]


def _started(spec: Spec, forked_from: str | None) -> RunStarted:
    return RunStarted(
        time=now(),
        question=spec.question,
        protocol=spec.protocol,
        seats=tuple({"seat": s.label, "model": s.model, "role": s.role} for s in spec.seats),
        options=spec.options,
        seed=spec.seed,
        budget_usd=spec.budget_usd,
        deadline_s=spec.deadline_s,
        version=__version__,
        forked_from=forked_from,
    )


def _row(run_id: str, spec: Spec, forked_from: str | None) -> store.RunRow:
    return store.RunRow.new(
        run_id,
        spec.owner,
        now(),
        spec.protocol,
        spec.question,
        spec.to_json(),
        worker=this_worker(),
        heartbeat_at=time.time(),
        forked_from=forked_from,
    )


def new_id(name: str | None = None) -> str:
    """For a run or a conversation: twelve letters and digits, random so that a short prefix is unique.

    name: gives the same id each time, as unlike others as a random one.
    """
    drawn = secrets.token_bytes(12) if name is None else sha256(name.encode()).digest()[:12]
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in drawn)
