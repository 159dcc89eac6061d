"""Each protocol refuses a phase that its facts do not allow, and says what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pnyx.core.phases import START
from pnyx.errors import IllegalPhase
from pnyx.protocols import get, names
from tests.support.rows import rows

FACTS: Mapping[str, Mapping[str, Any]] = {
    "moa": {"question": "Q", "answers": ["x"], "left": 1, "text": "x"},
    "consensus": {
        "question": "Q",
        "proposal": "P",
        "challenges": ["C"],
        "revision": "R",
        "converged": False,
        "rounds": 3,
    },
}
"""What holds before each row changes it."""

GUARDS = [
    ("single", START, "answer", {"question": " "}, "a question"),
    ("single", "answer", "complete", {"text": " "}, "an answer"),
    ("single", START, "complete", {}, "allowed: answer"),
    ("sample", START, "sample", {"question": " "}, "a question"),
    ("sample", "sample", "sample", {"stop": "clear_lead"}, "no reason to stop"),
    ("sample", "sample", "complete", {"stop": ""}, "a reason to stop"),
    ("sample", START, "complete", {}, "allowed: sample"),
    ("voting", START, "vote", {"question": " \n"}, "a question"),
    ("voting", "vote", "judge", {"votes": 1}, "two votes"),
    ("voting", "vote", "complete", {"votes": 2}, "a single vote"),
    ("voting", "judge", "complete", {"text": " "}, "an answer"),
    ("voting", START, "judge", {}, "allowed: vote"),
    ("voting", "complete", "vote", {}, "terminal"),
    ("moa", START, "layer", {"question": " "}, "a question"),
    ("moa", "layer", "layer", {"left": 0}, "a layer left"),
    ("moa", "layer", "close", {}, "no layer left"),
    ("moa", "layer", "close", {"left": 0, "answers": []}, "answers"),
    ("moa", "close", "complete", {"text": " "}, "an answer"),
    ("moa", START, "close", {}, "allowed: layer"),
    ("escalate", START, "pair", {"question": " "}, "a question"),
    ("escalate", "pair", "complete", {"stop": ""}, "an answer that is sure"),
    ("escalate", "pair", "escalate", {"stop": "agreement"}, "no such answer"),
    ("escalate", "escalate", "escalate", {"stop": "settled"}, "a seat left"),
    ("escalate", "escalate", "complete", {"stop": ""}, "no seat left"),
    ("aggregate", START, "answer", {"question": " "}, "a question"),
    ("aggregate", "answer", "aggregate", {"answers": ["A"]}, "two answers"),
    ("aggregate", "aggregate", "complete", {"text": " "}, "an answer"),
    ("aggregate", "answer", "complete", {}, "allowed: aggregate"),
    ("consensus", START, "propose", {"question": " \n"}, "a question"),
    ("consensus", "propose", "challenge", {"proposal": ""}, "a proposal"),
    ("consensus", "challenge", "revise", {"challenges": []}, "challenges"),
    ("consensus", "revise", "commit", {"revision": " "}, "a revision"),
    (
        "consensus",
        "commit",
        "propose",
        {"converged": True, "committed": 1},
        "a round left and no convergence",
    ),
    ("consensus", "commit", "propose", {"committed": 3}, "a round left and no convergence"),
    ("consensus", "commit", "complete", {"committed": 2}, "convergence or no round left"),
    ("consensus", START, "challenge", {}, "allowed: propose"),
    ("consensus", "propose", "commit", {}, "allowed: challenge"),
    ("consensus", "complete", "propose", {}, "terminal"),
    ("consensus", "failed", "propose", {}, "terminal"),
    ("deliberate", START, "answer", {"question": " "}, "a question"),
    ("deliberate", "answer", "complete", {"stop": ""}, "unanimous"),
    ("deliberate", "answer", "debate", {"stop": "unanimous"}, "answers that differ"),
    ("deliberate", "debate", "debate", {"stop": "stuck"}, "no reason to stop"),
    ("deliberate", "debate", "vote", {"stop": "consensus"}, "no consensus"),
    ("deliberate", "debate", "complete", {"stop": "stuck"}, "consensus"),
    ("deliberate", "vote", "complete", {"ballots": []}, "ballots"),
    ("deliberate", "answer", "vote", {}, "allowed: complete, debate"),
    ("auto", START, "classify", {"question": " "}, "a question"),
    ("auto", "classify", "answer", {"protocol": ""}, "a protocol"),
    ("auto", "answer", "complete", {"text": ""}, "an answer"),
    ("auto", "classify", "complete", {}, "allowed: answer"),
    ("decompose", START, "plan", {"question": " "}, "a question"),
    ("decompose", "plan", "subtasks", {"plan": ["one"]}, "two subtasks"),
    ("decompose", "plan", "answer", {"plan": ["one", "two"]}, "no plan, or one"),
    ("decompose", "subtasks", "synthesis", {"answered": []}, "a subtask answered"),
    ("decompose", "subtasks", "answer", {"answered": ["one"]}, "no subtask answered"),
    ("decompose", "synthesis", "complete", {"text": ""}, "an answer"),
    ("decompose", "plan", "complete", {}, "allowed: subtasks, answer"),
    ("council", START, "proposing", {"question": " \n"}, "a question"),
    ("council", "proposing", "reviewing", {"proposals": {"A": "x"}}, "two proposals"),
    ("council", "voting", "proposing", {"outcome": "majority"}, "no outcome"),
    ("council", "voting", "synthesis", {"outcome": "deadlock"}, "a majority"),
    ("council", "voting", "complete", {"outcome": "majority"}, "deadlock or no round left"),
    ("council", "synthesis", "confirm", {"synthesis": ""}, "a synthesis"),
    ("council", "synthesis", "complete", {"synthesis": "x"}, "no synthesis"),
    ("council", START, "voting", {}, "allowed: proposing"),
    ("council", "voting", "confirm", {}, "allowed: proposing, synthesis, complete"),
    ("council", "complete", "proposing", {}, "terminal"),
]


@rows("protocol, source, target, facts, needs", GUARDS)
def test_guards_refuse(protocol: str, source: str, target: str, facts: Mapping[str, Any], needs: str) -> None:
    with pytest.raises(IllegalPhase, match=needs):
        get(protocol).phases.check(source, target, {**FACTS.get(protocol, {}), **facts})


def test_every_protocol_with_phases_has_guards() -> None:
    assert {protocol for protocol, *_ in GUARDS} == set(names())
