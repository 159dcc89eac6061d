"""What a judge says of votes: which is best, and a better answer below that line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...core.answers.extract import final_answer, final_line, same
from ...core.models import Seat
from ...core.parsing.authorship import own_lines
from ...core.parsing.form import Form
from ...core.parsing.verdicts import Unreadable, read_pick
from ...core.regex import regex
from ...core.steps import Panel, Reply
from ...core.text import Draft
from ...errors import NoQuorum
from .poll import Poll
from .reply_parts import NUMBER, below, fresh, unnumbered
from .verdict import Unread, Verdict, ask_verdict

__all__ = ["Ruling", "rulings_of", "settle"]

_DIRECTIVE = regex(rf"[\W_]*{NUMBER}best\b[^:\n]{{0,20}}:", re.IGNORECASE)
_EXACTLY = regex(rf"[\W_]*{NUMBER}best[\W_]*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a judgement comes to.

    pick: the label of the vote it names, None where it names none. short: the answer's short answer.
    group: the answer of the poll that it is, None where it is none of them.
    """

    answer: str
    pick: str | None
    short: str | None
    group: str | None

    @classmethod
    def read(cls, text: str, poll: Poll) -> Ruling:
        """A judge's reply: its reasons, the line `BEST: <label>`, and its answer, or nothing where the vote
        that it names stands as it is.

        A line that it quotes says nothing. Raises `Unreadable` when it names none, unless it ends on the
        answer that leads the count, and when it names two.
        """
        labels, lines = [vote.seat.label for vote in poll.votes], text.splitlines()
        picks: list[tuple[int, str]] = []
        for place in own_lines(text, _DIRECTIVE):
            with suppress(Unreadable):
                picks.append((place, read_pick(lines[place], labels)))
        if picks:
            place, pick = picks[0]
            # Below it "Best overall: C." is of the answer; a second line like the first is not.
            if any(_EXACTLY.match(lines[at]) and one != pick and one in lines[at] for at, one in picks[1:]):
                raise Unreadable("two are named: give exactly one line `BEST: <label>`")
            reasons = "\n".join(lines[:place]).strip()
            answer = fresh(unnumbered(below(lines, place), "\n".join(lines[: place + 1])))
            if not answer and final_line(reasons) and cls._of(pick, "", poll).short is None:
                answer = reasons  # it worked out there what the vote that it picked does not state
            return cls._of(pick, answer, poll)
        try:
            # No line parts the judging from the answer: what is certain is the pick.
            return cls._of(read_pick(text, labels), "", poll)
        except Unreadable:
            # A directive that names nobody is no part of the answer; nor is what stands above it.
            start = next((n for n in range(len(lines), 0, -1) if _DIRECTIVE.match(lines[n - 1])), 0)
            group = poll.find(final_answer(text))
            if group is None or group != poll.leader:
                raise
            answer = "\n".join(lines[start:]).strip()
            answer = fresh(unnumbered(answer, "\n".join(lines[:start]))) or poll.voice(group).text
            return cls(answer, None, final_answer(answer) or group, group)

    @classmethod
    def of(cls, verdict: Verdict[Ruling], poll: Poll) -> Ruling:
        """What was read of a reply; of one that was cut off, the vote that it picked or came to."""
        if not verdict.reply.truncated:
            return verdict.value
        picked = [vote for vote in poll.votes if vote.seat.label == verdict.value.pick]
        return cls.verbatim(picked[0] if picked else poll.voice(verdict.value.group), poll)

    @classmethod
    def verbatim(cls, vote: Reply, poll: Poll) -> Ruling:
        """The ruling that a vote stands as it is."""
        short = final_answer(vote.text)
        return cls(vote.text, vote.seat.label, short, poll.find(short))

    @classmethod
    def _of(cls, pick: str, answer: str, poll: Poll) -> Ruling:
        picked = next(cls.verbatim(vote, poll) for vote in poll.votes if vote.seat.label == pick)
        if not answer:
            return picked
        short = final_answer(answer) or picked.short
        return cls(answer, pick, short, poll.find(short))

    def agrees(self, other: Ruling) -> bool:
        """Whether both end on one answer; where that cannot be told, on one pick."""
        if self.short and other.short:
            return self.group == other.group if self.group and other.group else same(self.short, other.short)
        return self.pick == other.pick


async def rulings_of(
    panel: Panel, poll: Poll, seats: Sequence[Seat], drafts: Sequence[Draft]
) -> tuple[Seat | None, list[Ruling]]:
    """The first of `seats` that gives judgements, and what they come to; None where the count decides."""

    async def judged(seat: Seat, draft: Draft) -> Ruling | None:
        try:
            form = Form(None, None, lambda text: Ruling.read(text, poll))
            verdict = await ask_verdict(panel, seat, draft, form)
        except Unread:
            return None
        return Ruling.of(verdict, poll)

    for seat in seats:
        try:
            rulings = await panel.all([judged(seat, draft) for draft in drafts])
        except NoQuorum:
            continue
        if readable := [ruling for ruling in rulings if ruling is not None]:
            return seat, readable
        if poll.leader is not None:
            break  # a weaker judge than one that cannot be read is no better than the count
    return None, []


def settle(rulings: Sequence[Ruling], poll: Poll) -> tuple[Ruling, str]:
    """The ruling that stands, and what made it stand; without any, the leading vote does.

    Where the count is weighted, a ruling that ends on another answer than its only leader does not stand.
    """
    winner = poll.tally.winner
    if not rulings:
        return Ruling.verbatim(poll.voice(poll.leader), poll), "plurality" if winner else "strongest vote"
    first = rulings[0]
    # Who states weights has said who decides; a judge of 1.5 billion parameters that could overrule them
    # lost 6.5 points (docs/evaluation.md).
    outweighed = poll.weights is not None and None not in (winner, first.short) and first.group != winner
    if not outweighed and all(first.agrees(other) for other in rulings):
        return first, "judge"
    if winner is None:
        return first, "first order"
    told = next((ruling for ruling in rulings if ruling.group == winner), None)
    return told or Ruling.verbatim(poll.voice(winner), poll), "plurality"
