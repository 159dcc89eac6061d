"""The state of one run in this process, and what every step of it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from sqlalchemy import Connection

from ..core.events import CallFailed, CallStarted, Event
from ..core.models import NUSD
from ..core.protocol import Chosen
from ..errors import DeadlinePassed, NoQuorum, OutOfBudget
from ..providers.base import Provider
from ..providers.redaction import Redactor
from ..store.money.ledger import Account
from ..tools import Toolbox
from .broadcast import Broadcast
from .calls.circuit_breaker import CircuitBreakers
from .calls.counted_prompts import CountedPrompts
from .calls.hedging import Hedging
from .calls.limits import Deadline, Gate
from .calls.warm_up import WarmUp
from .halting import Halt, StopRequests
from .journal import Journal, within
from .observer import Observer, RunIdentity, call_span
from .result import Summary
from .spec import Spec
from .spending.budget import RunBudget, budget_event, nusd
from .spending.waiting import Waiting

__all__ = ["RunContext"]

T = TypeVar("T")
UNKNOWN = "in flight when the run stopped: the outcome is unknown, the reservation is charged"


@dataclass(eq=False, kw_only=True)
class RunContext:
    """The state of one run, complete before the run starts.

    past: events stored before this process took the run over. gates, hedging, circuits, warm_up: shared
    by all runs of the process. open_provider: name -> provider. redact: removes secrets from error messages;
    redact_text: removes keys from replies. notes: for the user before the run starts, such as why a tool is
    off. waiting: calls of this process that wait for room under a cap. settled_calls: requests of the run
    whose cost is known. long_replies: models of which a short reply did not fit its own limit; see
    `core.context.reply_sizes`. shortest_answer: the tokens of the shortest whole answer of this run in this
    process. unaffordable: why a call has no answer, if the budget had no room to ask again. propagate:
    whether requests to hosts name the span of a call. counted_prompts: in this process. chosen: the protocol
    that answers in place of that of the run, once that is known.
    windows: model -> tokens to which its host made this process shorten a request, so that the next is not
    refused as often.
    """

    run_id: str
    spec: Spec
    journal: Journal
    budget: RunBudget
    summary: Summary
    broadcast: Broadcast
    deadline: Deadline
    gates: Mapping[str, Gate]
    open_provider: Callable[[str], Provider]
    past: Sequence[Event] = ()
    notes: tuple[str, ...] = ()
    toolbox: Toolbox = field(default_factory=Toolbox)
    redact: Redactor = field(default_factory=Redactor)
    redact_text: Redactor = field(default_factory=Redactor)
    hedging: Hedging = field(default_factory=Hedging)
    warm_up: WarmUp = field(default_factory=WarmUp)
    circuits: CircuitBreakers = field(default_factory=CircuitBreakers)
    halt: Halt = field(default_factory=Halt)
    stop_requests: StopRequests = field(default_factory=StopRequests)
    spent_nusd: int = 0
    sent_notes: set[str] = field(default_factory=set)
    waiting: Waiting = field(default_factory=Waiting)
    settled_calls: int = 0
    long_replies: set[str] = field(default_factory=set)
    shortest_answer: int | None = None
    counted_prompts: CountedPrompts = field(default_factory=CountedPrompts)
    windows: dict[str, int] = field(default_factory=dict)
    unaffordable: OutOfBudget | None = None
    chosen: Chosen | None = None
    observer: Observer | None = None
    propagate: bool = False

    @cached_property
    def quorum(self) -> int:
        """The least number of live seats. Raises `NotFound` if the protocol is not installed."""
        return self.spec.quorum

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The references of models that prompts mask, see `Panel.names`."""
        return self.spec.panel.names

    @cached_property
    def identity(self) -> RunIdentity:
        """What every announcement says of the run."""
        return RunIdentity.of(self.run_id, self.spec)

    def now(self) -> str:
        """Return the time by the database's clock, see `Database.now`."""
        return self.journal.database.now()

    def traceparent(self, key: str) -> str:
        """Return the name of the span of the call at `key` for its host, "" if it is not sent."""
        span = self.identity.span if self.propagate else None
        return "" if span is None else str(span.below(call_span(key)))

    def note_answer(self, tokens: int) -> None:
        """Remember the length of a whole answer."""
        self.shortest_answer = min(self.shortest_answer or tokens, tokens)

    def follow(self, chosen: Chosen) -> None:
        """Expect from here on what the protocol costs that answers in place of that of the run."""
        self.chosen = chosen
        if self.budget.claim is not None:
            self.budget.claim.follow(chosen)

    def hold(self, connection: Connection, time: str) -> None:
        """Hold what the run needs still of the caps that it shares, see `RunBudget.hold`."""
        self.budget.hold(connection, time, self.spent_nusd, self.settled_calls)

    def check(self) -> None:
        """Raise `Halted` if the run must not send another request."""
        if self.deadline.left <= 0:
            trouble = next(reversed(self.summary.failing.values()), "")
            after = f", after {trouble.removesuffix('.')}" if trouble else ""
            self.halt.request(
                DeadlinePassed(
                    f"The deadline of the run has passed{after}. "
                    f"Resume with: pnyx resume {self.run_id} --deadline SECONDS"
                )
            )
        self.halt.check()

    def check_quorum(self) -> None:
        """Raise `NoQuorum` if too few seats are live."""
        live = [s for s in self.spec.seats if s.label not in self.journal.dropped]
        if len(live) < self.quorum:
            seats: dict[str, list[str]] = {}
            for label, reason in self.journal.dropped.items():
                seats.setdefault(reason, []).append(label)
            why = "; ".join(f"{', '.join(labels)}: {reason}" for reason, labels in seats.items())
            raise NoQuorum(
                f"{len(live)} of {len(self.spec.seats)} seats are left, {self.quorum} needed ({why})"
            )

    def new_notes(self, notes: Iterable[str]) -> tuple[str, ...]:
        """Return the notes that no earlier call of the run has."""
        new = tuple(dict.fromkeys(note for note in notes if note not in self.sent_notes))
        self.sent_notes.update(new)
        return new

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts. Raises `Halted` as soon as the run halts."""
        await asyncio.wait([self.halt.requested], timeout=min(seconds, max(self.deadline.left, 0)))
        self.check()

    async def unless_halted(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`. If the run halts first, `work` is cancelled and `Halted` is raised."""
        task = asyncio.create_task(work)
        either: tuple[asyncio.Future[Any], ...] = (task, self.halt.requested)
        try:
            while not task.done():
                self.check()
                left = None if self.deadline.at is None else max(self.deadline.left, 0)
                await asyncio.wait(either, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            return task.result()
        finally:
            if task.cancel():
                await asyncio.gather(task, return_exceptions=True)

    def record(self, started: CallStarted, charged_nusd: int, *outcome: Event) -> None:
        """Record the outcome of a request together with its charge in nUSD."""
        before, warn = self.spent_nusd, self.spec.warn_usd
        self.spent_nusd += charged_nusd
        self.settled_calls += 1
        if warn is not None and before < warn * NUSD <= self.spent_nusd:
            account = Account(self.budget.run_scope, round(warn * NUSD), self.spent_nusd, 0)
            outcome = (*outcome, budget_event("warning", account, self.now()))
        if over := self.budget.overrun(started, charged_nusd, self.spent_nusd, outcome[0].time):
            outcome = (*outcome, over)
        settle = self.budget.settle(started, charged_nusd)
        self.journal.post(*outcome, ledger=settle, sent_on=started.time[:10])
        self.waiting.wake()

    def write_off(self, branches: Sequence[str] = ("",), why: str = UNKNOWN) -> None:
        """Charge requests whose outcome is unknown at their reservations.

        branches: keys of branches of the tree of steps; by default the whole tree.
        """
        unknown = [s for s in self.journal.in_flight() if any(within(s.key, branch) for branch in branches)]
        for started in unknown:
            failed = CallFailed(
                key=started.key,
                phase=started.phase,
                round=started.round,
                seat=started.seat,
                time=self.now(),
                attempt=started.attempt,
                fingerprint=started.fingerprint,
                model=started.model,
                kind="unknown",
                message=why,
                final=False,
                charged_usd=started.reserved_usd,
            )
            self.record(started, nusd(started.reserved_usd), failed)
