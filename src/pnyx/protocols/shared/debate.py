"""The record of a debate: the positions of each round, and the fields of the result that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.steps import Dissent
from ...core.tally import VoteCount, majority_of, weighted
from .positions import StatedAnswer, leader, representative, tally

__all__ = ["RULE", "Debate", "decision_fields"]

LATER = 0.25
"""The weight of a position that a seat took after it read the others; a first answer weighs 1."""

RULE = f"share of models with this answer (a model that changed its mind counts {100 * LATER:.0f} %)"
"""The name of the rule behind `Debate.support`."""


@dataclass(slots=True)
class Debate:
    """The positions of a debate.

    rounds: the first answers, then the positions of each round. last_positions: label -> the last position of
    that seat. unchanged_rounds: rounds since a seat last changed its answer. moves: `detail.positions`.
    """

    rounds: list[Sequence[StatedAnswer]]
    last_positions: dict[str, StatedAnswer] = field(init=False)
    unchanged_rounds: int = 0
    moves: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last_positions = {}
        self._record(self.first_answers)

    @property
    def first_answers(self) -> Sequence[StatedAnswer]:
        return self.rounds[0]

    @property
    def number(self) -> int:
        """The number of rounds so far, without the first answers."""
        return len(self.rounds) - 1

    @property
    def first_count(self) -> VoteCount:
        return tally(self.first_answers)

    @property
    def best(self) -> str:
        """The text of the answer that leads among the last positions."""
        last = list(self.last_positions.values())
        return representative(last, leader(last, [self.first_count.counts])).text

    def add_round(self, answers: Sequence[StatedAnswer]) -> None:
        """Add the positions of a round, of the seats that took one."""
        self.rounds.append(answers)
        self.unchanged_rounds = 0 if self._record(answers) else self.unchanged_rounds + 1

    def _record(self, answers: Sequence[StatedAnswer]) -> bool:
        """Record the positions of the last round; returns whether a seat changed its answer."""
        moved = False
        for one in answers:
            before = self.last_positions.get(one.seat.label)
            changed = bool(self.number) and (before is None or before.group != one.group)
            self.moves.append({"round": self.number, **one.ballot, "changed": changed})
            moved = moved or changed
        self.last_positions |= {one.seat.label: one for one in answers}
        return moved

    def support(self, group: str) -> float:
        """Return the share of an answer, in [0, 1]: first answers at full weight, later positions at `LATER`.

        Learned weights do not count: the share must mean the same with and without a history, because
        confidence is calibrated on it.
        """
        return self._pooled.counts.get(group, 0.0) / sum(self._pooled.counts.values())

    @property
    def _pooled(self) -> VoteCount:
        votes = [(one, LATER if n else 1.0) for n, answers in enumerate(self.rounds) for one in answers]
        return weighted([one.group for one, _ in votes], [share for _, share in votes])

    def dissent(self, ballots: Sequence[StatedAnswer], group: str) -> tuple[Dissent, ...]:
        """Return the seats that ended on another answer, by ballot or, without one, by last position."""
        last = self.last_positions | {one.seat.label: one for one in ballots}
        return tuple(
            Dissent(one.seat.label, one.seat.model, one.text_for_seats)
            for one in last.values()
            if one.group != group
        )

    def detail(self, ballots: Sequence[StatedAnswer]) -> dict[str, Any]:
        """Return the positions of each round, the ballots that decide, and the result of first votes."""
        last = tally(ballots)
        first = leader(self.first_answers)
        vote_only = {"answer": first, "text": representative(self.first_answers, first).text}
        return {
            "votes": [one.ballot for one in ballots],
            "native": {one.seat.label: one.group for one in self.first_answers if one.short is not None},
            "tally": dict(last.counts),
            "margin": last.margin,
            "vote_only": {
                **vote_only,
                "tally": dict(self.first_count.counts),
                "margin": self.first_count.margin,
            },
            "positions": self.moves,
            "changes": sum(move["changed"] for move in self.moves),
            "pooled_tally": dict(self._pooled.counts),
        }


def decision_fields(counts: Mapping[str, float], winner: str) -> dict[str, Any]:
    """Return `status` and `agreement` of the `Decision` for the answer that ballots chose."""
    cast = int(sum(counts.values()))
    if cast == 1:
        return {"status": "single"}
    most = "majority" if counts[winner] >= majority_of(cast) else "plurality"
    return {"status": "consensus" if len(counts) == 1 else most, "agreement": counts[winner] / cast}
