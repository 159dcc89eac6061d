"""The journal of one run: its stored events, read back and appended to.

`call_started` is the intent, committed together with its reservation before the request is sent;
`call_finished` or a final `call_failed` is the outcome, committed together with its settlement
before anything that follows from it leaves the process. Nothing recorded is performed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from ..core.events import (
    BranchesClosed,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    SeatAbstained,
    SeatDropped,
    ToolCalled,
    VoteTallied,
    closed_branches,
)
from ..errors import Diverged
from ..store import Database
from ..store import runs as store

__all__ = ["Journal", "Outcome", "within"]

Outcome = CallFinished | CallFailed
Done = Outcome | ToolCalled


@dataclass(eq=False)
class _Unit:
    """What is committed at once. order: it may write buffered events below this number."""

    order: int
    written: list[Event] = field(default_factory=list)
    future: asyncio.Future[Any] | None = None

    @property
    def refused(self) -> bool:
        """Whether it was rolled back for good."""
        future = self.future
        return future is not None and future.done() and (future.cancelled() or future.exception() is not None)


@dataclass(eq=False)
class _Buffered:
    """An event that waits for a unit. order: its place among buffered events. unit: which writes it."""

    event: Event
    order: int
    unit: _Unit | None = None

    def is_free_for(self, unit: _Unit) -> bool:
        return self.unit is None or self.unit is unit or self.unit.refused


class Journal:
    """What a run has recorded, by key; and the only way to record more.

    past: the stored events. inherited: finished calls of the run that this one was forked from.
    observe: called once with every event, past ones too, when it is certain. publish: called with
    every new one and its `seq`, in order, after its commit; None: it is not stored. on_stop: called
    with what another process asks of this run ("cancel" or "pause").
    """

    def __init__(
        self,
        database: Database,
        run_id: str,
        epoch: int,
        *,
        past: Sequence[Event] = (),
        inherited: Mapping[str, CallFinished] | None = None,
        observe: Callable[[Event], object] = lambda event: None,
        publish: Callable[[Event, int | None], object] = lambda event, seq: None,
        on_stop: Callable[[str], None] = lambda stop: None,
    ) -> None:
        self.database, self.run_id, self.epoch = database, run_id, epoch
        self.inherited = inherited or {}
        self.seq = 0
        self.answer: str | None = None
        self.dropped: dict[str, str] = {}
        self._observe, self._publish, self._on_stop = observe, publish, on_stop
        self._started: dict[str, CallStarted] = {}
        self._open: dict[tuple[str, int], CallStarted] = {}
        self._outcomes: dict[str, Done] = {}
        self._entered: set[str] = set()
        self._closed: set[str] = set()
        self._buffer: list[_Buffered] = []
        self._order = 0
        self._failure: BaseException | None = None
        self._queued = 0
        for event in past:
            self._read(event)

    def outcome(self, key: str, fingerprint: str) -> Outcome | None:
        """What is recorded of the ask at `key`, or None. Raises `Diverged` when it was another step."""
        found = self._at(key, fingerprint)
        return None if isinstance(found, ToolCalled) else found

    def result(self, key: str, fingerprint: str) -> ToolCalled | None:
        """The same for the use of a tool."""
        found = self._at(key, fingerprint)
        return found if isinstance(found, ToolCalled) else None

    def _at(self, key: str, fingerprint: str) -> Done | None:
        known = self._started.get(key) or self._outcomes.get(key)
        if known is not None and known.fingerprint != fingerprint:
            raise Diverged(
                f"run {self.run_id} asks something else at step {key} than it did before (a prompt or a "
                f"protocol changed); `pnyx resume {self.run_id} --fork` keeps what still matches"
            )
        return self._outcomes.get(key)

    def attempts(self, key: str) -> int:
        """How many requests were sent for the step so far."""
        return self._started[key].attempt if key in self._started else 0

    def in_flight(self) -> list[CallStarted]:
        """Requests whose outcome was never recorded: the process died, or was told to stop at once."""
        return list(self._open.values())

    def entered(self, key: str) -> bool:
        """Whether the phase or the count at `key` is recorded."""
        return key in self._entered

    def closed(self, key: str) -> bool:
        """Whether the step at `key` is in a branch that was given up."""
        return any(within(key, branch) for branch in self._closed)

    def later(self, event: Event) -> None:
        """Record `event` with the next unit that commits: for what a replay would find again by itself."""
        self._buffer.append(_Buffered(event, self._order))
        self._order += 1
        self._read(event)

    async def append(
        self,
        *batch: Event,
        ledger: Callable[[Connection], None] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Commit events, a change of the ledger and columns of the run's row as one unit.

        Raises `Fenced`, `OutOfBudget`, `StoreError`; nothing of the unit is written then.
        """
        if self._failure is not None:
            raise self._failure
        # The unit is carried out even if whoever waits for it is cancelled.
        await asyncio.shield(self._submit(batch, batch, ledger, columns))

    async def settled(self) -> None:
        """Wait until all that was queued is committed: an intent is in flight, and known, from then on."""
        if self._queued:
            await self.append()

    def post(self, *batch: Event, ledger: Callable[[Connection], None] | None = None) -> None:
        """Queue an outcome to be committed now, without waiting for the commit.

        Whatever follows from it is committed with it or after it, and nothing leaves the process
        before its own commit: if this one fails, every later append raises why.
        """
        for event in batch:
            self._read(event)
        self._submit(batch, (), ledger, None).add_done_callback(self._posted)

    def _posted(self, written: asyncio.Future[Any]) -> None:
        if not written.cancelled() and self._failure is None:
            self._failure = written.exception()

    def _submit(
        self,
        batch: tuple[Event, ...],
        unread: tuple[Event, ...],
        ledger: Callable[[Connection], None] | None,
        columns: Mapping[str, Any] | None,
    ) -> asyncio.Future[Any]:
        unit = _Unit(self._order)

        def work(connection: Connection) -> tuple[int, str | None]:
            if ledger is not None:
                ledger(connection)
            # Which buffered events are still unwritten is known only now: an earlier unit that was
            # refused has left its own to this one. The order in the journal is the order of cause.
            unit.written = [*self._claim(unit), *batch]
            return store.append(connection, self.run_id, self.epoch, unit.written, columns)

        def committed(result: tuple[int, str | None]) -> None:
            self.seq, stop = result
            self._buffer = [buffered for buffered in self._buffer if buffered.unit is not unit]
            for event in unread:
                self._read(event)
            for seq, event in enumerate(unit.written, self.seq - len(unit.written) + 1):
                self._publish(event, seq)
            if stop:
                self._on_stop(stop)

        def ended(_: object) -> None:
            self._queued -= 1

        self._queued += 1
        unit.future = self.database.submit(work, committed)
        unit.future.add_done_callback(ended)
        return unit.future

    def _claim(self, unit: _Unit) -> list[Event]:
        """The buffered events that `unit` writes: those from before it that no other unit is writing.

        Runs in the writer's thread, once for each try to commit; the event loop only adds to the buffer
        meanwhile.
        """
        claimed = [b for b in self._buffer[:] if b.order < unit.order and b.is_free_for(unit)]
        for buffered in claimed:
            buffered.unit = unit
        return [buffered.event for buffered in claimed]

    def _read(self, event: Event) -> None:
        self._observe(event)
        match event:
            case CallStarted():
                self._started[event.key] = self._open[event.key, event.attempt] = event
            case CallFinished() | CallFailed():
                self._open.pop((event.key, event.attempt), None)
                if isinstance(event, CallFinished) or event.final:
                    self._outcomes[event.key] = event
            case ToolCalled():
                self._outcomes[event.key] = event
            case VoteTallied() | SeatAbstained() | BranchesClosed():
                self._entered.add(event.key)
                self._closed.update(closed_branches(event))
            case PhaseEntered():
                self._entered.add(event.key)
                self.answer = event.answer or self.answer
            case SeatDropped():
                self.dropped[event.seat or ""] = event.reason
            case _:
                pass
        if event.seq is not None:
            self.seq = event.seq


def within(key: str, branch: str) -> bool:
    """Whether the step at `key` is the branch, or beneath it: in its script, or one of its own branches."""
    return key == branch or key.startswith((f"{branch}/", f"{branch}."))
