"""Performs the leaves of one run's tree of steps: asks, tools, phases and tallies.

What the journal has is read from it; everything else is done and recorded.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ..core.events import BranchesClosed, CallFailed, PhaseEntered, SeatAbstained, ToolCalled, VoteTallied
from ..core.steps import Abstain, Ask, Enter, Reply, Tally, Use
from ..core.tool_calls import ToolCall, ToolResult
from ..errors import SeatAbsent
from .call import ModelCall
from .context import RunContext
from .drive import Where
from .limits import now

__all__ = ["Performer"]

GIVEN_UP = "not waited for: the outcome was certain without it; the reservation is charged"


class Performer:
    """Performs the steps of the run that `context` is of; see `drive.StepHandler`."""

    def __init__(self, context: RunContext) -> None:
        self.context = context

    async def enter(self, key: str, step: Enter, where: Where) -> None:
        if not self.context.journal.entered(key):
            if step.phase != "complete":
                self.context.check_quorum()
            common = _common(key, where)
            self.context.journal.later(PhaseEntered(**common, protocol=where.protocol, answer=step.answer))

    async def tally(self, key: str, step: Tally, where: Where) -> None:
        if not self.context.journal.entered(key):
            common = _common(key, where)
            self.context.journal.later(
                VoteTallied(
                    **common, rule=step.rule, tally=step.tally, winner=step.winner, detail=step.detail
                )
            )

    async def abstain(self, key: str, step: Abstain, where: Where) -> None:
        if not self.context.journal.entered(key):
            common = {**_common(key, where), "seat": step.seat.label}
            self.context.journal.later(SeatAbstained(**common, reason=step.reason))

    async def close(self, key: str, late: Sequence[int], where: Where) -> None:
        """Record that these branches are given up; what they have in flight is charged."""
        given_up = [f"{key}.{n}" for n in late]
        await self.context.journal.settled()
        self.context.write_off(given_up, GIVEN_UP)
        self.context.journal.later(BranchesClosed(**_common(key, where), branches=tuple(given_up)))

    async def use(self, key: str, step: Use, where: Where) -> ToolResult:
        """The tool's result, from the journal when it is there. Raises `Halted`."""
        known = self.context.journal.result(key, step.fingerprint)
        if known is None:
            began = time.monotonic()
            # One that is cut off leaves nothing: tools only read, so a resume uses it again.
            result = await self.context.unless_halted(self.context.toolbox.run(step.tool, step.arguments))
            known = ToolCalled(
                **_common(key, where),
                seat=None if step.seat is None else step.seat.label,
                fingerprint=step.fingerprint,
                tool=step.tool,
                arguments=step.arguments,
                outcome=self.context.redact(result.text),
                ok=result.ok,
                elapsed_s=round(time.monotonic() - began, 3),
            )
            await self.context.journal.append(known)
        return ToolResult(known.outcome, known.ok)

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        """The seat's reply, from the journal when it is there. Raises `SeatAbsent`, `NoQuorum`, `Halted`."""
        if self.context.journal.closed(key):
            raise SeatAbsent(f"{ask.seat.label}: was not waited for")
        outcome = self.context.journal.outcome(key, ask.fingerprint)
        if outcome is None:
            outcome = await ModelCall(self.context, key, ask, where).outcome()
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
            source=outcome.source,
        )


def _common(key: str, where: Where) -> dict[str, Any]:
    return {"key": key, "time": now(), "phase": where.phase, "round": where.round}
