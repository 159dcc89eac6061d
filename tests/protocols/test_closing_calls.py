"""Which reply of a protocol is its answer, as it is: its text can be shown while it is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pnyx.core.steps import Ask
from pnyx.testing import ProtocolDriver, drive_protocol, prompt_name
from tests.support.rows import rows

PLAN: list[dict[str, Any]] = [
    {"label": part, "question": f"What of {part}?", "needs": []} for part in ("cost", "site")
]


def drive(protocol: str, plan: list[dict[str, Any]] = PLAN, **options: Any) -> ProtocolDriver:
    asked: list[str] = []

    def reply(ask: Ask) -> str:
        name = prompt_name(ask)
        asked.append(name)
        if name in ("plan", "again"):
            return json.dumps({"subtasks": plan})
        if name in ("flaw", "alternative", "risk", "advocate", "challenge"):
            return "The reason given is wrong: the bridge carries half the load."
        return f"{ask.seat.label} writes text {len(asked)}.\nFinal answer: 42"

    return drive_protocol(protocol, reply, ("lab:a", "lab:b", "lab:c"), **options)


@pytest.mark.parametrize(
    ("protocol", "options", "closing"),
    [
        ("single", {}, "answer"),
        ("consensus", {"rounds": 1}, "revise"),
        ("consensus", {"rounds": 5}, "revise"),
        ("moa", {"layers": 2}, "close"),
        ("decompose", {}, "merge"),
    ],
)
def test_one_reply_is_the_answer_and_no_reply_of_an_inner_protocol_is(
    protocol: str, options: dict[str, Any], closing: str
) -> None:
    run = drive(protocol, **options)
    (ask,) = run.closing
    assert prompt_name(ask) == closing
    assert ask is run.asks[-1]
    assert run.decision.answer.startswith(f"{ask.seat.label} writes text {len(run.asks)}.")


def test_a_protocol_that_hands_its_question_on_has_the_answer_of_the_other() -> None:
    run = drive("decompose", plan=[], inner="single")
    (ask,) = run.closing
    assert prompt_name(ask) == "answer"
    assert run.decision.answer.startswith(ask.seat.label)


@rows("protocol", ["voting", "sample", "council", "deliberate", "escalate", "aggregate"])
def test_what_is_voted_on_or_picked_is_known_only_at_the_end(protocol: str) -> None:
    assert not drive(protocol).closing
