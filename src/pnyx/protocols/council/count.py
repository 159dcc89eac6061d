"""The count of the ballots of one round of a council."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import Seat
from ...core.parsing.ballots import Ballot
from ...core.voting.tally import VoteCount, borda, break_tie, by_seat, majority_of, plurality

__all__ = ["Count", "describe_ballot"]


@dataclass(frozen=True, slots=True)
class Count:
    """The ballots of one round.

    candidates: labels of the proposals, in the run's shuffled order. ballots: by the voter's label, None for
    a reply that is no vote. live: the number of live seats, of which a majority is counted. seats: the panel,
    whose learned weights break a split without a majority; a majority always counts seats.
    """

    candidates: tuple[str, ...]
    ballots: Mapping[str, Ballot | None]
    live: int
    seats: tuple[Seat, ...] = ()

    @property
    def tally(self) -> VoteCount:
        """The endorsements. `share` is a share of the live seats."""
        return plurality([self.endorsement(seat) for seat in self.ballots], live=self.live)

    @property
    def points(self) -> dict[str, float]:
        """Borda points, from the ballots that have a ranking."""
        return borda([b.ranking for b in self.ballots.values() if b and b.ranking], self.candidates)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The most endorsed proposals; all proposals if none is endorsed."""
        count = self.tally
        if max(count.counts.values(), default=0) < majority_of(self.live):
            voters = [seat for seat in self.seats if seat.label in self.ballots]
            weighted = by_seat([self.endorsement(seat.label) for seat in voters], voters)
            return weighted.leaders or count.leaders or self.candidates
        return count.leaders

    @property
    def winner(self) -> str:
        """The most endorsed proposal; a tie goes to the most Borda points, then to the first in order."""
        return break_tie(self.leaders, [self.points], self.candidates)

    @property
    def endorsed(self) -> int:
        """The number of seats that endorse the winner."""
        return int(self.tally.counts.get(self.winner, 0))

    @property
    def settled_by(self) -> str:
        """The rule by which the winner wins: majority | plurality | borda | order."""
        if self.endorsed >= majority_of(self.live):
            return "majority"
        if len(self.leaders) == 1:
            return "plurality"
        first, second, *_ = sorted((self.points[label] for label in self.leaders), reverse=True)
        return "borda" if first > second else "order"

    @property
    def positions(self) -> dict[str, tuple[str, str | None] | None]:
        """The kind of vote and the endorsement of every voter, without its text."""
        return {seat: (b.kind, b.label) if b else None for seat, b in self.ballots.items()}

    def endorsement(self, seat: str) -> str | None:
        """Return the label that a seat endorses, None if it endorses none."""
        ballot = self.ballots.get(seat)
        return ballot.label if ballot and ballot.kind == "finalize" else None

    def outcome(self, before: Count | None, last: bool) -> str:
        """Return why the voting ends with this round: majority | deadlock | max_rounds; "" if it goes on."""
        if self.settled_by == "majority":
            return "majority"
        if before is not None and before.positions == self.positions:
            return "deadlock"
        return "max_rounds" if last else ""

    @property
    def counts(self) -> dict[str, float]:
        """The endorsements of every proposal, 0 included."""
        return {label: self.tally.counts.get(label, 0.0) for label in sorted(self.candidates)}

    def figures(self) -> dict[str, Any]:
        """Return the other figures of the count, for the record and the result."""
        return {
            "borda": self.points,
            "margin": self.tally.margin,
            "live": self.live,
            "needed": majority_of(self.live),
            "settled_by": self.settled_by,
            "self_endorsed": [seat for seat in self.ballots if self.endorsement(seat) == seat],
            "abstained": [seat for seat, ballot in self.ballots.items() if ballot is None],
        }


def describe_ballot(ballot: Ballot) -> str:
    """Return a ballot as text: "FINALIZE: Participant B. Its sum is right"."""
    words = ". ".join(filter(None, (ballot.label, ballot.text)))
    return f"{ballot.kind.upper()}: {words}" if words else ballot.kind.upper()
