"""The decision of a council, from its last count and its close."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.answers.replies.extract import final_answer
from ...core.decision import Decided
from ...core.models import Seat
from ...core.parsing.verdicts import Approval
from ...core.steps import Decision, Dissent
from ...core.voting.tally import majority_of
from ..shared.evidence import OPEN, POOLED, Statement, agreed, stated, support_of
from ..shared.poll import Poll
from ..shared.verdict import Verdict
from .count import Count
from .table import Table

__all__ = ["Close", "decision"]


@dataclass(frozen=True, slots=True)
class Close:
    """The end of a council: the synthesis of a majority's proposal, and the verdicts on it.

    live: the number of live seats, of which a majority must approve. merged: the synthesis, "" without one.
    """

    live: int
    merged: str = ""
    verdicts: tuple[Verdict[Approval], ...] = ()

    @property
    def approvals(self) -> int:
        return sum(verdict.value.approved for verdict in self.verdicts)

    @property
    def shipped(self) -> bool:
        """Whether the synthesis is the answer; if not, the endorsed proposal is."""
        return self.approvals >= majority_of(self.live)

    @property
    def tally(self) -> dict[str, float]:
        return {"APPROVE": self.approvals, "REJECT": len(self.verdicts) - self.approvals}


def decision(table: Table, count: Count, outcome: str, close: Close, live: Collection[str]) -> Decision:
    """Return the decision. outcome: why the voting ended. live: labels of the live seats."""
    answer, behind, of = table.proposals[count.winner], count.endorsed, count.live
    if close.shipped:
        answer, behind, of = close.merged, close.approvals, close.live
    share, short = behind / of, final_answer(answer, table.transcript.question)
    # Without a readable ballot the seats' votes are unknown, which is not disagreement.
    voted = close.shipped or any(count.ballots.values())
    return Decision(
        answer=answer,
        status=_status(outcome, share),
        final_answer=short,
        **(_support(table, short, share) if voted else {}),
        agreement=share if voted else None,
        consensus_reached=outcome == "majority",
        dissent=_dissent(table, count, close),
        rounds=table.n,
        stop_reason=outcome,
        detail={**_detail(table, count, close), "agreed": _agreed(table, count, close, live)},
    )


def _support(table: Table, short: str | None, share: float) -> dict[str, Any]:
    """Return `support` and its rule: the posterior of the short answer, by the first and the last proposals.

    Not `share`, of the live seats that are behind the answer: on recorded runs it says less than nothing
    about who is right (design/reliability.md). It is what there is for an answer that is not short.
    """
    if short is None:
        return {"support": share, "support_rule": OPEN} if share else {}
    question = table.transcript.question
    every = [stated(reply, 0, question) for reply in table.first_proposals]
    for seat in table.panel.seats:
        if text := table.proposals.get(seat.label):
            every.append(Statement.of(seat, text, final_answer(text, question), 1))
    found = support_of(short, every)
    return {} if found is None else {"support": found, "support_rule": POOLED}


def _agreed(table: Table, count: Count, close: Close, live: Collection[str]) -> dict[str, int]:
    """Return how many live seats approve the synthesis that shipped, or endorse the winner."""
    behind = {seat for seat in count.ballots if count.endorsement(seat) == count.winner}
    if close.shipped:
        behind = {verdict.seat.label for verdict in close.verdicts if verdict.value.approved}
    return agreed((seat, seat.label in behind) for seat in table.panel.seats if seat.label in live)


def _status(outcome: str, share: float) -> Decided:
    if outcome == "majority":
        return "consensus" if share == 1 else "majority"
    return "plurality" if outcome == "max_rounds" and share else "deadlock"


def _dissent(table: Table, count: Count, close: Close) -> tuple[Dissent, ...]:
    """Return the seats that voted otherwise, with their votes; not those that approve the final synthesis."""
    texts = {seat: text for seat, text in table.votes.items() if count.endorsement(seat) != count.winner}
    for verdict in close.verdicts if close.shipped else ():
        texts.pop(verdict.seat.label, None)
        if not verdict.value.approved:
            texts[verdict.seat.label] = f"REJECT: {verdict.value.reason}".rstrip(": ")
    return tuple(Dissent(s.label, s.model, texts[s.label]) for s in table.panel.seats if s.label in texts)


def _detail(table: Table, count: Count, close: Close) -> Mapping[str, Any]:
    seats, first_poll = table.panel.seats, Poll.of(table.first_proposals, question=table.transcript.question)
    return {
        "winner": count.winner,
        "tally": count.counts,
        **count.figures(),
        "votes": [_ballot(seat, count) for seat in seats if seat.label in count.ballots],
        "shipped": "synthesis" if close.shipped else "proposal",
        "synthesis": close.merged or None,
        "confirmations": [
            {**_seat_fields(v.seat), "approved": v.value.approved, "reason": v.value.reason}
            for v in close.verdicts
        ],
        "proposals": [
            {**_seat_fields(seat), "text": table.proposals[seat.label]}
            for seat in seats
            if seat.label in table.proposals
        ],
        "native": first_poll.answer_by_seat,
        "vote_only": first_poll.vote_only,
    }


def _ballot(seat: Seat, count: Count) -> dict[str, Any]:
    """Return a seat's ballot; `answer` is the label that it endorses."""
    ballot = count.ballots[seat.label]
    return {
        **_seat_fields(seat),
        "answer": count.endorsement(seat.label),
        "vote": ballot.kind if ballot else None,
        "text": ballot.text if ballot else "",
        "ranking": list(ballot.ranking) if ballot else [],
    }


def _seat_fields(seat: Seat) -> dict[str, str]:
    return {"seat": seat.label, "model": seat.model}
