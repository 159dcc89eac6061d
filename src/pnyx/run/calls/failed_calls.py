"""The records of requests without a usable reply, and of calls for which none is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.events import CallFailed, CallStarted, SeatDropped
from ...core.models import Seat
from ...errors import ProviderError
from ...providers.base import Completion
from ..context import RunContext
from ..journal import CUT_OFF, CutOff
from ..spending.budget import Bill, nusd, usd
from .reply import stored_reasoning

__all__ = ["FailedCalls"]


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """Records the failures of one call. common: the fields that all of its events share."""

    context: RunContext
    seat: Seat
    common: dict[str, Any]
    fingerprint: str

    def record(
        self,
        started: CallStarted,
        error: ProviderError,
        elapsed: float,
        *,
        final: bool,
        wait: float | None,
    ) -> CallFailed:
        """Record a failed request. final: drop the seat. wait: seconds until the next attempt."""
        charged = started.reserved_usd if error.billed else 0.0
        failed = CallFailed(
            **self.common,
            time=self.context.now(),
            attempt=started.attempt,
            fingerprint=self.fingerprint,
            model=self.seat.model,
            kind=error.kind,
            message=self.context.redact(str(error)),
            final=final,
            charged_usd=charged,
            retry_in_s=wait and round(wait, 3),
            elapsed_s=round(elapsed, 3),
        )
        self.context.record(started, nusd(charged), failed, *([self._seat_dropped(failed)] if final else []))
        return failed

    def record_unused(
        self, started: CallStarted, done: Completion, bill: Bill, elapsed: float, why: tuple[str, str]
    ) -> None:
        """Record a reply that is asked for again. why: the kind of failure, and its message."""
        (kind, message), redact = why, self.context.redact_text
        failed = CallFailed(
            **self.common,
            time=self.context.now(),
            attempt=started.attempt,
            fingerprint=self.fingerprint,
            model=self.seat.model,
            kind=kind,
            message=redact(message),
            final=False,
            charged_usd=usd(bill.cost_nusd),
            input_tokens=bill.usage.input_tokens,
            cached_tokens=bill.usage.cached_tokens,
            output_tokens=bill.usage.output_tokens,
            reasoning_tokens=bill.usage.reasoning_tokens,
            text=redact(done.text) if kind == CUT_OFF else "",
            reasoning=stored_reasoning(done, redact),
            retry_in_s=0.0,
            elapsed_s=round(elapsed, 3),
        )
        self.context.record(started, bill.cost_nusd or 0, failed)

    def unanswered(self, cut: CutOff) -> CallFailed:
        """Record that there is no answer, since the budget has no room for a longer reply."""
        failed = self._unsent(CUT_OFF, f"{cut.message}; the budget has no room for a longer reply")
        self.context.journal.buffer(failed)
        return failed

    def already_dropped(self) -> CallFailed:
        """Record that nothing is sent to a seat that was dropped earlier."""
        failed = self._unsent("dropped", "was dropped earlier in this run")
        self.context.journal.buffer(failed)
        return failed

    def too_long(self) -> CallFailed:
        """Drop the seat of a request that cannot be shortened to its window."""
        window = f"{self.seat.context or 0:,} tokens"
        return self._drop("too_long", f"the question alone exceeds the model's window of {window}")

    def drop_if_down(self) -> CallFailed | None:
        """Drop the seat if its host is known to be down and the quorum allows it; None: send the call."""
        context = self.context
        if len(context.spec.seats) - len(context.journal.dropped) <= context.quorum:
            return None
        reason = context.circuits[self.seat.model].refusal(context.run_id)
        return None if reason is None else self._drop("down", reason)

    def _drop(self, kind: str, message: str) -> CallFailed:
        failed = self._unsent(kind, message)
        self.context.journal.buffer(failed)
        self.context.journal.buffer(self._seat_dropped(failed))
        return failed

    def _unsent(self, kind: str, message: str) -> CallFailed:
        return CallFailed(
            **self.common,
            time=self.context.now(),
            attempt=self.context.journal.attempts(self.common["key"]),
            fingerprint=self.fingerprint,
            model=self.seat.model,
            kind=kind,
            message=message,
            final=True,
        )

    def _seat_dropped(self, failed: CallFailed) -> SeatDropped:
        return SeatDropped(**self.common, time=failed.time, model=failed.model, reason=failed.message)
