"""What lies on a council's table, and what its seats are shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...core.models import Seat
from ...core.steps import Panel, Reply
from ...core.text import Draft, Material
from ...prompts import load
from .count import Count
from .texts import review_of

__all__ = ["Table"]

PROPOSE, PROPOSE_AGAIN = load("council/propose"), load("council/propose-again")
REVIEW, REBUT, VOTE = load("council/review"), load("council/rebut"), load("council/vote")
SYNTHESISE, CONFIRM = load("council/synthesise"), load("council/confirm")


@dataclass(slots=True)
class Table:
    """The standing texts, by the label of who wrote them; nothing but `native` is older than the last round.

    asked: the question as prompts show it. n: the round, from 1. native: the first round's proposals.
    """

    panel: Panel
    asked: str | Draft
    today: str
    n: int = 0
    native: list[Reply] = field(default_factory=list)
    proposals: dict[str, str] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    rebuttals: dict[str, str] = field(default_factory=dict)
    votes: dict[str, str] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Labels of the proposals, in the run's shuffled order."""
        order = self.panel.shuffle([seat.label for seat in self.panel.seats])
        return tuple(label for label in order if label in self.proposals)

    def standing(self, count: Count | None) -> str | None:
        """The proposal that leads: the winner of the last count, or the first in order."""
        leads = count.winner if count else next(iter(self.candidates), "")
        return self.proposals.get(leads)

    def proposal(self, seat: Seat) -> Draft:
        if seat.label not in self.proposals:
            return PROPOSE(question=self.asked, today=self.today)
        return PROPOSE_AGAIN(
            question=self.asked,
            today=self.today,
            proposal=self._own(seat),
            others=self._others(seat),
            votes=self._shown(seat, self.votes, "Vote of {}"),
        )

    def review(self, seat: Seat) -> Draft:
        return REVIEW(question=self.asked, proposals=self._others(seat))

    def rebuttal(self, seat: Seat) -> Draft | None:
        """None where the seat has no proposal, or no review speaks of it."""
        of_it = {by: review_of(seat.label, text, self.candidates) for by, text in self.reviews.items()}
        of_it = {by: text for by, text in of_it.items() if text and by != seat.label}
        if not of_it or seat.label not in self.proposals:
            return None
        shown = self._shown(seat, of_it, "Review by {}")
        return REBUT(question=self.asked, proposal=self._own(seat), reviews=shown)

    def ballot(self, seat: Seat) -> Draft:
        return VOTE(
            question=self.asked,
            label=seat.label,
            proposals=self._shown(seat, self.proposals),
            reviews=self._shown(seat, self.reviews, "Review by {}"),
            rebuttals=self._shown(seat, self.rebuttals, "Reply of {}"),
        )

    def synthesis(self, author: Seat) -> Draft:
        return SYNTHESISE(
            question=self.asked,
            proposal=self._own(author),
            others=self._others(author),
            votes=self._shown(author, self.votes, "Vote of {}"),
        )

    def confirmation(self, winner: str, merged: str) -> Draft:
        adopted, text = Material("Adopted proposal", self.proposals[winner]), Material("Merged text", merged)
        return CONFIRM(question=self.asked, proposal=adopted, synthesis=text)

    def _own(self, seat: Seat) -> Material:
        return Material(seat.label, self.proposals[seat.label])

    def _others(self, seat: Seat) -> list[Material] | str:
        return self._shown(seat, {by: text for by, text in self.proposals.items() if by != seat.label})

    def _shown(self, reader: Seat, texts: Mapping[str, str], label: str = "{}") -> list[Material] | str:
        """Texts under their authors' labels, in an order of the reader's own."""
        shown = [Material(label.format(by), text) for by, text in sorted(texts.items())]
        return self.panel.shuffle(shown, "council", self.n, reader.label) or "(none)"
