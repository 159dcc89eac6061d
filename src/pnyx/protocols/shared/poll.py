"""Polls: the count of the short answers of replies, and the fields of the result that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.answers.code.calls import short_calls
from ...core.answers.replies.extract import final_answer
from ...core.answers.same.grouping import find_group, group_answers
from ...core.models import Seat, strongest
from ...core.steps import Dissent, Reply, Tally
from ...core.voting.tally import VoteCount, break_tie, by_seat, majority_of
from .evidence import VOTES, Statement, agreed, support

__all__ = ["TEXT", "Poll"]

TEXT = "(an answer in words)"
"""The short answer of a text without one, if other votes are calls of tools: it is a vote against a call."""


@dataclass(frozen=True, slots=True)
class Poll:
    """The count of the short answers of `votes`.

    votes: in the order of their calls. answers: the answer group of each vote, None for a vote that has no
    short answer or was cut off. groups: name -> wordings. weights: label of a seat -> weight of its votes;
    None uses the learned weights. rule: the name of the rule behind its support. question: what the votes
    answer, which can decide how an answer is read.
    """

    votes: tuple[Reply, ...]
    answers: tuple[str | None, ...]
    groups: Mapping[str, Sequence[str]]
    tally: VoteCount
    weights: Mapping[str, float] | None = None
    rule: str = VOTES
    question: str | None = None

    @classmethod
    def of(
        cls,
        votes: Sequence[Reply],
        weights: Mapping[str, float] | None = None,
        rule: str = VOTES,
        *,
        question: str | None = None,
    ) -> Poll:
        short = [None if vote.truncated else final_answer(vote.text, question) for vote in votes]
        if any(short_calls(answer) for answer in short if answer is not None):
            short = [
                TEXT if answer is None and not vote.truncated else answer
                for vote, answer in zip(votes, short, strict=True)
            ]
        groups = group_answers(short, question)
        answers = tuple(find_group(answer, groups, question) for answer in short)
        seats = [vote.seat for vote in votes]
        if weights is not None:
            seats = [replace(seat, weight=weights[seat.label]) for seat in seats]
        return cls(tuple(votes), answers, groups, by_seat(answers, seats), weights, rule, question)

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats that voted, strongest first."""
        return strongest(tuple(dict.fromkeys(vote.seat for vote in self.votes)))

    @property
    def leader(self) -> str | None:
        """The answer with the most support, the strongest seat's in a tie; None if no answer was counted."""
        order = [answer for _, answer in self._ranked() if answer is not None]
        return break_tie(self.tally.leaders, order=order) if order else None

    @property
    def lead(self) -> tuple[int, int]:
        """The number of votes of the leader and of the runner-up; 0 for one that does not exist."""
        others = [self.answers.count(answer) for answer in self.groups if answer != self.leader]
        return self.answers.count(self.leader) if self.groups else 0, max(others, default=0)

    def representative(self, answer: str | None) -> Reply:
        """Return the strongest seat's vote for `answer`, or of all votes for None; whole votes come first."""
        votes = [vote for vote, group in self._ranked() if answer in (None, group)]
        return min(votes, key=lambda vote: vote.truncated)

    def read(self, text: str) -> str | None:
        """Return the short answer of `text` to the poll's question, None if it has none."""
        return final_answer(text, self.question) or (TEXT if TEXT in self.groups else None)

    def find(self, short: str | None) -> str | None:
        """Return the counted answer that equals a short answer, None if none does."""
        return find_group(short, self.groups, self.question)

    def tally_step(self) -> Tally:
        """Return the step that records the count."""
        learned = any(vote.seat.weight is not None for vote in self.votes)
        rule = "plurality" if self.weights is None and not learned else "weighted plurality"
        return Tally(rule, self.tally.counts, self.leader, self._figures())

    def decision_fields(self, short: str | None) -> dict[str, Any]:
        """Return the fields of the `Decision` whose short answer is `short`.

        agreement: the share of votes for it; left out without a short answer or with fewer than two votes
        that state one: a text of empty sentences agrees with nobody. support: its posterior.
        """
        if len(self.votes) == 1:
            return {"status": "single"}
        stated = [one.group for one in self.statements]
        if short is None or sum(answer is not None for answer in stated) < 2:
            return {"status": "decided"}
        group, live = self.find(short), len(self.votes)
        behind = stated.count(group) if group else 0
        leads = group in self.tally.leaders
        status = "majority" if behind >= majority_of(live) else "plurality" if leads else "decided"
        share = behind / live
        return {
            "status": "consensus" if behind == live else status,
            "agreement": share,
            "support": support(self.statements, group or short),
            "support_rule": self.rule,
            "dissent": self._dissent(group),
        }

    @property
    def statements(self) -> list[Statement]:
        """The votes as evidence."""
        pairs = zip(self.votes, self.answers, strict=True)
        return [Statement.of(vote.seat, vote.text, answer) for vote, answer in pairs]

    def agreed(self, short: str | None) -> dict[str, int]:
        """Return how many votes are for the answer of the decision: `detail.agreed`."""
        group = self.find(short)
        return agreed((one.seat, group is not None and one.group == group) for one in self.statements)

    def detail(self, short: str | None) -> dict[str, Any]:
        """Return the votes, their count, and how many are for `short`: fields of `Result.detail`."""
        votes = [
            {"seat": vote.seat.label, "model": vote.seat.model, "answer": answer}
            for vote, answer in zip(self.votes, self.answers, strict=True)
        ]
        tally = dict(self.tally.counts)
        shown = {"votes": votes, "native": self.answer_by_seat, "tally": tally, **self._figures()}
        return {**shown, "agreed": self.agreed(short)}

    @property
    def answer_by_seat(self) -> dict[str, str | None]:
        """Each seat's answer, by label: `detail.native`, if no seat has read another's answer."""
        pairs = zip(self.votes, self.answers, strict=True)
        return {vote.seat.label: answer for vote, answer in pairs}

    @property
    def vote_only(self) -> dict[str, Any]:
        """The result of votes alone, without judgement or debate: `detail.vote_only`."""
        return {"answer": self.leader, "tally": dict(self.tally.counts), "margin": self.tally.margin}

    def _figures(self) -> dict[str, Any]:
        return {"margin": self.tally.margin, "tied": len(self.tally.leaders) > 1}

    def _dissent(self, group: str | None) -> tuple[Dissent, ...]:
        """Return one dissent for each seat and other answer."""
        pairs = zip(self.votes, self.answers, strict=True)
        other = [(vote, answer) for vote, answer in pairs if answer not in (None, group)]
        first = {(vote.seat, answer): vote for vote, answer in reversed(other)}
        return tuple(Dissent(v.seat.label, v.seat.model, v.text) for v in reversed(first.values()))

    def _ranked(self) -> list[tuple[Reply, str | None]]:
        pairs = zip(self.votes, self.answers, strict=True)
        rank = {seat: place for place, seat in enumerate(self.seats)}
        return sorted(pairs, key=lambda pair: rank[pair[0].seat])
