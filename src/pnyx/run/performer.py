"""The leaves of one run's tree of steps: asks, tools, phases and counts, from the journal or for real."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..core.events import CallFailed, CallStarted, Event, PhaseEntered, ToolCalled, VoteTallied
from ..core.models import NUSD, Seat
from ..core.steps import Ask, Enter, Reply, Tally, Use
from ..core.tool_calls import ToolCall, ToolResult
from ..errors import DeadlinePassed, Halted, NoQuorum, SeatAbsent
from ..providers.base import Provider
from ..providers.redaction import Redactor
from ..store.ledger import Account
from ..tools import Toolbox
from .budget import RunBudget, budget_event, nusd
from .call import ModelCall
from .circuit_breaker import CircuitBreakers
from .drive import Where
from .hedging import Hedging
from .journal import CLOSED, Journal, within
from .limits import Deadline, Gate, Limits, now

__all__ = ["Caller"]

T = TypeVar("T")
GIVEN_UP = "not waited for: the outcome was certain without it; the reservation is charged"
UNKNOWN = "in flight when the run stopped: the outcome is unknown, the reservation is charged"


@dataclass
class Caller:
    """Performs the leaves of one run's tree of steps.

    open_provider: name -> provider. redact: takes secrets out of error messages; redact_said: keys out of all
    that models say. streaming: whether anyone looks at tokens. searches: of the web, that a seat's host may
    make by itself in one request, where it can. warn_usd: spent in the run, from where on it warns, once.
    quorum: live seats that the run needs, known once its protocol is.
    """

    journal: Journal
    budget: RunBudget
    seats: tuple[Seat, ...]
    limits: Limits
    deadline: Deadline
    gates: Mapping[str, Gate]
    open_provider: Callable[[str], Provider]
    toolbox: Toolbox = field(default_factory=Toolbox)
    redact: Redactor = field(default_factory=Redactor)
    redact_said: Redactor = field(default_factory=Redactor)
    hedging: Hedging = field(default_factory=Hedging)
    circuits: CircuitBreakers = field(default_factory=CircuitBreakers)
    streaming: bool = False
    searches: int = 0
    warn_usd: float | None = None
    quorum: int = 0
    spent_nusd: int = 0
    halted: Halted | None = None
    halting: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def halt(self, why: Halted) -> None:
        """Let no further request out. Those in flight are still received and recorded; tools are cut off."""
        if self.halted is None:
            self.halted = why
            if not self.halting.done():
                self.halting.set_result(None)

    async def enter(self, key: str, step: Enter, where: Where) -> None:
        if not self.journal.entered(key):
            if step.phase != "complete":
                self.check_quorum()
            common = _common(key, where)
            self.journal.later(PhaseEntered(**common, protocol=where.protocol, answer=step.answer))

    async def tell(self, key: str, step: Tally, where: Where) -> None:
        if not self.journal.entered(key):
            common = _common(key, where)
            self.journal.later(
                VoteTallied(
                    **common, rule=step.rule, tally=step.tally, winner=step.winner, detail=step.detail
                )
            )

    async def close(self, key: str, late: Sequence[int], where: Where) -> None:
        """Record that these branches are given up; what they have in flight is charged."""
        given_up = [f"{key}.{n}" for n in late]
        await self.journal.settled()
        self.write_off(given_up, GIVEN_UP)
        self.journal.later(
            VoteTallied(**_common(key, where), rule=CLOSED, tally={}, detail={"branches": given_up})
        )

    async def use(self, key: str, step: Use, where: Where) -> ToolResult:
        """The tool's result, from the journal when it is there. Raises `Halted`."""
        known = self.journal.result(key, step.fingerprint)
        if known is None:
            began = time.monotonic()
            # One that is cut off leaves nothing: tools only read, so a resume uses it again.
            result = await self.unless_halted(self.toolbox.run(step.tool, step.arguments))
            known = ToolCalled(
                **_common(key, where),
                seat=None if step.seat is None else step.seat.label,
                fingerprint=step.fingerprint,
                tool=step.tool,
                arguments=step.arguments,
                outcome=self.redact(result.text),
                ok=result.ok,
                elapsed_s=round(time.monotonic() - began, 3),
            )
            await self.journal.append(known)
        return ToolResult(known.outcome, known.ok)

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        """The seat's reply, from the journal when it is there. Raises `SeatAbsent`, `NoQuorum`, `Halted`."""
        if self.journal.closed(key):
            raise SeatAbsent(f"{ask.seat.label}: was not waited for")
        outcome = self.journal.outcome(key, ask.fingerprint)
        if outcome is None:
            outcome = await ModelCall(self, key, ask, where).outcome()
        if isinstance(outcome, CallFailed):
            raise SeatAbsent(f"{ask.seat.label}: {outcome.message}")
        if outcome.absent:
            raise SeatAbsent(f"{ask.seat.label}: {outcome.absent}")
        return Reply(
            ask,
            outcome.text,
            outcome.data,
            truncated=outcome.finish_reason == "length",
            calls=tuple(ToolCall(**call) for call in outcome.tool_calls),
        )

    def check(self) -> None:
        """Raise what stops this run from sending another request."""
        if self.halted is None and self.deadline.left <= 0:
            self.halt(
                DeadlinePassed("the run's deadline has passed; `pnyx resume ID --deadline SECONDS` goes on")
            )
        if self.halted is not None:
            raise self.halted.with_traceback(None)

    async def pause(self, seconds: float) -> None:
        """Wait between two attempts, unless the run halts first."""
        await asyncio.wait([self.halting], timeout=min(seconds, max(self.deadline.left, 0)))
        self.check()

    async def unless_halted(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives. It is cut off where the run halts first, which raises `Halted`."""
        task = asyncio.create_task(work)
        either: tuple[asyncio.Future[Any], ...] = (task, self.halting)
        try:
            while not task.done():
                self.check()
                left = None if self.deadline.at is None else max(self.deadline.left, 0)
                await asyncio.wait(either, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            return task.result()
        finally:
            if task.cancel():
                await asyncio.gather(task, return_exceptions=True)

    def write_off(self, branches: Sequence[str] = ("",), why: str = UNKNOWN) -> list[CallStarted]:
        """Close requests whose outcome is not known: charged at their reservation, and told.

        branches: keys of the parts of the tree that are meant, by default all of it.
        """
        lost = [s for s in self.journal.in_flight() if any(within(s.key, branch) for branch in branches)]
        for started in lost:
            failed = CallFailed(
                key=started.key,
                phase=started.phase,
                round=started.round,
                seat=started.seat,
                time=now(),
                attempt=started.attempt,
                fingerprint=started.fingerprint,
                model=started.model,
                kind="unknown",
                message=why,
                final=False,
                charged_usd=started.reserved_usd,
            )
            self.record(started, nusd(started.reserved_usd), failed)
        return lost

    def record(self, started: CallStarted, charged_nusd: int, *outcome: Event) -> None:
        """Record the outcome of a request together with what it was charged."""
        before, warn = self.spent_nusd, self.warn_usd
        self.spent_nusd += charged_nusd
        if warn is not None and before < warn * NUSD <= self.spent_nusd:
            account = Account(self.budget.run_scope, round(warn * NUSD), self.spent_nusd, 0)
            outcome = (*outcome, budget_event("warning", account, now()))
        if over := self.budget.overrun(started, charged_nusd, self.spent_nusd, outcome[0].time):
            outcome = (*outcome, over)
        self.journal.post(*outcome, ledger=self.budget.settle(started, charged_nusd))

    def check_quorum(self) -> None:
        live = [s for s in self.seats if s.label not in self.journal.dropped]
        if len(live) < self.quorum:
            why = "; ".join(f"{label}: {reason}" for label, reason in self.journal.dropped.items())
            raise NoQuorum(f"{len(live)} of {len(self.seats)} seats are left, {self.quorum} needed ({why})")


def _common(key: str, where: Where) -> dict[str, Any]:
    return {"key": key, "time": now(), "phase": where.phase, "round": where.round}
