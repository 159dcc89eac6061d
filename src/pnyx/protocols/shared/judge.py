"""Rulings of a judge: the vote that it picks as the best, and the better answer below that line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...core.answers.replies.extract import final_line, same
from ...core.caching.regex import regex
from ...core.models import Seat
from ...core.parsing.authorship import own_lines
from ...core.parsing.form import Form
from ...core.parsing.translations import in_english
from ...core.parsing.verdicts import Unreadable, read_pick
from ...core.steps import Panel, Reply
from ...core.text import Draft
from ...errors import NoQuorum
from .poll import Poll
from .reply_parts import NUMBER, replacement, strip_number, text_below
from .verdict import UnreadableVerdict, Verdict, ask_verdict

__all__ = ["Ruling", "ask_rulings", "settle"]

_DIRECTIVE = regex(rf"[\W_]*{NUMBER}best\b[^:\n]{{0,20}}:", re.IGNORECASE)
_EXACTLY = regex(rf"[\W_]*{NUMBER}best[\W_]*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ruling:
    """The result of one judgement.

    pick: the label of the vote that it names, None if it names none. short: the short answer of `answer`.
    group: the poll's answer that `short` equals, None if it equals none.
    """

    answer: str
    pick: str | None
    short: str | None
    group: str | None

    @classmethod
    def read(cls, text: str, poll: Poll) -> Ruling:
        """Read a judge's reply: reasons, the line `BEST: <label>`, and an answer, else the named vote's.

        Quoted lines are ignored. Raises `Unreadable` if the reply names two votes, or if it names none and
        does not end on the answer that leads the count.
        """
        labels, lines = [vote.seat.label for vote in poll.votes], text.splitlines()
        english = in_english(text, _DIRECTIVE).splitlines()
        picks: list[tuple[int, str]] = []
        for place in own_lines(text, _DIRECTIVE):
            with suppress(Unreadable):
                picks.append((place, read_pick(lines[place], labels)))
        if picks:
            place, pick = picks[0]
            # Below it, "Best overall: C." is part of the answer; a second line like the first is not.
            if any(
                _EXACTLY.match(english[at]) and one != pick and one in english[at] for at, one in picks[1:]
            ):
                raise Unreadable("two are named: give exactly one line `BEST: <label>`")
            reasons = "\n".join(lines[:place]).strip()
            answer = replacement(strip_number(text_below(lines, place), "\n".join(lines[: place + 1])))
            if not answer and final_line(reasons) and cls._of(pick, "", poll).short is None:
                answer = reasons  # they state the short answer that the picked vote lacks
            return cls._of(pick, answer, poll)
        try:
            # No line separates the judgement from the answer: only the pick is certain.
            return cls._of(read_pick(text, labels), "", poll)
        except Unreadable:
            # A directive that names no vote is not part of the answer, nor is the text above it.
            start = next((n for n in range(len(lines), 0, -1) if _DIRECTIVE.match(english[n - 1])), 0)
            group = poll.find(poll.read(text))
            if group is None or group != poll.leader:
                raise
            answer = "\n".join(lines[start:]).strip()
            answer = replacement(strip_number(answer, "\n".join(lines[:start])))
            answer = answer or poll.representative(group).text
            return cls(answer, None, poll.read(answer) or group, group)

    @classmethod
    def of(cls, verdict: Verdict[Ruling], poll: Poll) -> Ruling:
        """Return the ruling of a verdict; for a reply that was cut off, the vote that it picks, unchanged."""
        if not verdict.reply.truncated:
            return verdict.value
        picked = [vote for vote in poll.votes if vote.seat.label == verdict.value.pick]
        return cls.verbatim(picked[0] if picked else poll.representative(verdict.value.group), poll)

    @classmethod
    def verbatim(cls, vote: Reply, poll: Poll) -> Ruling:
        """Return the ruling that adopts a vote unchanged."""
        short = poll.read(vote.text)
        return cls(vote.text, vote.seat.label, short, poll.find(short))

    @classmethod
    def _of(cls, pick: str, answer: str, poll: Poll) -> Ruling:
        picked = next(cls.verbatim(vote, poll) for vote in poll.votes if vote.seat.label == pick)
        if not answer:
            return picked
        short = poll.read(answer) or picked.short
        return cls(answer, pick, short, poll.find(short))

    def agrees(self, other: Ruling, question: str | None = None) -> bool:
        """Whether both end on the same answer or, if answers cannot be compared, on the same pick."""
        if self.short and other.short:
            return (
                self.group == other.group
                if self.group and other.group
                else same(self.short, other.short, question)
            )
        return self.pick == other.pick


async def ask_rulings(
    panel: Panel, poll: Poll, seats: Sequence[Seat], drafts: Sequence[Draft]
) -> tuple[Seat | None, list[Ruling]]:
    """Return the first of `seats` with a readable judgement, and its rulings; None if the count decides."""

    async def rule(seat: Seat, draft: Draft) -> Ruling | None:
        try:
            form = Form(None, None, lambda text: Ruling.read(text, poll))
            verdict = await ask_verdict(panel, seat, draft, form)
        except UnreadableVerdict:
            return None
        return Ruling.of(verdict, poll)

    for seat in seats:
        try:
            rulings = await panel.all([rule(seat, draft) for draft in drafts])
        except NoQuorum:
            continue
        if readable := [ruling for ruling in rulings if ruling is not None]:
            return seat, readable
        if poll.leader is not None:
            break  # the count is at least as good as a judge weaker than an unreadable one
    return None, []


def settle(rulings: Sequence[Ruling], poll: Poll) -> tuple[Ruling, str]:
    """Return the ruling that decides, else the leading vote; and why it does (`detail.settled_by`).

    A weighted count overrules a ruling that ends on another answer than its only leader.
    """
    winner = poll.tally.winner
    if not rulings:
        leading = Ruling.verbatim(poll.representative(poll.leader), poll)
        return leading, "plurality" if winner else "strongest vote"
    first = rulings[0]
    # `weighted` means that the count decides: a judge of 1.5 billion parameters that could overrule it lost
    # 6.5 points (docs/evaluation.md).
    outweighed = poll.weights is not None and None not in (winner, first.short) and first.group != winner
    if not outweighed and all(first.agrees(other, poll.question) for other in rulings):
        return first, "judge"
    if winner is None:
        return first, "first order"
    agreeing = next((ruling for ruling in rulings if ruling.group == winner), None)
    return agreeing or Ruling.verbatim(poll.representative(winner), poll), "plurality"
