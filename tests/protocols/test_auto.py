"""auto, driven by hand. Names follow PROTOCOLS.md, section auto."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.core.phases import START
from pnyx.core.steps import Decision, Run
from pnyx.core.text import Material
from pnyx.errors import IllegalPhase, NoQuorum
from pnyx.protocols import get
from pnyx.protocols.auto import PHASES, PROTOCOL
from pnyx.protocols.call_bounds import call_bounds
from pnyx.testing import ProtocolDriver, Script, prompt_name
from tests.support.seats import lab_seat as seat

A, B, C = seat("A", 2.0, 3.0), seat("B", 9.0, 2.0), seat("C", 4.0, 1.0)
DECIDED = Decision(answer="Twelve.", status="majority", agreement=0.75, detail={"votes": []})


def routed(say: Script, **more: Any) -> ProtocolDriver:
    return ProtocolDriver(PROTOCOL, say, (A, B, C), decide_run=lambda step: DECIDED, **more)


@pytest.mark.parametrize(
    ("found", "protocol"),
    [("reasoning", "consensus"), ("judgment", "voting"), ("compound", "decompose")],
)
@pytest.mark.parametrize("form", ['{{"class": "{}"}}', "{}", "Class: **{}**"])
def test_the_class_decides_the_protocol(found: str, protocol: str, form: str) -> None:
    run = routed(lambda ask: form.format(found))
    decision = run.decide()
    assert [step.protocol for step in run.runs] == [protocol]
    assert run.phases == [("classify", 1), ("answer", 1), ("complete", 1)]
    assert decision.detail["class"] == found
    assert (decision.detail["route"], decision.detail["fell_back"]) == (protocol, False)


def test_the_cheapest_model_classes_the_question() -> None:
    run = routed(lambda ask: "judgment")
    run.decide()
    assert [ask.seat for ask in run.asks] == [C]
    assert run.asks[0].schema is not None
    assert run.asks[0].schema.name == "question_class"


def test_decompose_only_when_allowed() -> None:
    run = routed(lambda ask: "compound", decompose=False)
    decision = run.decide()
    assert [step.protocol for step in run.runs] == ["consensus"]
    assert (decision.detail["class"], decision.detail["fell_back"]) == ("compound", False)


def test_unreadable_goes_to_consensus_and_the_result_says_that_routing_fell_back() -> None:
    run = routed(lambda ask: "A question like any other.")
    decision = run.decide()
    assert [prompt_name(ask) for ask in run.asks] == ["classify", "repair"]
    assert [step.protocol for step in run.runs] == ["consensus"]
    assert (decision.detail["route"], decision.detail["fell_back"]) == ("consensus", True)
    assert decision.detail["class"] is None


def test_a_class_that_is_readable_when_asked_again_counts() -> None:
    run = routed(lambda ask: "judgment" if prompt_name(ask) == "repair" else "Either.")
    assert run.decide().detail["route"] == "voting"


def test_a_silent_classifier_falls_back() -> None:
    run = routed(lambda ask: None)
    decision = run.decide()
    assert len(run.asks) == 1
    assert (decision.detail["route"], decision.detail["fell_back"]) == ("consensus", True)


def test_the_decision_is_the_inner_protocols() -> None:
    decision = routed(lambda ask: "judgment").decide()
    assert (decision.answer, decision.status, decision.agreement) == ("Twelve.", "majority", 0.75)
    assert decision.detail["votes"] == []


def test_the_inner_protocol_gets_the_question_its_context_and_its_own_options() -> None:
    source = Material("Source 1", "The hall has nine doors.")
    run = routed(lambda ask: "judgment", context=(source,))
    run.decide()
    brief = run.runs[0].brief
    assert (brief.question, brief.context, dict(brief.options)) == ("How many?", (source,), {})


def test_context_reaches_the_classifier() -> None:
    run = routed(lambda ask: "judgment", context=(Material("Earlier", "It was about doors."),))
    run.decide()
    assert "It was about doors." in run.asks[0].prompt.text


def test_what_the_inner_protocol_cannot_do_fails_the_run() -> None:
    def fails(step: Run) -> Decision | Exception:
        return NoQuorum("too few")

    with pytest.raises(NoQuorum):
        ProtocolDriver(PROTOCOL, lambda ask: "judgment", (A, B), decide_run=fails).decide()


@pytest.mark.parametrize(
    ("source", "target", "facts", "needs"),
    [
        (START, "classify", {"question": " "}, "a question"),
        ("classify", "answer", {"protocol": ""}, "a protocol"),
        ("answer", "complete", {"text": ""}, "an answer"),
        ("classify", "complete", {}, "allowed: answer"),
    ],
)
def test_guards_refuse(source: str, target: str, facts: dict[str, Any], needs: str) -> None:
    with pytest.raises(IllegalPhase, match=needs):
        PHASES.check(source, target, facts)


def test_the_number_of_calls_is_that_of_the_routes_and_of_the_class() -> None:
    seats = (A, B, C)
    pages = [get(name) for name in ("consensus", "voting")]
    bounds = [call_bounds(page, seats, page.resolve_options({})) for page in pages if page.calls]
    assert PROTOCOL.calls is not None
    least, most = call_bounds(PROTOCOL, seats, PROTOCOL.resolve_options({"decompose": False}))
    assert least == 1 + min(low for low, _ in bounds)
    assert most == 2 + max(high for _, high in bounds)
