"""Limits of a call's output: by what the reply is, what was cut off before, and what the budget has left."""

from __future__ import annotations

from ...core.context.reply_sizes import RAISE
from ...core.models import Seat, Usage
from ...core.sycophancy.detect import is_blank
from ...core.thinking import Thinking
from ...providers.base import Completion
from ..context import RunContext
from ..journal import CUT_OFF, CutOff
from ..spending.budget import OutputLimits
from .context_window import output_limit
from .reply import no_answer

__all__ = ["ReplyLimits"]

ENOUGH = 1500
"""Tokens of output that few answers reach: a call that has room for less waits, if room may come."""
LEAST = 32
"""The lowest limit of output in tokens, while no answer of the run is known."""


class ReplyLimits:
    """The limits of the output of one call, its thinking included, in tokens. short: of a short reply.

    size: the tokens of the request, which the window must hold too.
    """

    def __init__(
        self, context: RunContext, key: str, seat: Seat, short: int | None, thinking: Thinking
    ) -> None:
        self.context, self.key, self.seat, self.short = context, key, seat, short
        self.thinking = thinking.tokens or 0

    def whole(self, size: int, times: int = 1) -> int:
        """Return the limit of the run for a reply."""
        return output_limit(self.seat, size, times * (self._run_limit + self.thinking))

    def next(self, size: int) -> int:
        """Return the limit of the next request, if the budget has room for it."""
        context, model, cut = self.context, self.seat.model, self.context.journal.cut_off(self.key)
        has_own = self.short is not None and model not in context.long_replies
        if cut is None and has_own:
            return self._first(size)
        whole = self.whole(size)
        is_last = cut is not None and cut.max_tokens >= whole
        # Where the model thought for as long without an answer, it would do so each time.
        is_in_vain = context.journal.thought.get(model, 0) >= whole
        return self.whole(size, RAISE) if is_last or is_in_vain else whole

    def in_budget(self, size: int) -> OutputLimits:
        """Return the limit of the next request, and how far a small budget may lower it."""
        most, cut = self.next(size), self.context.journal.cut_off(self.key)
        if self.short is not None:
            enough, least = self._first(size), LEAST
        else:
            enough, least = ENOUGH, max(LEAST, self.context.shortest_answer or 0)
        if most > self.whole(size):
            enough = most  # a reply under the limit of the run was all thinking
        if cut is not None:
            least = 2 * cut.max_tokens
        # Without the limit of thinking, which a lower limit of the reply lowers too: models often think less.
        least = min(most, least)
        return OutputLimits(most, max(least, min(most, enough + self.thinking)), least)

    def is_too_low(self, size: int, limit: int, done: Completion, elapsed: float, left: float) -> bool:
        """Whether a reply under `limit` is to be asked for again under a higher one.

        That is so for one that ended below the limit of the run; and, once, for one that ended there without
        an answer, if there is time for twice as long a reply. elapsed: its seconds. left: until the deadline.
        """
        if done.finish_reason != "length":
            return False
        if limit < self.whole(size):
            return True
        cut = self.context.journal.cut_off(self.key)
        # One that was cut off at the limit of a short reply or of a small budget was not yet that.
        first = cut is None or cut.max_tokens < self.whole(size)
        is_higher, has_time = limit < self.whole(size, RAISE), left > RAISE * elapsed
        return is_blank(done.text) and not done.tool_calls and first and is_higher and has_time

    def unaffordable(self, size: int) -> CutOff | None:
        """Return the reply that ended at the limit of the run, if the next request is for a longer one."""
        cut = self.context.journal.cut_off(self.key)
        return None if cut is None or cut.max_tokens < self.whole(size) else cut

    def note_cut(self, size: int, limit: int) -> bool:
        """Remember a reply that was cut off. Return whether it was so at the limit of the run."""
        whole = self.whole(size)
        if self.short is not None and limit == self._first(size) < whole:
            # A model that thinks needs more than the limit of a short reply, each time.
            self.context.long_replies.add(self.seat.model)
        return limit >= whole

    def why_again(self, size: int, limit: int, done: Completion, usage: Usage) -> tuple[str, str]:
        """Return the kind and the message of a failure that a reply under `limit` is, since it is asked for
        again. usage: as billed."""
        if done.finish_reason == "malformed" and done.reasoning.strip():
            detail = f"the reply is all reasoning ({done.finish_detail or 'without a reason'})"
            return "malformed", f"{self.seat.model} wrote no answer: {detail}"
        if done.finish_reason == "malformed" and not usage.output_tokens:
            detail = done.finish_detail or "without a reason"
            return "malformed", f"{self.seat.model} wrote nothing ({detail})"
        if done.finish_reason == "malformed":
            return "malformed", f"the host could not read what {self.seat.model} wrote ({done.finish_detail})"
        is_whole = self.note_cut(size, limit)
        if is_whole and is_blank(done.text):
            return CUT_OFF, no_answer(done, usage, self.setting(limit))
        return CUT_OFF, f"the reply was cut off at a limit of {limit:,} tokens"

    def setting(self, limit: int) -> str:
        """Return the setting that limits a reply to `limit`, and its value."""
        most = self.seat.max_output
        if most is not None and most <= limit:
            return f'max_output of [models."{self.seat.model}"] (now {most})'
        return f"max_output_tokens (now {self._run_limit})"

    @property
    def _run_limit(self) -> int:
        return self.context.spec.limits.max_output_tokens

    def _first(self, size: int) -> int:
        """Return the limit of a first request: lower for a short reply."""
        limit = self._run_limit if self.short is None else min(self._run_limit, self.short)
        return output_limit(self.seat, size, limit + self.thinking)
