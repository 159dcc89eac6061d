"""The state of a council: the current texts of its seats, and the prompts about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...core.models import Seat
from ...core.steps import Panel, Reply
from ...core.text import Draft
from ...prompts import load
from ..shared.transcript import Transcript, quoted
from .count import Count
from .texts import review_of

__all__ = ["SYSTEM", "Table"]

SYSTEM = load("council/system")
PROPOSE, PROPOSE_AGAIN = load("council/propose"), load("council/propose-again")
REVIEW, REBUT, VOTE = load("council/review"), load("council/rebut"), load("council/vote")
SYNTHESISE, CONFIRM = load("council/synthesise"), load("council/confirm")


@dataclass(slots=True)
class Table:
    """The current texts, by the label of the author; only `first_proposals` is older than the last round.

    n: the round, from 1. first_proposals: the replies of the first round. shown: kind -> author -> the label
    in the transcript of the current text of that kind.
    """

    panel: Panel
    transcript: Transcript
    n: int = 0
    first_proposals: list[Reply] = field(default_factory=list)
    proposals: dict[str, str] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    rebuttals: dict[str, str] = field(default_factory=dict)
    votes: dict[str, str] = field(default_factory=dict)
    shown: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The labels of the proposals, in the run's shuffled order."""
        order = self.panel.shuffle([seat.label for seat in self.panel.seats])
        return tuple(label for label in order if label in self.proposals)

    def leading_proposal(self, count: Count | None) -> str | None:
        """Return the winner of the last count, or the first proposal in order; None without a proposal."""
        leader = count.winner if count else next(iter(self.candidates), "")
        return self.proposals.get(leader)

    def start_round(self) -> None:
        self.n += 1
        self.transcript.trim(self._shown("Proposal", "Vote"))

    def show_proposals(self, texts: Mapping[str, str], new: bool = False) -> None:
        """Add proposals of this round to the transcript. new: they replace others of this round."""
        self.proposals |= texts
        kind = "New proposal" if new else "Proposal"
        self.shown["Proposal"] = self.shown.get("Proposal", {}) | self._add(kind, texts)

    def show(self, kind: str, texts: Mapping[str, str]) -> None:
        """Add the texts of one kind of this round to the transcript."""
        self.shown[kind] = self._add(kind, texts)

    def proposal(self, seat: Seat) -> Draft:
        own = self.shown.get("Proposal", {}).get(seat.label)
        if own is None:
            return self.transcript.task(PROPOSE())
        task = PROPOSE_AGAIN(label=seat.label, proposal=own)
        return self.transcript.task(task, self._shown("Proposal", "Vote"))

    def review(self, seat: Seat) -> Draft:
        others = self._other_proposals(seat)
        return self.transcript.task(REVIEW(label=seat.label, proposals=quoted(others)), others)

    def rebuttal(self, seat: Seat) -> Draft | None:
        """Return the prompt; None if the seat has no proposal, or no review covers it."""
        covering = [
            self.shown["Review"][by]
            for by, text in self.reviews.items()
            if by != seat.label and review_of(seat.label, text, self.candidates)
        ]
        if not covering or seat.label not in self.proposals:
            return None
        own = self.shown["Proposal"][seat.label]
        task = REBUT(label=seat.label, proposal=own, reviews=quoted(covering))
        return self.transcript.task(task, [own, *covering])

    def ballot(self, seat: Seat) -> Draft:
        task = VOTE(label=seat.label, proposals=quoted(self._shown("Proposal")))
        return self.transcript.task(task, self._shown("Proposal", "Review", "Reply"))

    def synthesis(self, author: Seat) -> Draft:
        own, others = self.shown["Proposal"][author.label], self._other_proposals(author)
        task = SYNTHESISE(label=author.label, proposal=own, others=quoted(others))
        return self.transcript.task(task, self._shown("Proposal", "Vote"))

    def confirmation(self, winner: str, merged: str) -> Draft:
        adopted = self.shown["Proposal"][winner]
        text = self.transcript.add(f"Merged text by {winner}", merged)
        return self.transcript.task(CONFIRM(proposal=adopted, synthesis=text), [adopted, text])

    def _other_proposals(self, seat: Seat) -> list[str]:
        shown = self.shown.get("Proposal", {})
        return [shown[by] for by in self.candidates if by != seat.label]

    def _shown(self, *kinds: str) -> list[str]:
        return [label for kind in kinds for label in self.shown.get(kind, {}).values()]

    def _add(self, kind: str, texts: Mapping[str, str]) -> dict[str, str]:
        return self.transcript.add_all(f"{kind} of round {self.n}", texts)
