"""The phases of a council: the calls to its seats, and what their replies change on the table."""

from __future__ import annotations

from ...core.models import Seat
from ...core.parsing.ballots import Ballot, ballot_form
from ...core.parsing.verdicts import Approval, Unreadable, approval_form
from ...core.voting.tally import majority_of
from ...errors import NoQuorum, SeatAbsent
from ..shared.verdict import Verdict, ask_verdict
from .count import Count, describe_ballot
from .table import Table
from .texts import split_rebuttal

__all__ = ["confirm", "propose", "rebut", "review", "synthesise", "vote"]


async def propose(table: Table) -> None:
    """Ask every seat for a proposal, or its next one. Raises `NoQuorum` below two in the first round."""
    asks = [table.panel.work(seat, table.proposal(seat)) for seat in table.panel.seats]
    replies = await table.panel.all(asks, quorum=0 if table.proposals else 2)
    replaced = [reply for reply in replies if not (reply.truncated and reply.seat.label in table.proposals)]
    table.show_proposals({reply.seat.label: reply.text for reply in replaced})
    table.first_proposals = table.first_proposals or replies


async def review(table: Table) -> None:
    """Ask every seat to review every proposal but its own."""
    asks = [table.panel.work(seat, table.review(seat)) for seat in table.panel.seats]
    table.reviews = {reply.seat.label: reply.text for reply in await table.panel.all(asks, quorum=0)}
    table.show("Review", table.reviews)


async def rebut(table: Table) -> set[str]:
    """Ask every author to answer its reviews, or replace its proposal. Returns the labels that replied."""
    drafts = [(seat, table.rebuttal(seat)) for seat in table.panel.seats]
    asks = [table.panel.ask(seat, draft) for seat, draft in drafts if draft]
    replies = await table.panel.all(asks, quorum=0)
    table.rebuttals, replaced = {}, dict[str, str]()
    for reply in replies:
        rebuttal, new = split_rebuttal(reply.text)
        if rebuttal:
            table.rebuttals[reply.seat.label] = rebuttal
        if new and not reply.truncated:
            replaced[reply.seat.label] = new
    table.show("Reply", table.rebuttals)
    table.show_proposals(replaced, new=True)
    return {reply.seat.label for reply in replies}


async def vote(table: Table) -> dict[str, Ballot | None]:
    """Return ballots by the voter's label, None for no vote. Raises `NoQuorum` below two voters."""

    def certain(cast: list[tuple[str, Ballot | None]]) -> bool:
        count = Count(tuple(table.proposals), dict(cast), len(table.panel.seats))
        return count.settled_by == "majority"

    ballots = dict(await table.panel.all([_cast(table, s) for s in table.panel.seats], 2, certain))
    table.votes = {label: describe_ballot(ballot) for label, ballot in ballots.items() if ballot}
    table.show("Vote", table.votes)
    return ballots


async def _cast(table: Table, seat: Seat) -> tuple[str, Ballot | None]:
    labels = sorted(table.proposals)
    try:
        verdict = await ask_verdict(table.panel, seat, table.ballot(seat), ballot_form(labels, seat.label))
    except SeatAbsent as exc:
        # A seat whose reply could not be read has replied, and is live.
        if isinstance(exc.__cause__, Unreadable):
            return seat.label, None
        raise
    return seat.label, None if verdict.reply.truncated else verdict.value


async def synthesise(table: Table, winner: str) -> str:
    """Return the endorsed author's merger of all proposals; "" if it is silent or cut off."""
    author = next(seat for seat in table.panel.seats if seat.label == winner)
    try:
        reply = await table.panel.ask(author, table.synthesis(author))
    except (SeatAbsent, NoQuorum):
        return ""
    return "" if reply.truncated else reply.text


async def confirm(table: Table, winner: str, merged: str) -> list[Verdict[Approval]]:
    """Return the verdicts on the merged text; the seats read it next to the endorsed proposal."""
    draft = table.confirmation(winner, merged)
    asks = [ask_verdict(table.panel, seat, draft, approval_form(seat.label)) for seat in table.panel.seats]

    def certain(verdicts: list[Verdict[Approval]]) -> bool:
        whole = [verdict.value.approved for verdict in verdicts if not verdict.reply.truncated]
        return any(whole.count(side) >= majority_of(len(asks)) for side in (True, False))

    verdicts = await table.panel.all(asks, 0, certain)
    return [verdict for verdict in verdicts if not verdict.reply.truncated]
