"""single: one model, one call. The baseline for every other protocol.

On a panel with several seats the strongest answers. If it is silent, the next strongest does.
"""

from __future__ import annotations

from ..core.answers.replies.extract import final_answer
from ..core.models import strongest
from ..core.phases import START, Phases, Transition
from ..core.protocol import Protocol
from ..core.steps import Brief, Decision, Panel
from ..prompts import load
from . import expected
from .shared.evidence import agreed
from .shared.transcript import Transcript

SYSTEM, ANSWER = load("single/system"), load("single/answer")

PHASES = Phases(
    (
        Transition(START, "answer", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("answer", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def single(brief: Brief, panel: Panel) -> Decision:
    await panel.enter("answer", question=brief.question)
    draft = Transcript(brief, panel, SYSTEM).opening(ANSWER())
    reply = await panel.first(strongest(panel.seats), draft, closing=True)
    await panel.enter("complete", answer=reply.text, text=reply.text)
    seat, short = reply.seat, final_answer(reply.text, brief.question)
    return Decision(
        answer=reply.text,
        status="single",
        final_answer=short,
        stop_reason="answered",
        detail={
            "seat": seat.label,
            "model": seat.model,
            "native": {seat.label: short},
            "agreed": agreed([(seat, True)]),
        },
    )


PROTOCOL = Protocol(
    name="single",
    summary="one model, one call: the baseline",
    phases=PHASES,
    script=single,
    quorum=1,
    calls=lambda scope: (1, 1),
    expected=expected.single,
    # It has nothing to leave out or to add: both are its one call.
    presets={"quick": {}, "deep": {}},
)
