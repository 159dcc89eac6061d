"""moa: mixture of agents. Layers of answers, each written with the last layer in view; one seat closes.

Source: Wang et al. 2024, "Mixture-of-Agents". Rules that it leaves open: `layers` counts the layers in which
every seat answers, and closing is one more call. If nobody answers in a layer, the layer before it stays. The
next strongest seat of the last layer replaces an aggregator that is silent or cut off; if all are silent,
that layer's leading answer is the decision, verbatim. Agreement is the share of the last layer's short
answers with the aggregator's answer. `detail.vote_only` counts the first layer, which existing responses may
replace.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ..core.models import Seat
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel, Reply
from ..core.text import Draft
from ..errors import SeatAbsent
from ..prompts import load
from . import expected
from .shared.evidence import POOLED, stated, support_of
from .shared.first_answers import get_first_answers, judges
from .shared.poll import Poll
from .shared.transcript import Transcript

SYSTEM = load("moa/system")
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
    transcript, layers = Transcript(brief, panel, SYSTEM), brief.options["layers"]
    await panel.enter("layer", 1, question=brief.question)
    first_answers = answers = await get_first_answers(brief, panel, transcript.opening(ANSWER()))
    shown = _show(transcript, 1, answers)
    newest = 1
    for n in range(2, layers + 1):
        await panel.enter("layer", n, _best(brief, answers), answers=answers, left=layers - n + 1)
        draft = transcript.task(LAYER(layer=str(newest)), shown)
        new = await panel.all([panel.ask(seat, draft) for seat in panel.seats], quorum=0)
        if new:
            answers, newest, shown = new, n, _show(transcript, n, new)

    poll, first_poll = (Poll.of(found, question=brief.question) for found in (answers, first_answers))
    await poll.tally_step()
    await panel.enter("close", layers, _best(brief, answers), answers=answers, left=0)
    last = transcript.task(CLOSE(layer=str(newest)), shown)
    closing = await _close(panel, judges(brief, panel, poll), last)
    answer = closing.text if closing else _best(brief, answers)
    await panel.enter("complete", layers, answer, text=answer)
    short = poll.read(answer)
    aggregator = closing and {"seat": closing.seat.label, "model": closing.seat.model}
    fields = poll.decision_fields(short)
    if layers > 1 and "support" in fields:
        fields |= {"support": _support(brief.question, first_answers, answers, short), "support_rule": POOLED}
    return Decision(
        answer=answer,
        final_answer=short,
        rounds=layers,
        stop_reason="closed" if closing else "no_aggregator",
        detail={
            **poll.detail(short),
            "native": first_poll.answer_by_seat,
            "vote_only": first_poll.vote_only,
            "aggregator": aggregator,
        },
        **fields,
    )


def _support(question: str, first: Sequence[Reply], last: Sequence[Reply], short: str | None) -> float | None:
    """Return the posterior of the answer by the first layer and, at less weight, by the last one."""
    every = [stated(reply, turn, question) for turn, replies in enumerate((first, last)) for reply in replies]
    return support_of(short, every)


async def _close(panel: Panel, seats: Sequence[Seat], draft: Draft) -> Reply | None:
    """Return the first whole reply, else the first that was cut off; None if all seats are silent."""
    with suppress(SeatAbsent):
        return await panel.first(seats, draft, whole=True, closing=True)
    return None


def _best(brief: Brief, answers: Sequence[Reply]) -> str:
    poll = Poll.of(answers, question=brief.question)
    return poll.representative(poll.leader).text


def _show(transcript: Transcript, layer: int, answers: Sequence[Reply]) -> list[str]:
    """Add the answers of a layer to the transcript; returns their labels in it."""
    texts = {answer.seat.label: answer.text for answer in answers}
    return list(transcript.add_all(f"Answer of layer {layer}", texts).values())


def _calls(scope: Scope) -> tuple[int, int]:
    calls = (scope.options["layers"] - bool(scope.responses)) * len(scope.seats) + 1
    return calls, calls


PROTOCOL = Protocol(
    name="moa",
    summary="mixture of agents: layers of answers, each with the last layer in view; one seat closes",
    phases=PHASES,
    script=moa,
    options={"layers": Option(3, "layers in which every seat answers", 1, 10)},
    quorum_given=1,
    calls=_calls,
    expected=expected.moa,
    judged=True,
    presets={"quick": {"layers": 1}, "deep": {"layers": 4}},
)
