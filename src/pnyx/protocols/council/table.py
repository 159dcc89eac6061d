"""The state of a council: the current texts of its seats, and the prompts made of them."""

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
    """The current texts, by the label of the author; only `first_proposals` is older than the last round.

    question: with its context. n: the round, from 1. first_proposals: the replies of the first round.
    """

    panel: Panel
    question: str | Draft
    today: str
    n: int = 0
    first_proposals: list[Reply] = field(default_factory=list)
    proposals: dict[str, str] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    rebuttals: dict[str, str] = field(default_factory=dict)
    votes: dict[str, str] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The labels of the proposals, in the run's shuffled order."""
        order = self.panel.shuffle([seat.label for seat in self.panel.seats])
        return tuple(label for label in order if label in self.proposals)

    def leading_proposal(self, count: Count | None) -> str | None:
        """Return the winner of the last count, or the first proposal in order; None without a proposal."""
        leader = count.winner if count else next(iter(self.candidates), "")
        return self.proposals.get(leader)

    def proposal(self, seat: Seat) -> Draft:
        if seat.label not in self.proposals:
            return PROPOSE(question=self.question, today=self.today)
        return PROPOSE_AGAIN(
            question=self.question,
            today=self.today,
            proposal=self._own_proposal(seat),
            others=self._other_proposals(seat),
            votes=self._materials(seat, self.votes, "Vote of {}"),
        )

    def review(self, seat: Seat) -> Draft:
        return REVIEW(question=self.question, proposals=self._other_proposals(seat))

    def rebuttal(self, seat: Seat) -> Draft | None:
        """Return the prompt; None if the seat has no proposal, or no review covers it."""
        reviews = {by: review_of(seat.label, text, self.candidates) for by, text in self.reviews.items()}
        reviews = {by: text for by, text in reviews.items() if text and by != seat.label}
        if not reviews or seat.label not in self.proposals:
            return None
        materials = self._materials(seat, reviews, "Review by {}")
        return REBUT(question=self.question, proposal=self._own_proposal(seat), reviews=materials)

    def ballot(self, seat: Seat) -> Draft:
        return VOTE(
            question=self.question,
            label=seat.label,
            proposals=self._materials(seat, self.proposals),
            reviews=self._materials(seat, self.reviews, "Review by {}"),
            rebuttals=self._materials(seat, self.rebuttals, "Reply of {}"),
        )

    def synthesis(self, author: Seat) -> Draft:
        return SYNTHESISE(
            question=self.question,
            proposal=self._own_proposal(author),
            others=self._other_proposals(author),
            votes=self._materials(author, self.votes, "Vote of {}"),
        )

    def confirmation(self, winner: str, merged: str) -> Draft:
        adopted, text = Material("Adopted proposal", self.proposals[winner]), Material("Merged text", merged)
        return CONFIRM(question=self.question, proposal=adopted, synthesis=text)

    def _own_proposal(self, seat: Seat) -> Material:
        return Material(seat.label, self.proposals[seat.label])

    def _other_proposals(self, seat: Seat) -> list[Material] | str:
        return self._materials(seat, {by: text for by, text in self.proposals.items() if by != seat.label})

    def _materials(self, reader: Seat, texts: Mapping[str, str], label: str = "{}") -> list[Material] | str:
        """Return texts under their authors' labels, in an order shuffled for the reader."""
        materials = [Material(label.format(by), text) for by, text in sorted(texts.items())]
        return self.panel.shuffle(materials, "council", self.n, reader.label) or "(none)"
