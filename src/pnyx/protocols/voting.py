"""voting: every seat answers alone, in parallel; the strongest seat judges, and improves the answer it picks.

Source: the voting protocol of the `duh` consensus engine. Rules that it leaves open:
- The weight of a seat is its learned weight if all that voted have one; else ln(1 + x), where x is the output
  price in USD per million tokens if all have one above 0, else the parameters in billions if all have them;
  else all weigh the same. Prompts show shares of the sum. With `weighted` the count of short answers is
  weighted too. If it has one leader, that decides: its strongest vote replaces, verbatim, a synthesis that
  ends on another answer.
- The judge is the strongest seat that voted; if it is silent, the next strongest judges. If it cannot be
  read, it abstains and the count decides; without a count, the next strongest judges. Without a judge, the
  leading answer is the decision, verbatim. The picked vote is the decision, verbatim, if the judge writes
  nothing below its pick or is cut off there. If that vote has no short answer, the judge's `Final answer:`
  above the pick is.
- If the judge names no vote but ends on the answer that leads the count, its text is the answer.
- With `swap`, judgements that end on different answers (or, if those cannot be compared, on different picks)
  are a flip, and count as a tie: the only leader of the count decides, with the text of the judgement that
  agrees or else of its strongest vote, verbatim. Without such a leader the first order's judgement decides.
- Answers that cannot be counted dissent if they were not picked.
- The request's responses may replace the votes; the strongest of all seats judges them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.models import strengths
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Dissent, Panel, Reply
from ..core.text import Draft
from ..core.voting.stopping import MIN_ANSWERS
from ..prompts import load
from . import expected
from .shared.evidence import rule_of_votes
from .shared.first_answers import get_votes, judges, may_stop_early
from .shared.judge import Ruling, ask_rulings, settle
from .shared.poll import Poll
from .shared.transcript import Transcript

SYSTEM = load("voting/system")
VOTE, JUDGE, WEIGH = load("voting/vote"), load("voting/judge"), load("voting/weigh")

PHASES = Phases(
    (
        Transition(START, "vote", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("vote", "judge", "two votes", lambda f: f["votes"] > 1),
        Transition("vote", "complete", "a single vote", lambda f: f["votes"] == 1),
        Transition("judge", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def voting(brief: Brief, panel: Panel) -> Decision:
    options = brief.options
    await panel.enter("vote", question=brief.question)
    draft = Transcript(brief, panel, SYSTEM).opening(VOTE())
    votes, not_called = await get_votes(brief, panel, draft, options["early"])
    weights = strengths([vote.seat for vote in votes]) if options["aggregation"] == "weighted" else None
    # Further seats are called only if the strongest differ, on a harder question: support means less then.
    rule = rule_of_votes(weights is not None, not_called is not None)
    poll = Poll.of(votes, weights, rule, question=brief.question)
    not_asked = [seat.label for seat in not_called or ()]
    leading = poll.representative(poll.leader)
    await poll.tally_step()
    if len(votes) == 1:
        await panel.enter("complete", 1, leading.text, votes=1)
        short = poll.read(leading.text)
        return Decision(
            answer=leading.text,
            final_answer=short,
            stop_reason="single_vote",
            detail={**poll.detail(short), "vote_only": poll.vote_only, "not_asked": not_asked},
            **poll.decision_fields(None),
        )

    await panel.enter("judge", 1, leading.text, votes=len(votes))
    order = panel.shuffle(votes, "judge")
    orders = [order, order[::-1]] if options["swap"] else [order]
    drafts = [_judgement(Transcript(brief, panel, SYSTEM), votes, weights) for votes in orders]
    judge, rulings = await ask_rulings(panel, poll, judges(brief, panel, poll), drafts)
    ruling, settled_by = settle(rulings, poll)
    await panel.enter("complete", 1, ruling.answer, text=ruling.answer)
    return Decision(
        answer=ruling.answer,
        final_answer=ruling.short,
        stop_reason="judged" if rulings else "no_judge",
        detail={
            **poll.detail(ruling.short),
            "vote_only": poll.vote_only,
            "not_asked": not_asked,
            "weights": weights,
            "judge": judge and {"seat": judge.label, "model": judge.model},
            "judgements": [{"pick": r.pick, "answer": r.short} for r in rulings],
            "pick": ruling.pick,
            "flipped": not rulings[0].agrees(rulings[1], poll.question) if len(rulings) == 2 else None,
            "settled_by": settled_by,
        },
        **{**poll.decision_fields(ruling.short), "dissent": _dissent(poll, ruling)},
    )


def _judgement(transcript: Transcript, votes: Sequence[Reply], weights: Mapping[str, float] | None) -> Draft:
    """Return the prompt for the judge, who reads the votes in this order."""
    shown = [transcript.add(f"Answer by {vote.seat.label}", vote.text) for vote in votes]
    if weights is None:
        return transcript.task(JUDGE(), shown)
    shares = "\n".join(f"{label}: {weight:.2f}" for label, weight in sorted(weights.items()))
    return transcript.task(WEIGH(weights=shares), shown)


def _dissent(poll: Poll, ruling: Ruling) -> tuple[Dissent, ...]:
    """Return the votes for other answers, and the votes not picked that cannot be counted or compared."""
    counted = poll.decision_fields(ruling.short).get("dissent")
    unpicked = [
        vote
        for vote, answer in zip(poll.votes, poll.answers, strict=True)
        if ruling.pick not in (None, vote.seat.label) and (counted is None or answer is None)
    ]
    return (*(counted or ()), *(Dissent(vote.seat.label, vote.seat.model, vote.text) for vote in unpicked))


def _calls(scope: Scope) -> tuple[int, int]:
    seats, judged = len(scope.seats), 1 + scope.options["swap"]
    if scope.responses:
        return judged, 2 * judged
    known = scope.options["early"] and may_stop_early(scope.seats)
    return (min(seats, MIN_ANSWERS) if known else seats) + judged, seats + 2 * judged


PROTOCOL = Protocol(
    name="voting",
    summary="every seat answers alone; the strongest judges, and improves the answer it picks",
    phases=PHASES,
    script=voting,
    options={
        "aggregation": Option(
            "majority",
            "majority picks the best answer and improves it, weighted combines all by strength",
            choices=("majority", "weighted"),
        ),
        "swap": Option(False, "judge twice, in opposite orders; a flip is reported, and counts as a tie"),
        "early": Option(True, "once votes have learned weights, ask only until the others hardly matter"),
    },
    quorum_given=1,
    calls=_calls,
    expected=expected.voting,
    judged=True,
    presets={"quick": {"swap": False}, "deep": {"swap": True}},
)
