"""council: propose, review, rebut and vote in rounds until a majority endorses one proposal; then merge it.

Source: the council of `ensemble`. Rules that it leaves open:
- From round 2 on, a seat writes its proposal with all current proposals and the last votes in view. If it
  writes none, or its reply is cut off, its last proposal stays. A proposal stays even if its author drops
  out.
- A live seat replied in this round's rebuttal or voting; the voting needs two. A ballot that cannot be read,
  or was cut off, is an abstention: it supports nobody, but the seat counts among the live ones.
- Two rounds are identical if every seat casts the same vote for the same label; the text may differ.
- After the last round the plurality proposal is the answer; without any endorsement the status is deadlock.
- A majority of the live seats accepts the synthesis, the author's own approval included. `agreement` is then
  the share that approves it, else the share that endorses the proposal. If no ballot could be read, nobody
  voted, and it is None. Support is the posterior of the answer by the first and the last proposals.
- A seat that voted for another proposal and approves the synthesis does not dissent.
"""

from __future__ import annotations

from ...core.phases import START, Phases, Transition
from ...core.protocol import Option, Protocol, Scope
from ...core.steps import Brief, Decision, Panel
from .. import expected
from ..shared.transcript import Transcript
from .count import Count
from .result import Close, decision
from .rounds import confirm, propose, rebut, review, synthesise, vote
from .table import SYSTEM, Table

UNDECIDED = ("deadlock", "max_rounds")

PHASES = Phases(
    (
        Transition(START, "proposing", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("proposing", "reviewing", "two proposals", lambda f: len(f["proposals"]) > 1),
        Transition("reviewing", "rebuttal"),
        Transition("rebuttal", "voting"),
        Transition("voting", "proposing", "no outcome and a round left", lambda f: f["outcome"] == ""),
        Transition("voting", "synthesis", "a majority", lambda f: f["outcome"] == "majority"),
        Transition("voting", "complete", "deadlock or no round left", lambda f: f["outcome"] in UNDECIDED),
        Transition("synthesis", "confirm", "a synthesis", lambda f: f["synthesis"]),
        Transition("synthesis", "complete", "no synthesis", lambda f: not f["synthesis"]),
        Transition("confirm", "complete"),
    )
)


async def council(brief: Brief, panel: Panel) -> Decision:
    table, rounds, outcome = Table(panel, Transcript(brief, panel, SYSTEM)), brief.options["rounds"], ""
    before: Count | None = None
    while True:
        table.start_round()
        leading = table.leading_proposal(before)
        await panel.enter("proposing", table.n, leading, question=brief.question, outcome=outcome)
        await propose(table)
        await panel.enter("reviewing", table.n, table.leading_proposal(before), proposals=table.proposals)
        await review(table)
        await panel.enter("rebuttal", table.n, table.leading_proposal(before))
        speakers = await rebut(table)
        await panel.enter("voting", table.n, table.leading_proposal(before))
        ballots = await vote(table)
        live = speakers | ballots.keys()
        count = Count(table.candidates, ballots, len(live), panel.seats)
        outcome = count.outcome(before, table.n == rounds)
        figures = {**count.figures(), "outcome": outcome, "votes": dict(table.votes)}
        await panel.tally("endorsements", count.counts, count.winner, **figures)
        if outcome:
            break
        before = count

    close, winner = Close(count.live), table.proposals[count.winner]
    if outcome == "majority":
        await panel.enter("synthesis", table.n, winner, outcome=outcome)
        merged = await synthesise(table, count.winner)
        if merged:
            await panel.enter("confirm", table.n, winner, synthesis=merged)
            verdicts = await confirm(table, count.winner, merged)
            live |= {verdict.seat.label for verdict in verdicts}
            close = Close(len(live), merged, tuple(verdicts))
            shipped = "synthesis" if close.shipped else "proposal"
            await panel.tally("approvals", close.tally, shipped, live=close.live)
    decided = decision(table, count, outcome, close, live)
    await panel.enter("complete", table.n, decided.answer, outcome=outcome, synthesis=close.merged)
    return decided


def _calls(scope: Scope) -> tuple[int, int]:
    n, rounds = len(scope.seats), scope.options["rounds"]
    # A ballot and a confirmation may each need a second call.
    return 4 * n + (1 + n if rounds > 1 else 0), 5 * n * rounds + 1 + 2 * n


PROTOCOL = Protocol(
    name="council",
    summary="propose, review, rebut and vote until a majority endorses one proposal; merge, confirm",
    phases=PHASES,
    script=council,
    options={"rounds": Option(50, "the most rounds: a fuse, since most councils end long before", 1, 500)},
    calls=_calls,
    expected=expected.council,
    presets={"quick": {"rounds": 1}, "deep": {"rounds": 50}},
    nouns={"proposing": "proposal", "reviewing": "review", "voting": "vote"},
    closing=("synthesis", "confirm"),
)
