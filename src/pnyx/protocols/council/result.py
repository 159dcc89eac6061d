"""The decision of a council, from its last count and its close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.answers.extract import final_answer
from ...core.decision import Decided
from ...core.models import Seat
from ...core.parsing.verdicts import Approval
from ...core.steps import Decision, Dissent
from ...core.tally import majority_of
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


def decision(table: Table, count: Count, outcome: str, close: Close) -> Decision:
    """Return the decision. outcome: why the voting ended."""
    answer, support, live = table.proposals[count.winner], count.endorsed, count.live
    if close.shipped:
        answer, support, live = close.merged, close.approvals, close.live
    share = support / live
    # Without a readable ballot the seats' votes are unknown, which is not disagreement.
    voted = close.shipped or any(count.ballots.values())
    return Decision(
        answer=answer,
        status=_status(outcome, share),
        final_answer=final_answer(answer, table.transcript.question),
        confidence=share if support else None,
        confidence_rule=f"{'approval' if close.shipped else 'endorsement'} share" if support else None,
        agreement=share if voted else None,
        consensus_reached=outcome == "majority",
        dissent=_dissent(table, count, close),
        rounds=table.n,
        stop_reason=outcome,
        detail=_detail(table, count, close),
    )


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
