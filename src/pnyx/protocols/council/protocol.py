"""council: propose, review, rebut and vote in rounds until a majority endorses one proposal; then merge it.

Source of the shape: the council of `ensemble`. Where PROTOCOLS.md is silent:
- From round 2 on a proposal is written with all standing ones and the last votes in view. Where none is
  written, or it is cut off, the author's last one stands; a proposal outlives its author.
- A live seat is one that spoke in this round's rebuttal or voting; the voting needs two. A ballot that cannot
  be read, or was cut off, is the abstention of a live seat: nobody's support, but counted in what is half.
- Two rounds are identical when every seat casts the same vote for the same label; its words may differ.
- When the fuse blows, the plurality proposal is the answer; without any endorsement the status is deadlock.
- A majority of the live seats ships the synthesis, the author's own approval included. `agreement` is then
  the share of them that approves it, else the share that endorses the proposal; confidence is that share too.
  Where no ballot could be read nobody voted, and both are None.
- A seat that voted otherwise and approves the synthesis dissents no longer.
"""

from __future__ import annotations

from ...core.phases import START, Phases, Transition
from ...core.protocol import Option, Protocol, Scope
from ...core.steps import Brief, Decision, Panel
from ..shared.verdict import question
from .count import Count
from .result import Close, decision
from .rounds import confirm, propose, rebut, review, synthesise, vote
from .table import Table

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
    table, rounds, outcome = Table(panel, question(brief), brief.today), brief.options["rounds"], ""
    before: Count | None = None
    while True:
        table.n += 1
        standing = table.standing(before)
        await panel.enter("proposing", table.n, standing, question=brief.question, outcome=outcome)
        await propose(table)
        await panel.enter("reviewing", table.n, table.standing(before), proposals=table.proposals)
        await review(table)
        await panel.enter("rebuttal", table.n, table.standing(before))
        heard = await rebut(table)
        await panel.enter("voting", table.n, table.standing(before))
        ballots = await vote(table)
        live = heard | ballots.keys()
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
            ships = "synthesis" if close.shipped else "proposal"
            await panel.tally("approvals", close.tally, ships, live=close.live)
    decided = decision(table, count, outcome, close)
    await panel.enter("complete", table.n, decided.answer, outcome=outcome, synthesis=close.merged)
    return decided


def _calls(scope: Scope) -> tuple[int, int]:
    n, rounds = len(scope.seats), scope.options["rounds"]
    # A ballot and a confirmation may each be asked for again.
    return 4 * n + (1 + n if rounds > 1 else 0), 5 * n * rounds + 1 + 2 * n


PROTOCOL = Protocol(
    name="council",
    summary="propose, review, rebut and vote until a majority endorses one proposal; merge, confirm",
    phases=PHASES,
    script=council,
    options={"rounds": Option(50, "the most rounds: a fuse, since most councils end long before", 1, 500)},
    calls=_calls,
    presets={"quick": {"rounds": 1}, "deep": {"rounds": 50}},
    nouns={"proposing": "proposal", "reviewing": "review", "voting": "vote"},
    closing=("synthesis", "confirm"),
)
