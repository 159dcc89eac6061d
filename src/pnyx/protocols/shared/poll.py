"""How protocols count the short answers of replies, and what a decision has to say of the count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.answers.extract import final_answer
from ...core.answers.grouping import find_group, group_answers
from ...core.models import Seat, strongest
from ...core.steps import Dissent, Reply, Tally
from ...core.tally import VoteCount, break_tie, by_seat, majority_of

__all__ = ["Poll"]

SHARE = "vote share"
"""The name of the rule behind the confidence of a poll."""


@dataclass(frozen=True, slots=True)
class Poll:
    """The short answers of `votes`, counted.

    votes: in the order they were asked for. answers: for each vote the name of its group of like answers;
    None where it has no short answer, or was cut off before it may have said another. groups: name ->
    wordings. weights: what each vote counts, by the label of its seat, where that is stated; None where it is
    what the seat's are known to be worth. rule: the name of the rule behind its confidence.
    """

    votes: tuple[Reply, ...]
    answers: tuple[str | None, ...]
    groups: Mapping[str, Sequence[str]]
    tally: VoteCount
    weights: Mapping[str, float] | None = None
    rule: str = SHARE

    @classmethod
    def of(
        cls, votes: Sequence[Reply], weights: Mapping[str, float] | None = None, rule: str = SHARE
    ) -> Poll:
        said = [None if vote.truncated else final_answer(vote.text) for vote in votes]
        groups = group_answers(said)
        answers = tuple(find_group(answer, groups) for answer in said)
        seats = [vote.seat for vote in votes]
        if weights is not None:
            seats = [replace(seat, weight=weights[seat.label]) for seat in seats]
        return cls(tuple(votes), answers, groups, by_seat(answers, seats), weights, rule)

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Who voted, strongest first."""
        return strongest(tuple(dict.fromkeys(vote.seat for vote in self.votes)))

    @property
    def leader(self) -> str | None:
        """The answer with the most support, of several the strongest seat's; None when none was counted."""
        order = [answer for _, answer in self._ranked() if answer is not None]
        return break_tie(self.tally.leaders, order=order) if order else None

    @property
    def lead(self) -> tuple[int, int]:
        """How many votes the leader has, and the most of any other answer; 0 where there is none."""
        others = [self.answers.count(answer) for answer in self.groups if answer != self.leader]
        return self.answers.count(self.leader) if self.groups else 0, max(others, default=0)

    def voice(self, answer: str | None) -> Reply:
        """The vote that stands for `answer`, or for all votes: whole before cut off, strongest seat first."""
        votes = [vote for vote, own in self._ranked() if answer in (None, own)]
        return min(votes, key=lambda vote: vote.truncated)

    def find(self, short: str | None) -> str | None:
        """The counted answer that a short answer is; None where it is none of them."""
        return find_group(short, self.groups)

    def tell(self) -> Tally:
        """The count, for the record."""
        learned = any(vote.seat.weight is not None for vote in self.votes)
        rule = "plurality" if self.weights is None and not learned else "weighted plurality"
        return Tally(rule, self.tally.counts, self.leader, self._figures())

    def standing(self, short: str | None) -> dict[str, Any]:
        """What the votes say of a decision whose short answer is `short`: the fields of `Decision` for it.

        agreement: the share of votes for it, None when it has no short answer or fewer than two votes were
        counted. confidence: that share, None when fewer than two seats spoke.
        """
        if len(self.votes) == 1:
            return {"status": "single"}
        if short is None or sum(answer is not None for answer in self.answers) < 2:
            return {"status": "decided"}
        group, live = self.find(short), len(self.votes)
        behind = self.answers.count(group) if group else 0
        leads = group in self.tally.leaders
        status = "majority" if behind >= majority_of(live) else "plurality" if leads else "decided"
        share = behind / live
        return {
            "status": "consensus" if behind == live else status,
            "agreement": share,
            "confidence": share if len(self.seats) > 1 else None,
            "confidence_rule": self.rule if len(self.seats) > 1 else None,
            "dissent": self._against(group),
        }

    def detail(self) -> dict[str, Any]:
        """The votes and their count, as the result shows them."""
        votes = [
            {"seat": vote.seat.label, "model": vote.seat.model, "answer": answer}
            for vote, answer in zip(self.votes, self.answers, strict=True)
        ]
        tally = dict(self.tally.counts)
        return {"votes": votes, "native": self.native, "tally": tally, **self._figures()}

    @property
    def native(self) -> dict[str, str | None]:
        """Each seat's answer, by label: `detail.native`, where no seat had heard of another."""
        pairs = zip(self.votes, self.answers, strict=True)
        return {vote.seat.label: answer for vote, answer in pairs}

    @property
    def alone(self) -> dict[str, Any]:
        """What votes alone come to, beside a decision that was talked over: `detail.vote_only`."""
        return {"answer": self.leader, "tally": dict(self.tally.counts), "margin": self.tally.margin}

    def _figures(self) -> dict[str, Any]:
        return {"margin": self.tally.margin, "tied": len(self.tally.leaders) > 1}

    def _against(self, group: str | None) -> tuple[Dissent, ...]:
        """One dissent for each seat and answer."""
        pairs = zip(self.votes, self.answers, strict=True)
        other = [(vote, answer) for vote, answer in pairs if answer not in (None, group)]
        first = {(vote.seat, answer): vote for vote, answer in reversed(other)}
        return tuple(Dissent(v.seat.label, v.seat.model, v.text) for v in reversed(first.values()))

    def _ranked(self) -> list[tuple[Reply, str | None]]:
        pairs = zip(self.votes, self.answers, strict=True)
        rank = {seat: place for place, seat in enumerate(self.seats)}
        return sorted(pairs, key=lambda pair: rank[pair[0].seat])
