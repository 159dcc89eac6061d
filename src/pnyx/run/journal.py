"""The journal of one run: reads its stored events and appends new ones.

`call_started` is the intent, committed with its reservation before the request is sent. `call_finished` or a
final `call_failed` is the outcome, committed with its settlement before any consequence of it leaves the
process. A recorded step is not performed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from sqlalchemy import Connection

from ..core.events import (
    BranchesClosed,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunStarted,
    SeatAbstained,
    SeatDropped,
    ToolCalled,
    VoteTallied,
    closed_branches,
)
from ..core.models import NO_PAYER, Payer
from ..core.steps import Ask
from ..core.sycophancy.detect import is_blank
from ..core.text import prompt_name
from ..errors import Diverged
from ..store import Database
from ..store.documents.contents import RunContents
from ..store.records.appending import Append, Last, append_all

__all__ = ["CUT_OFF", "CutOff", "Inherited", "Journal", "Outcome", "within"]

Outcome = CallFinished | CallFailed
Recorded = Outcome | ToolCalled
T = TypeVar("T")
Write: TypeAlias = Callable[[Connection], tuple[Event, ...] | None]
CUT_OFF = "cut_off"
"""The kind of failure of a reply that ended at its limit, and is asked for again under a higher one."""


class CutOff(NamedTuple):
    """A reply that was cut off. max_tokens: its limit. message: what to do, for people."""

    max_tokens: int
    message: str


@dataclass(frozen=True, slots=True)
class Inherited:
    """A finished call of the run that another one is a fork of. started: None for a reply that was copied."""

    finished: CallFinished
    started: CallStarted | None = None


class _Sent(NamedTuple):
    """What is compared of the last request of a step; its prompt may be long."""

    attempt: int
    fingerprint: str
    seat: str | None
    model: str
    prompt: str

    @classmethod
    def of(cls, event: CallStarted) -> _Sent:
        return cls(event.attempt, event.fingerprint, event.seat, event.model, prompt_name(event.prompt_id))


@dataclass(eq=False, slots=True)
class _Unit:
    """Events that are committed together.

    order: it may write buffered events below this number. batch: its own events. is_rejected: whether it
    was rolled back for good.
    """

    order: int
    batch: tuple[Event, ...] = ()
    events: list[Event] = field(default_factory=list)
    is_rejected: bool = False


@dataclass(eq=False, slots=True)
class _Buffered:
    """An event that waits for a unit to write it. order: its place among buffered events."""

    event: Event
    order: int
    unit: _Unit | None = None

    def is_free_for(self, unit: _Unit) -> bool:
        return self.unit is None or self.unit is unit or self.unit.is_rejected


class Journal:
    """The recorded steps of a run by key, and the only way to record more.

    past: the stored events. inherited: finished calls of the run that this one is a fork of. by_name: compare
    calls by place, seat, model and name of the prompt instead of the fingerprint, for runs that began with
    the prompts of an earlier revision, which had the same tasks in other words. observe: called once with
    every event, past ones too, when it is certain. publish: called with every new event and its `seq`, in
    order, after its commit. on_stop: called with the stop request of another process ("cancel" or "pause").
    payer: who pays for its calls. thought: model -> the tokens of its longest reply that ended at its limit
    without an answer. unaffordable: keys of calls without an answer since the budget had no room
    to ask again, on which no later step relies: a resumed run asks them again.
    """

    def __init__(
        self,
        database: Database,
        run_id: str,
        epoch: int,
        *,
        past: Sequence[Event] = (),
        inherited: Mapping[str, Inherited] | None = None,
        by_name: bool = False,
        observe: Callable[[Event], object] = lambda event: None,
        publish: Callable[[Event, int | None], object] = lambda event, seq: None,
        on_stop: Callable[[str], None] = lambda stop: None,
        payer: Payer = NO_PAYER,
    ) -> None:
        self.database, self.run_id, self.epoch = database, run_id, epoch
        self.by_name = by_name
        self._payer = payer
        self._inherited = inherited or {}
        self._contents = RunContents()
        self.seq = 0
        self.created_at = ""
        self.dropped: dict[str, str] = {}
        self._observe, self._publish, self._on_stop = observe, publish, on_stop
        self._sent: dict[str, _Sent] = {}
        self._open: dict[tuple[str, int], CallStarted] = {}
        self._outcomes: dict[str, Recorded] = {}
        self._cut_off: dict[str, CutOff] = {}
        self.thought: dict[str, int] = {}
        self.unaffordable: set[str] = set()
        self._marks: set[str] = set()
        self._closed: set[str] = set()
        self._buffer: list[_Buffered] = []
        self._order = 0
        self._failure: Exception | None = None
        self._unapplied = 0
        for event in past:
            self._apply(event)
        for key in self.unaffordable:  # the budget may be larger now
            del self._outcomes[key]

    def outcome(self, key: str, ask: Ask) -> Outcome | None:
        """Return the outcome of the call at `key`, or None. Raises `Diverged` if the step differs."""
        previous = self._sent.get(key) or self._outcomes.get(key)
        if previous is not None and not self._is_same(previous, ask):
            raise self._diverged(key)
        recorded = self._outcomes.get(key)
        return None if isinstance(recorded, ToolCalled) else recorded

    def tool_result(self, key: str, fingerprint: str) -> ToolCalled | None:
        """Return the recorded tool call at `key`, or None. Raises `Diverged` if the step differs."""
        previous = self._sent.get(key) or self._outcomes.get(key)
        if previous is not None and previous.fingerprint != fingerprint:
            raise self._diverged(key)
        return previous if isinstance(previous, ToolCalled) else None

    def inherit(self, key: str, ask: Ask) -> CallFinished | None:
        """Return the reply to the same step in the run that this one is a fork of, or None."""
        inherited = self._inherited.get(key)
        if inherited is None:
            return None
        sent = inherited.started and _Sent.of(inherited.started)
        if not self._is_same(sent or inherited.finished, ask):
            return None
        # Fingerprints compare the prompt. Names do not, and what this run asked itself may have changed it.
        if self.by_name and any(_precedes(new, key) for new in self._sent):
            return None
        return inherited.finished

    def _is_same(self, recorded: _Sent | Recorded, ask: Ask) -> bool:
        if recorded.fingerprint == ask.fingerprint:
            return True
        if not self.by_name or recorded.seat != ask.seat.label:
            return False
        if not isinstance(recorded, _Sent):
            # Nothing was sent: the seat was dropped, or the reply was copied.
            return not isinstance(recorded, ToolCalled)
        return recorded.model == ask.seat.model and recorded.prompt == ask.prompt.name

    def _diverged(self, key: str) -> Diverged:
        return Diverged(
            f"Step {key} of run {self.run_id} differs from the recorded one: a prompt or a protocol has "
            f"changed. Keep the replies that still match with: pnyx resume {self.run_id} --fork"
        )

    def attempts(self, key: str) -> int:
        """Return how many requests were sent for the step."""
        return self._sent[key].attempt if key in self._sent else 0

    def cut_off(self, key: str) -> CutOff | None:
        """Return the last reply of the step that was cut off and is asked for again."""
        return self._cut_off.get(key)

    def in_flight(self) -> list[CallStarted]:
        """Return requests without a recorded outcome: the process died, or stopped at once."""
        return list(self._open.values())

    def is_recorded(self, key: str) -> bool:
        """Return whether the phase, tally or abstention at `key` is recorded."""
        return key in self._marks

    def is_closed(self, key: str) -> bool:
        """Return whether the step at `key` is in a closed branch."""
        return any(within(key, branch) for branch in self._closed)

    def buffer(self, event: Event) -> None:
        """Record `event` with the next unit that commits: for events that a replay finds again."""
        self._buffer.append(_Buffered(event, self._order))
        self._order += 1
        self._apply(event)

    async def append(
        self,
        *batch: Event,
        ledger: Callable[[Connection], None] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Commit events, a ledger write and columns of the run's row as one unit.

        Raises `Fenced`, `OutOfBudget`, `StoreError`; then nothing of the unit is written.
        """
        if self._failure is not None:
            raise self._failure
        await self._submit(_with_ledger(batch, ledger), columns, applied=False)

    async def reserve(self, make: Callable[[Connection], CallStarted | T]) -> CallStarted | T:
        """Commit the intent that `make` returns, with what it writes; anything else is only returned.

        make: called in the transaction, once for each attempt to commit. Raises what `append` raises.
        """
        if self._failure is not None:
            raise self._failure
        await self.database.check_space()
        made: CallStarted | T | None = None

        def write(connection: Connection) -> tuple[Event, ...] | None:
            nonlocal made
            made = make(connection)
            return (made,) if isinstance(made, CallStarted) else None

        await self._submit(write, None, applied=False)
        return cast(CallStarted | T, made)

    async def flush(self) -> None:
        """Wait until every event that was queued is applied."""
        if self._unapplied:
            await self.append()

    def post(
        self, *batch: Event, ledger: Callable[[Connection], None] | None = None, sent_on: str = ""
    ) -> None:
        """Queue an outcome for commit, without waiting for it. sent_on: the day of its request.

        Events that follow from it are committed with it or after it, and nothing leaves the process before
        its own commit: if this one fails, every later append raises why.
        """
        for event in batch:
            self._apply(event)
        self._submit(_with_ledger(batch, ledger), None, applied=True, sent_on=sent_on)

    def _submit(
        self, write: Write, columns: Mapping[str, Any] | None, *, applied: bool, sent_on: str = ""
    ) -> asyncio.Future[Any]:
        """Queue a unit, which is written even if its caller is cancelled.

        write: writes to the ledger and returns the unit's events; None: there is no unit. applied: whether
        its events are applied already; if not, they are once they are committed.
        """
        unit = _Unit(self._order)

        def work(connection: Connection) -> Append | None:
            if self._failure is not None and not applied:
                raise self._failure  # an outcome before this one in the same commit was refused
            batch = write(connection)
            if batch is None:
                return None
            unit.batch = batch
            # Only now is known which buffered events are unwritten: an earlier unit that was rejected leaves
            # its events to this one. The order in the journal is the order of cause.
            unit.events = [*self._claim(unit), *batch]
            known = (self._payer, self._contents, sent_on, self.seq)
            return Append(self.run_id, self.epoch, unit.events, columns, *known)

        def committed(last: Last | None) -> None:
            self._unapplied -= not applied
            if last is None:
                return
            self.seq, stop = last
            self._contents.keep()
            self._buffer = [buffered for buffered in self._buffer if buffered.unit is not unit]
            for event in () if applied else unit.batch:
                self._apply(event)
            for seq, event in enumerate(unit.events, self.seq - len(unit.events) + 1):
                self._publish(event, seq)
            if stop:
                self._on_stop(stop)

        def failed(exc: Exception) -> None:
            self._unapplied -= not applied
            unit.is_rejected = True
            if applied and self._failure is None:
                self._failure = exc

        self._unapplied += not applied
        return self.database.submit(work, committed, failed, _append_all)

    def _claim(self, unit: _Unit) -> list[Event]:
        """Return the buffered events that `unit` writes: earlier ones that no other unit writes.

        Runs in the writer's thread, once for each attempt to commit; meanwhile the event loop only adds to
        the buffer.
        """
        claimed = [b for b in self._buffer[:] if b.order < unit.order and b.is_free_for(unit)]
        for buffered in claimed:
            buffered.unit = unit
        return [buffered.event for buffered in claimed]

    def _apply(self, event: Event) -> None:
        self._observe(event)
        if self.unaffordable and (later := getattr(event, "key", "")):
            self.unaffordable = {key for key in self.unaffordable if not _precedes(key, later)}
        match event:
            case CallStarted():
                self._sent[event.key] = _Sent.of(event)
                self._open[event.key, event.attempt] = event
            case CallFinished() | CallFailed():
                started = self._open.pop((event.key, event.attempt), None)
                if isinstance(event, CallFinished):
                    # Nothing that a run does depends on reasoning, which can be long.
                    self._outcomes[event.key] = replace(event, reasoning=None) if event.reasoning else event
                elif event.final:
                    self._outcomes[event.key] = event
                    if event.kind == CUT_OFF:
                        self.unaffordable.add(event.key)
                elif event.kind == CUT_OFF and started is not None:
                    self._cut_off[event.key] = CutOff(started.max_tokens, event.message)
                    if is_blank(event.text):
                        longest = max(self.thought.get(started.model, 0), started.max_tokens)
                        self.thought[started.model] = longest
            case ToolCalled():
                self._outcomes[event.key] = event
            case PhaseEntered() | VoteTallied() | SeatAbstained() | BranchesClosed():
                self._marks.add(event.key)
                self._closed.update(closed_branches(event))
            case RunStarted():
                self.created_at = event.time
            case SeatDropped():
                self.dropped[event.seat or ""] = event.reason
            case _:
                pass
        if event.seq is not None:
            self.seq = event.seq


def _with_ledger(batch: tuple[Event, ...], ledger: Callable[[Connection], None] | None) -> Write:
    def write(connection: Connection) -> tuple[Event, ...]:
        if ledger is not None:
            ledger(connection)
        return batch

    return write


def _append_all(connection: Connection, units: Sequence[Append | None]) -> list[Last | None]:
    lasts = iter(append_all(connection, [unit for unit in units if unit is not None]))
    return [None if unit is None else next(lasts) for unit in units]


def within(key: str, branch: str) -> bool:
    """Return whether the step at `key` is the branch, or below it: in its script, or in a branch of it."""
    return key == branch or key.startswith((f"{branch}/", f"{branch}."))


def _precedes(first: str, second: str) -> bool:
    """Whether the step at `first` comes before that at `second` in one script, and may influence it."""
    for one, other in zip(first.split("/"), second.split("/"), strict=False):
        if one != other:
            places = one.partition(".")[0], other.partition(".")[0]
            return all(place.isdigit() for place in places) and int(places[0]) < int(places[1])
    return False
