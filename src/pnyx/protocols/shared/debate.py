"""What a debate has come to, round by round, and what a result says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.steps import Dissent
from ...core.tally import VoteCount, majority_of, weighted
from .positions import Stated, leader, tally, voice

__all__ = ["RULE", "Debate", "standing"]

LATER = 0.25
"""What a position taken after hearing the others weighs beside a native answer."""

RULE = f"share of models with this answer (a model that changed its mind counts {100 * LATER:.0f} %)"
"""The name of the rule behind `Debate.backing`."""


@dataclass(slots=True)
class Debate:
    """Who said what. rounds: the native answers, then the positions taken in each round.

    standing: label -> the last position of everybody. still: rounds since anybody moved.
    """

    rounds: list[Sequence[Stated]]
    standing: dict[str, Stated] = field(init=False)
    still: int = 0
    moves: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.standing = {}
        self._note(self.natives)

    @property
    def natives(self) -> Sequence[Stated]:
        return self.rounds[0]

    @property
    def number(self) -> int:
        """Rounds that were held."""
        return len(self.rounds) - 1

    @property
    def native(self) -> VoteCount:
        return tally(self.natives)

    @property
    def best(self) -> str:
        """The text of the answer that leads among the last positions."""
        last = list(self.standing.values())
        return voice(last, leader(last, [self.native.counts])).text

    def hear(self, said: Sequence[Stated]) -> None:
        """The positions of a round, of the seats that took one."""
        self.rounds.append(said)
        self.still = 0 if self._note(said) else self.still + 1

    def _note(self, said: Sequence[Stated]) -> bool:
        moved = False
        for one in said:
            before = self.standing.get(one.seat.label)
            changed = bool(self.number) and (before is None or before.camp != one.camp)
            self.moves.append({"round": self.number, **one.ballot, "changed": changed})
            moved = moved or changed
        self.standing |= {one.seat.label: one for one in said}
        return moved

    def backing(self, camp: str) -> float:
        """The share of an answer, in [0, 1]: native answers at full weight, later positions at `LATER`.

        Seats count alike, whatever their votes weigh: a share must mean the same before and after there is a
        history, or what it was calibrated on says nothing of it.
        """
        return self._pooled.counts.get(camp, 0.0) / sum(self._pooled.counts.values())

    @property
    def _pooled(self) -> VoteCount:
        votes = [(one, LATER if n else 1.0) for n, said in enumerate(self.rounds) for one in said]
        return weighted([one.camp for one, _ in votes], [share for _, share in votes])

    def dissent(self, ballots: Sequence[Stated], camp: str) -> tuple[Dissent, ...]:
        """Who ended elsewhere: by ballot, or by the last position where there is none."""
        last = self.standing | {one.seat.label: one for one in ballots}
        return tuple(
            Dissent(one.seat.label, one.seat.model, one.shown) for one in last.values() if one.camp != camp
        )

    def detail(self, ballots: Sequence[Stated]) -> dict[str, Any]:
        """The positions of every round, the ballots that decided, and what votes alone would have said."""
        last = tally(ballots)
        first = leader(self.natives)
        alone = {"answer": first, "text": voice(self.natives, first).text}
        return {
            "votes": [one.ballot for one in ballots],
            "native": {one.seat.label: one.camp for one in self.natives if one.short is not None},
            "tally": dict(last.counts),
            "margin": last.margin,
            "vote_only": {**alone, "tally": dict(self.native.counts), "margin": self.native.margin},
            "positions": self.moves,
            "changes": sum(move["changed"] for move in self.moves),
            "pooled_tally": dict(self._pooled.counts),
        }


def standing(counts: Mapping[str, float], winner: str) -> dict[str, Any]:
    """The fields of `Decision` for an answer that ballots chose: how many of them, and what that makes it."""
    cast = int(sum(counts.values()))
    if cast == 1:
        return {"status": "single"}
    most = "majority" if counts[winner] >= majority_of(cast) else "plurality"
    return {"status": "consensus" if len(counts) == 1 else most, "agreement": counts[winner] / cast}
