"""moa: mixture of agents. Layers of answers, each written with all of the last layer's in view; one closes.

Source: Wang et al. 2024, "Mixture-of-Agents". Where PROTOCOLS.md is silent: `layers` counts the layers in
which every seat answers, and closing is one call more; a layer in which nobody answers leaves the one before
it standing; an aggregator that is silent or cut off is replaced by the next strongest seat of the last layer,
and when all are silent, that layer's leading answer is the decision, verbatim. The last layer's short answers
are counted: agreement is the share of them that the aggregator's answer has. The first layer's are what
`detail.vote_only` counts. It takes existing answers for that layer, as aggregate does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ..core.answers.extract import final_answer
from ..core.models import Seat
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel, Reply
from ..core.text import Draft, Material
from ..errors import SeatAbsent
from ..prompts import load
from .shared.first_answers import judges, native_answers
from .shared.poll import Poll
from .shared.verdict import question

ANSWER, LAYER, CLOSE = load("moa/answer"), load("moa/layer"), load("moa/close")

PHASES = Phases(
    (
        Transition(START, "layer", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("layer", "layer", "answers and a layer left", lambda f: f["answers"] and f["left"] > 0),
        Transition("layer", "close", "answers and no layer left", lambda f: f["answers"] and f["left"] == 0),
        Transition("close", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def moa(brief: Brief, panel: Panel) -> Decision:
    asked, layers = question(brief), brief.options["layers"]
    await panel.enter("layer", 1, question=brief.question)
    first = ANSWER(question=asked, today=brief.today)
    natives = answers = await native_answers(brief, panel, first)
    for n in range(2, layers + 1):
        await panel.enter("layer", n, _best(answers), answers=answers, left=layers - n + 1)
        shown = {seat: _shown(panel, answers, n, seat.label) for seat in panel.seats}
        asks = [
            panel.ask(seat, LAYER(question=asked, today=brief.today, answers=shown[seat]))
            for seat in panel.seats
        ]
        answers = await panel.all(asks, quorum=0) or answers

    poll, first_poll = Poll.of(answers), Poll.of(natives)
    await poll.tell()
    await panel.enter("close", layers, _best(answers), answers=answers, left=0)
    last = CLOSE(question=asked, today=brief.today, answers=_shown(panel, answers, "close"))
    closed = await _close(panel, judges(brief, panel, poll), last)
    answer = closed.text if closed else _best(answers)
    await panel.enter("complete", layers, answer, text=answer)
    short = final_answer(answer)
    aggregator = closed and {"seat": closed.seat.label, "model": closed.seat.model}
    return Decision(
        answer=answer,
        final_answer=short,
        rounds=layers,
        stop_reason="closed" if closed else "no_aggregator",
        detail={
            **poll.detail(),
            "native": first_poll.native,
            "vote_only": first_poll.alone,
            "aggregator": aggregator,
        },
        **poll.standing(short),
    )


async def _close(panel: Panel, seats: Sequence[Seat], draft: Draft) -> Reply | None:
    """The first whole reply, else the first that was cut off; None when all are silent."""
    with suppress(SeatAbsent):
        return await panel.first(seats, draft, whole=True)
    return None


def _best(answers: Sequence[Reply]) -> str:
    poll = Poll.of(answers)
    return poll.voice(poll.leader).text


def _shown(panel: Panel, answers: Sequence[Reply], *reader: object) -> list[Material]:
    """The answers in an order of this reader's own."""
    return [Material(a.seat.label, a.text) for a in panel.shuffle(answers, "moa", *reader)]


def _calls(scope: Scope) -> tuple[int, int]:
    calls = (scope.options["layers"] - bool(scope.responses)) * len(scope.seats) + 1
    return calls, calls


PROTOCOL = Protocol(
    name="moa",
    summary="mixture of agents: layers of answers, each with the last layer's in view; one closes",
    phases=PHASES,
    script=moa,
    options={"layers": Option(3, "layers in which every seat answers", 1, 10)},
    quorum_given=1,
    calls=_calls,
    presets={"quick": {"layers": 1}, "deep": {"layers": 4}},
)
