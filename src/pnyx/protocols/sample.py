"""sample: self-consistency. Many answers to one question, and the most frequent one.

Sources: Wang et al. 2022 (plurality of sampled answers), Aggarwal et al. 2023 (adaptive stop). Rules that
they leave open:
- Seats take turns, the strongest first. A batch has as many calls as the lead needs at least to become clear,
  so that no decision waits for an answer that cannot change it.
- A seat that was silent in all of a batch is not called again.
- If no answer of the first batch is short, more answers could not be counted either: the strongest seat's
  answer is the decision.
- The text of the decision is the strongest seat's with the leading answer; agreement is the answer's share.
"""

from __future__ import annotations

from itertools import cycle, islice

from ..core.models import strongest
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..core.voting.stopping import lead_probability, votes_to_stop
from ..errors import NoQuorum
from ..prompts import load
from . import expected
from .shared.poll import Poll
from .shared.transcript import Transcript

SYSTEM, ANSWER = load("sample/system"), load("sample/answer")

PHASES = Phases(
    (
        Transition(START, "sample", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("sample", "sample", "samples left and no reason to stop", lambda f: not f["stop"]),
        Transition("sample", "complete", "a reason to stop", lambda f: f["stop"]),
    )
)


async def sample(brief: Brief, panel: Panel) -> Decision:
    draft = Transcript(brief, panel, SYSTEM).opening(ANSWER())
    samples, adaptive = brief.options["samples"], brief.options["adaptive"]
    seats, poll, calls, n, stop = strongest(panel.seats), Poll.of(()), 0, 1, ""
    first: Poll | None = None
    await panel.enter("sample", n, question=brief.question)
    while True:
        batch = min(votes_to_stop(*poll.lead) if adaptive else samples, samples - calls)
        turn = list(islice(cycle(seats), calls % len(seats), calls % len(seats) + batch))
        replies = await panel.all([panel.work(seat, draft) for seat in turn], quorum=0)
        calls, poll = calls + batch, Poll.of((*poll.votes, *replies), question=brief.question)
        first = first or poll
        silent = set(turn) - {reply.seat for reply in replies}
        seats = tuple(seat for seat in seats if seat not in silent)
        if not poll.votes and seats and calls < samples:
            continue
        if not poll.votes:
            raise NoQuorum(f"sample: none of {calls} calls was answered")
        best = poll.representative(poll.leader)
        stop = (adaptive and _settled(poll)) or ("max_samples" if calls == samples else "")
        if stop or not seats:
            break
        n += 1
        await panel.enter("sample", n, best.text, stop=stop)
    stop = stop or "no_seat_left"
    await poll.tally_step()
    await panel.enter("complete", n, best.text, stop=stop)
    return Decision(
        answer=best.text,
        final_answer=poll.leader,
        rounds=n,
        stop_reason=stop,
        # Later batches run only on questions where the first answers differ: no fair sample of a model.
        detail={
            **poll.detail(poll.leader),
            "native": first.answer_by_seat,
            "asked": calls,
            "lead_probability": lead_probability(*poll.lead),
        },
        **poll.decision_fields(poll.leader),
    )


def _settled(poll: Poll) -> str:
    """Return why no further sample is needed, "" if one is."""
    if poll.leader is None:
        return "no_short_answer"
    return "" if votes_to_stop(*poll.lead) else "clear_lead"


def _calls(scope: Scope) -> tuple[int, int]:
    samples = scope.options["samples"]
    return min(votes_to_stop(0, 0), samples) if scope.options["adaptive"] else samples, samples


PROTOCOL = Protocol(
    name="sample",
    summary="self-consistency: many answers, the most frequent one; stops once the lead is clear",
    phases=PHASES,
    script=sample,
    options={
        "samples": Option(16, "the most answers to ask for", 1, 100),
        "adaptive": Option(True, "stop as soon as the leading answer is 95 % likely to stay ahead"),
    },
    quorum=1,
    calls=_calls,
    expected=expected.sample,
    presets={"quick": {"samples": 5}, "deep": {"samples": 32}},
)
