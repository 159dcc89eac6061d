"""What the ballots of one round of a council come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import Seat
from ...core.parsing.ballots import Ballot
from ...core.tally import VoteCount, borda, break_tie, by_seat, majority_of, plurality

__all__ = ["Count", "told"]


@dataclass(frozen=True, slots=True)
class Count:
    """The ballots of one round.

    candidates: labels of the proposals, in the run's shuffled order. ballots: by the voter's label, None
    where what it said is no vote. live: the seats of which a majority is counted. seats: who they are,
    where what their votes are worth is known; a majority is one of heads all the same.
    """

    candidates: tuple[str, ...]
    ballots: Mapping[str, Ballot | None]
    live: int
    seats: tuple[Seat, ...] = ()

    @property
    def tally(self) -> VoteCount:
        """Endorsements. `share` is of the live seats."""
        return plurality([self.endorsement(seat) for seat in self.ballots], live=self.live)

    @property
    def points(self) -> dict[str, float]:
        """Borda points, from the rankings that were given."""
        return borda([b.ranking for b in self.ballots.values() if b and b.ranking], self.candidates)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The most endorsed proposals; all of them when none is endorsed."""
        heads = self.tally
        if max(heads.counts.values(), default=0) < majority_of(self.live):
            voters = [seat for seat in self.seats if seat.label in self.ballots]
            worth = by_seat([self.endorsement(seat.label) for seat in voters], voters)
            return worth.leaders or heads.leaders or self.candidates
        return heads.leaders

    @property
    def winner(self) -> str:
        """The most endorsed proposal, of several the one with most Borda points, else the first in order."""
        return break_tie(self.leaders, [self.points], self.candidates)

    @property
    def endorsed(self) -> int:
        """How many seats endorse the winner."""
        return int(self.tally.counts.get(self.winner, 0))

    @property
    def settled_by(self) -> str:
        """What makes the winner win: majority | plurality | borda | order."""
        if self.endorsed >= majority_of(self.live):
            return "majority"
        if len(self.leaders) == 1:
            return "plurality"
        first, second, *_ = sorted((self.points[label] for label in self.leaders), reverse=True)
        return "borda" if first > second else "order"

    @property
    def positions(self) -> dict[str, tuple[str, str | None] | None]:
        """Vote and endorsement of every voter, without its words."""
        return {seat: (b.kind, b.label) if b else None for seat, b in self.ballots.items()}

    def endorsement(self, seat: str) -> str | None:
        """The label that the seat with this label endorses."""
        ballot = self.ballots.get(seat)
        return ballot.label if ballot and ballot.kind == "finalize" else None

    def outcome(self, before: Count | None, last: bool) -> str:
        """Why the voting ends with this round: majority | deadlock | max_rounds; "" when it does not."""
        if self.settled_by == "majority":
            return "majority"
        if before is not None and before.positions == self.positions:
            return "deadlock"
        return "max_rounds" if last else ""

    @property
    def counts(self) -> dict[str, float]:
        """Endorsements of every proposal, also of those that have none."""
        return {label: self.tally.counts.get(label, 0.0) for label in sorted(self.candidates)}

    def figures(self) -> dict[str, Any]:
        """What else the record and the result show of the count."""
        return {
            "borda": self.points,
            "margin": self.tally.margin,
            "live": self.live,
            "needed": majority_of(self.live),
            "settled_by": self.settled_by,
            "self_endorsed": [seat for seat in self.ballots if self.endorsement(seat) == seat],
            "abstained": [seat for seat, ballot in self.ballots.items() if ballot is None],
        }


def told(ballot: Ballot) -> str:
    """A ballot in words: "FINALIZE: Participant B. Its sum is right"."""
    words = ". ".join(filter(None, (ballot.label, ballot.text)))
    return f"{ballot.kind.upper()}: {words}" if words else ballot.kind.upper()
