"""Performs the leaves of one run's tree of steps: calls, tools, phases and tallies.

Recorded steps are read from the journal; all others are performed and recorded.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.events import BranchesClosed, CallFailed, PhaseEntered, SeatAbstained, ToolCalled, VoteTallied
from ..core.steps import Abstain, Ask, Enter, Reply, Tally, Use
from ..core.tool_calls import ToolCall, ToolResult
from ..errors import SeatAbsent
from .calls.call import ModelCall
from .context import RunContext
from .drive import Where

__all__ = ["Performer"]

NOT_AWAITED = "not waited for: the outcome was certain without it; the reservation is charged"


class Performer:
    """Performs the steps of the run of `context`; see `drive.StepHandler`."""

    def __init__(self, context: RunContext) -> None:
        self.context = context

    async def enter(self, key: str, step: Enter, where: Where) -> None:
        if not self.context.journal.is_recorded(key):
            if step.phase != "complete":
                self.context.check_quorum()
            common = self._common(key, where)
            answer = step.answer if where.closing else None  # that of a subtask is not the run's
            self.context.journal.buffer(PhaseEntered(**common, protocol=where.protocol, answer=answer))

    def _common(self, key: str, where: Where) -> dict[str, Any]:
        return {"key": key, "time": self.context.now(), "phase": where.phase, "round": where.round}

    async def tally(self, key: str, step: Tally, where: Where) -> None:
        if not self.context.journal.is_recorded(key):
            common = self._common(key, where)
            self.context.journal.buffer(
                VoteTallied(
                    **common, rule=step.rule, tally=step.tally, winner=step.winner, detail=step.detail
                )
            )

    async def abstain(self, key: str, step: Abstain, where: Where) -> None:
        if not self.context.journal.is_recorded(key):
            common = {**self._common(key, where), "seat": step.seat.label}
            self.context.journal.buffer(SeatAbstained(**common, reason=step.reason))

    async def close(self, key: str, late: Sequence[int], where: Where) -> None:
        """Record that these branches are closed, and charge their requests in flight."""
        branches = [f"{key}.{n}" for n in late]
        await self.context.journal.flush()
        self.context.write_off(branches, NOT_AWAITED)
        self.context.journal.buffer(BranchesClosed(**self._common(key, where), branches=tuple(branches)))

    def follow(self, protocol: str, options: Mapping[str, Any]) -> None:
        """Expect the costs of the protocol that answers in place of that of the run."""
        self.context.follow((protocol, options))

    async def use(self, key: str, step: Use, where: Where) -> ToolResult:
        """Return the tool's result, from the journal if it is recorded. Raises `Halted`."""
        recorded = self.context.journal.tool_result(key, step.fingerprint)
        if recorded is None:
            started_at = time.monotonic()
            # A cancelled tool leaves no trace: tools only read, so a resume uses it again.
            result = await self.context.unless_halted(self.context.toolbox.run(step.tool, step.arguments))
            recorded = ToolCalled(
                **self._common(key, where),
                seat=None if step.seat is None else step.seat.label,
                fingerprint=step.fingerprint,
                tool=step.tool,
                arguments=step.arguments,
                outcome=self.context.redact(result.text),
                ok=result.ok,
                elapsed_s=round(time.monotonic() - started_at, 3),
            )
            await self.context.journal.append(recorded)
        return ToolResult(recorded.outcome, recorded.ok)

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        """Return the seat's reply, from the journal if it is recorded.

        Raises `SeatAbsent`, `NoQuorum`, `Halted`.
        """
        if self.context.journal.is_closed(key):
            raise SeatAbsent.of(ask.seat.label, "was not waited for")
        outcome = self.context.journal.outcome(key, ask)
        if outcome is None:
            outcome = await ModelCall(self.context, key, ask, where).outcome()
        if isinstance(outcome, CallFailed):
            raise SeatAbsent.of(ask.seat.label, outcome.message)
        if outcome.absent:
            raise SeatAbsent.of(ask.seat.label, outcome.abstention)
        return Reply(
            ask,
            outcome.text,
            outcome.data,
            truncated=outcome.finish_reason == "length",
            calls=tuple(ToolCall(**call) for call in outcome.tool_calls),
            source=outcome.source,
            thoughts=(outcome.reasoning or "") if outcome.tool_calls else "",
        )
