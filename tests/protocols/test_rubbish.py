"""What is no evidence to any protocol: rubbish, empty sentences, and one model on several seats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import pnyx
from pnyx.core.models import Seat
from pnyx.core.steps import Ask, Decision, Run
from pnyx.errors import NoQuorum
from pnyx.protocols import get, loaded
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.all_protocols import QUESTION, SEATS, ScriptedPanel, sit
from tests.support.rows import rows

ALL = sorted(protocol.name for protocol in loaded())
RUBBISH = {
    "marks": "... ?! ...",
    "a dash": "-",
    "a loop": "the answer is the answer is " * 20,
    "letters in a loop": "no no no no " * 10,
    "a loop in which an answer is read": "The answer is wrong about. " * 12,
}


def decide(protocol: str, text: str, seats: tuple[Seat, ...] = SEATS) -> Decision:
    """The decision of a panel whose seats all reply `text` to everything."""

    def run_inner(step: Run) -> Decision | Exception:
        inner = ProtocolDriver(get(step.protocol), lambda ask: text, seats, decide_run=run_inner)
        return inner.decide()

    driver = ProtocolDriver(get(protocol), lambda ask: text, seats, decide_run=run_inner, question=QUESTION)
    return driver.decide()


@rows("kind", RUBBISH)
@rows("name", ALL)
def test_rubbish_supports_nothing_and_is_no_rigor(name: str, kind: str) -> None:
    try:
        decision = decide(name, RUBBISH[kind])
    except NoQuorum:
        return
    assert decision.support is None
    assert decision.rigor in (None, 0.0)
    assert not decision.consensus_reached
    # A run without this field derives it from the status.
    assert decision.status not in ("consensus", "majority", "plurality")
    assert decision.agreement is None
    assert decision.detail["agreed"]["models"] <= 1


@pytest.mark.parametrize(
    "said", ["The answer is wrong about.", "I disagree.", "This is not correct!", "Wrong."]
)
def test_a_debate_of_empty_sentences_is_neither_rigorous_nor_agreed(said: str) -> None:
    decision = decide("consensus", said)
    assert decision.rigor == 0.0
    assert decision.support is None
    assert (decision.status, decision.consensus_reached) == ("stalled", False)


FLATTERY = (
    "Great question! What a wonderful and insightful answer, I fully agree. You are absolutely right!",
    "I completely agree.",
    "What an amazing idea! Brilliant work.",
)


@rows("said", FLATTERY)
@rows("name", ALL)
def test_praise_alone_is_no_answer_that_seats_agree_on(name: str, said: str) -> None:
    decision = decide(name, said)
    assert not decision.consensus_reached
    assert decision.status != "consensus"
    assert decision.support is None or decision.support < 0.25
    assert decision.detail["agreed"]["models"] <= 1


def test_praise_of_an_answer_is_agreement_with_it() -> None:
    def say(ask: Ask) -> str:
        return FLATTERY[1] if prompt_name(ask) == "challenge" else "Rent the house, since you can leave."

    decision = ProtocolDriver(get("consensus"), say, SEATS, question="Rent or buy?").decide()
    assert (decision.consensus_reached, decision.support) == (True, 1.0)


@pytest.mark.parametrize("inner", ["deliberate", "consensus"])
def test_support_of_another_protocol_within_auto_is_of_a_kind_of_its_own(inner: str) -> None:
    found = "checkable" if inner == "deliberate" else "open"

    def say(ask: Ask) -> str:
        return f'{{"class": "{found}"}}' if ask.prompt.name == "auto/route" else "It is so.\nFinal answer: 42"

    def run_inner(step: Run) -> Decision | Exception:
        alone.append(ProtocolDriver(get(step.protocol), say, SEATS).decide())
        return alone[-1]

    alone: list[Decision] = []
    decision = ProtocolDriver(get("auto"), say, SEATS, decide_run=run_inner, question=QUESTION).decide()
    assert (decision.support, decision.support_rule) == (
        alone[0].support,
        f"{inner}: {alone[0].support_rule}",
    )


def test_to_repeat_the_answer_is_neither_an_objection_nor_rigor() -> None:
    decision = decide("consensus", "It is so.\nFinal answer: 42")
    assert (decision.rigor, decision.dissent, decision.consensus_reached) == (0.0, (), True)
    assert decision.support is not None


BABBLE = (
    "The proposal is wrong about the claim that the most likely false. The claim that the answer is the "
    "proposal is wrong about the claim. The answer is not the claim. The claim is the answer about the claim."
)


@rows("name", ALL)
async def test_a_tiny_models_babble_ends_without_a_probability(name: str) -> None:
    class Tiny:
        async def complete(self, call: pnyx.Call) -> str:
            return BABBLE

    panel = ["tiny:a", "tiny:b", "tiny:c"]
    result = await pnyx.ask(QUESTION, protocol=name, panel=panel, providers={"tiny": Tiny()}, seed=1)
    assert (result.confidence, result.confidence_rule) == (None, None)
    assert result.rigor in (None, 0.0)


def twins() -> tuple[Seat, ...]:
    return tuple(replace(one, model=SEATS[0].model) for one in SEATS)


@rows("name", ALL)
def test_two_seats_of_one_model_are_one_witness(name: str) -> None:
    def say(ask: Ask) -> str | None:
        seat = next(one for one in SEATS if one.label == ask.seat.label)
        return panel.say(replace(ask, seat=replace(ask.seat, model=seat.model)))

    def run(seats: tuple[Seat, ...]) -> Decision:
        def run_inner(step: Run) -> Decision | Exception:
            return ProtocolDriver(get(step.protocol), say, seats, decide_run=run_inner).decide()

        return ProtocolDriver(get(name), say, seats, decide_run=run_inner, question=QUESTION).decide()

    panel = ScriptedPanel(agreed=True)
    three = run(SEATS)
    panel = ScriptedPanel(agreed=True)
    one = run(twins())
    if name == "single":
        assert (three.support, one.support) == (None, None)
        return
    assert three.support is not None
    assert one.support is not None
    assert one.support < three.support
    agreed: Any = one.detail.get("agreed")
    assert agreed is None or (agreed["models"], agreed["of_models"]) == (1, 1)


@rows("name", ALL)
def test_a_decision_says_how_many_seats_and_models_agree(name: str) -> None:
    for agreed in (True, False):
        decision = sit(name, ScriptedPanel(agreed=agreed))
        found = decision.detail.get("agreed")
        if found is None:
            assert name == "decompose"
            continue
        assert 1 <= found["models"] <= found["seats"] <= found["of"]
        assert found["models"] <= found["of_models"] <= found["of"]
        if agreed:
            assert found["seats"] == found["of"]
        elif name != "single":
            assert found["seats"] < found["of"]
