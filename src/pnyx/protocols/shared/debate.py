"""The record of a debate: the positions of each round, and the fields of the result that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.steps import Dissent
from ...core.voting.tally import VoteCount, majority_of, weighted
from .evidence import LATER, Statement, agreed, support
from .positions import StatedAnswer, leader, representative, tally

__all__ = ["Debate", "decision_fields"]


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

    def support(self, group: str, ballots: Sequence[StatedAnswer] = ()) -> float | None:
        """Return the posterior of an answer, by first answers and, at `LATER`, by later positions.

        ballots: the answers that are counted in the end. Those of a vote after the last round are positions
        too; others are of a round.
        """
        known = {id(one) for some in self.rounds for one in some}
        cast = [one for one in ballots if id(one) not in known]
        every = [(one, n) for n, some in enumerate([*self.rounds, cast]) for one in some]
        return support([Statement.of(one.seat, one.text, one.group, n) for one, n in every], group)

    @property
    def _pooled(self) -> VoteCount:
        votes = [(one, LATER if n else 1.0) for n, answers in enumerate(self.rounds) for one in answers]
        return weighted([one.group for one, _ in votes], [share for _, share in votes])

    def dissent(self, ballots: Sequence[StatedAnswer], group: str) -> tuple[Dissent, ...]:
        """Return the seats that ended on another answer."""
        return tuple(
            Dissent(one.seat.label, one.seat.model, one.text_for_seats)
            for one in self._last(ballots).values()
            if one.group != group
        )

    def _last(self, ballots: Sequence[StatedAnswer]) -> Mapping[str, StatedAnswer]:
        """Return where each seat ended: its ballot or, without one, its last position."""
        return self.last_positions | {one.seat.label: one for one in ballots}

    def detail(self, ballots: Sequence[StatedAnswer], winner: str) -> dict[str, Any]:
        """Return the positions of each round, the ballots that decide, and the result of first votes."""
        last = tally(ballots)
        ends = (Statement.of(one.seat, one.text, one.group) for one in self._last(ballots).values())
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
            "agreed": agreed((one.seat, one.group == winner) for one in ends),
        }


def decision_fields(counts: Mapping[str, float], winner: str, behind: int) -> dict[str, Any]:
    """Return `status` and `agreement` of the `Decision` for the answer that ballots chose.

    behind: how many seats end on it with a text that says something. If none does, nobody agrees on it.
    """
    cast = int(sum(counts.values()))
    if cast == 1:
        return {"status": "single"}
    if not behind:
        return {"status": "decided"}
    most = "majority" if counts[winner] >= majority_of(cast) else "plurality"
    return {"status": "consensus" if len(counts) == 1 else most, "agreement": counts[winner] / cast}
