"""single, driven by hand. Names follow PROTOCOLS.md, section single, sample."""

from __future__ import annotations

import pytest

from pnyx.core.text import Material
from pnyx.errors import SeatAbsent
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.single import PROTOCOL
from pnyx.testing import ProtocolDriver
from tests.support.seats import seat

A, B, C = seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid")
TEXT = "Two pairs.\nFinal answer: 4"


def test_one_model_answers_in_one_call() -> None:
    driven = ProtocolDriver(PROTOCOL, lambda ask: TEXT, seats=(A,))
    decision = driven.decide()
    assert len(driven.asks) == 1
    assert driven.phases == [("answer", 1), ("complete", 1)]
    assert (decision.answer, decision.final_answer, decision.status) == (TEXT, "4", "single")
    assert (decision.support, decision.support_rule, decision.agreement) == (None, None, None)
    assert driven.answers == [None, TEXT]
    assert PROTOCOL.quorum == 1


def test_of_several_seats_the_strongest_answers() -> None:
    driven = ProtocolDriver(PROTOCOL, lambda ask: TEXT, seats=(A, B, C))
    decision = driven.decide()
    assert [ask.seat for ask in driven.asks] == [B]
    assert decision.detail == {
        "seat": B.label,
        "model": B.model,
        "native": {B.label: "4"},
        "agreed": {"seats": 1, "of": 1, "models": 1, "of_models": 1},
    }


def test_the_next_strongest_answers_for_one_that_is_silent() -> None:
    driven = ProtocolDriver(PROTOCOL, lambda ask: None if ask.seat == B else TEXT, seats=(A, B, C))
    assert driven.decide().detail["seat"] == C.label
    with pytest.raises(SeatAbsent):
        ProtocolDriver(PROTOCOL, lambda ask: None, seats=(A, B)).decide()


def test_the_prompt_carries_question_date_and_context() -> None:
    driven = ProtocolDriver(
        PROTOCOL, lambda ask: TEXT, seats=(A,), context=(Material("[1] Almanac", "Nine."),)
    )
    driven.decide()
    text = driven.asks[0].prompt.text
    assert "How many?" in text
    assert "Today is 2026-01-02." in text
    assert "[1] Almanac>\nNine.\n</" in text
    plain = ProtocolDriver(PROTOCOL, lambda ask: TEXT, seats=(A,))
    plain.decide()
    assert "Material" not in plain.asks[0].prompt.text
    assert plain.asks[0].prompt.id == "single/answer+single/system+rules+language+question"


def test_the_number_of_calls_is_known_beforehand() -> None:
    assert PROTOCOL.calls is not None
    assert call_bounds(PROTOCOL, (A, B, C), {}) == (1, 1)
