"""escalate, driven by hand: two cheap models, and dearer ones only where they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import Seat
from pnyx.core.steps import Ask
from pnyx.core.voting.stopping import posterior
from pnyx.errors import NoQuorum
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.escalate import PROTOCOL
from pnyx.reliability.feedback import judge, questions
from pnyx.testing import ProtocolDriver
from tests.support.seats import lab_seat as seat

# Output prices; A is the dearest, and D the cheapest.
A, B, C, D = seat("A", 9.0, 9.0), seat("B", 4.0, 4.0), seat("C", 2.0, 2.0), seat("D", 1.0, 1.0)
SEATS = (A, B, C, D)


def asked(run: ProtocolDriver) -> str:
    """The seats that were called, in order."""
    return "".join(ask.seat.label[-1] for ask in run.asks)


def panel(answers: Mapping[str, str | None], seats: tuple[Seat, ...] = SEATS, **more: Any) -> ProtocolDriver:
    """answers: seat -> its short answer; "-" a text without one, None silence."""

    def say(ask: Ask) -> str | None:
        answer = answers[ask.seat.label[-1]]
        text = f"This is what {ask.seat.label} found."
        return text if answer == "-" else answer and f"{text}\nFinal answer: {answer}"

    return ProtocolDriver(PROTOCOL, say, seats, **more)


def weighed(*weights: float) -> tuple[Seat, ...]:
    return tuple(replace(one, weight=weight) for one, weight in zip(SEATS, weights, strict=True))


def test_two_cheap_models_that_agree_are_all_that_is_asked() -> None:
    run = panel(dict.fromkeys("ABCD", "12"))
    decision = run.decide()
    assert asked(run) == "DC"
    assert (decision.final_answer, decision.stop_reason, decision.status) == ("12", "agreement", "consensus")
    assert decision.detail["not_asked"] == [A.label, B.label]
    assert run.phases == [("pair", 1), ("complete", 1)]


def test_a_split_asks_the_next_dearer_model_until_two_agree() -> None:
    run = panel({"D": "11", "C": "12", "B": "12", "A": "13"})
    decision = run.decide()
    assert asked(run) == "DCB"
    assert (decision.final_answer, decision.stop_reason) == ("12", "agreement")
    assert [one.seat for one in decision.dissent] == [D.label]
    run = panel({"D": "11", "C": "12", "B": "13", "A": "13"})
    assert (run.decide().final_answer, asked(run)) == ("13", "DCBA")


def test_if_nobody_agrees_the_strongest_decides() -> None:
    run = panel({"D": "11", "C": "12", "B": "13", "A": "14"})
    decision = run.decide()
    assert (decision.final_answer, decision.stop_reason, decision.status) == ("14", "all_asked", "plurality")


def test_two_seats_of_one_model_are_one_witness() -> None:
    twin = replace(seat("E", 1.0, 1.0), model=D.model)
    run = panel({"D": "11", "E": "11", "C": "12", "B": "12", "A": "12"}, (A, B, C, D, twin))
    assert run.decide().final_answer == "12"
    assert asked(run) == "DCB"


def test_free_models_are_asked_from_the_smallest_on() -> None:
    seats = tuple(
        replace(one, price=None, parameters=size)
        for one, size in zip(SEATS, (1e8, 3e9, 5e8, 7e9), strict=True)
    )
    run = panel(dict.fromkeys("ABCD", "12"), seats)
    run.decide()
    assert asked(run) == "AC"


def test_a_silent_seat_is_replaced_by_the_next_one() -> None:
    run = panel({"D": None, "C": "12", "B": "12", "A": "12"})
    assert (run.decide().stop_reason, asked(run)) == ("agreement", "DCB")


def test_one_voice_is_no_quorum() -> None:
    with pytest.raises(NoQuorum):
        panel({"D": None, "C": "12", "B": None, "A": None}).decide()


def test_texts_that_cannot_be_compared_go_to_the_strongest_seat() -> None:
    run = panel(dict.fromkeys("ABCD", "-"))
    decision = run.decide()
    assert asked(run) == "DCA"
    assert decision.answer == f"This is what {A.label} found."
    assert (decision.stop_reason, decision.final_answer, decision.agreement) == (
        "no_short_answer",
        None,
        None,
    )


def test_with_learned_weights_the_posterior_decides_and_not_agreement_alone() -> None:
    # Two agree, and their posterior, e^3 of e^3 + 3, is 0.87: the other two could outvote them.
    run = panel(dict.fromkeys("ABCD", "12"), weighed(2.0, 2.0, 1.5, 1.5))
    assert (run.decide().stop_reason, asked(run)) == ("settled", "DCB")
    run = panel(dict.fromkeys("ABCD", "12"), weighed(2.0, 2.0, 1.5, 1.5), sure=0.8)
    assert (run.decide().stop_reason, asked(run)) == ("settled", "DC")


def test_a_model_that_outweighs_all_others_is_asked_first() -> None:
    run = panel({"A": "12", "B": "13", "C": "13", "D": "13"}, weighed(5.0, 1.0, 1.0, 1.0))
    assert (run.decide().final_answer, asked(run)) == ("12", "AD")


def test_a_model_without_weight_is_asked_last() -> None:
    run = panel({"A": "12", "B": "12", "C": "12", "D": "13"}, weighed(2.0, 2.0, 2.0, 0.0))
    assert run.decide().final_answer == "12"
    assert "D" not in asked(run)


@given(
    answers=st.lists(st.sampled_from("123"), min_size=4, max_size=4),
    weights=st.none() | st.lists(st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 4.0]), min_size=4, max_size=4),
    sure=st.sampled_from([0.6, 0.95, 1.0]),
)
def test_it_stops_as_soon_as_the_rule_holds_and_not_before(
    answers: list[str], weights: list[float] | None, sure: float
) -> None:
    said = dict(zip("ABCD", answers, strict=True))
    run = panel(said, weighed(*weights) if weights else SEATS, sure=sure)
    decision, order = run.decide(), asked(run)
    worth = dict(zip("ABCD", weights or [1.0] * 4, strict=True))

    def over(seats: str) -> bool:
        score = dict.fromkeys((said[one] for one in seats), 0.0)
        for one in seats:
            score[said[one]] += worth[one]
        first, second, *_ = [*sorted(score.values(), reverse=True), 0.0]
        if weights is None:
            return first >= 2 and first > second
        left = sum(worth[one] for one in "ABCD" if one not in seats)
        return max(posterior(score).values()) >= sure or first - second > left

    assert len(set(order)) == len(order) >= 2
    assert not any(over(order[:k]) for k in range(2, len(order)))
    assert over(order) or len(order) == 4
    if sure == 1.0 and weights:
        # Only what could not be outvoted ends it: the answer is that of all votes, unless those tie.
        total = defaultdict[str, float](float)
        for one in "ABCD":
            total[said[one]] += worth[one]
        (best, most), *rest = sorted(total.items(), key=lambda one: -one[1])
        if not rest or most > rest[0][1]:
            assert decision.final_answer == best


def test_its_runs_teach_no_weights_because_dear_models_are_asked_only_on_splits() -> None:
    decision = panel({"D": "11", "C": "12", "B": "12", "A": "12"}).decide()
    seats = [{"seat": one.label, "model": one.model, "role": None} for one in SEATS]
    result = {
        "protocol": "escalate",
        "confidence": None,
        "final_answer": "12",
        "detail": dict(decision.detail),
        "seats": seats,
    }
    assert [q for q in questions([judge(result, "success")]) if any(q.answers.values())] == []


@pytest.mark.parametrize("weights", [(None,) * 4, (1.0, 1.0, 1.0, 1.0)])
def test_the_number_of_calls_is_between_the_pair_and_all(weights: tuple[float | None, ...]) -> None:
    seats = tuple(replace(one, weight=weight) for one, weight in zip(SEATS, weights, strict=True))
    assert call_bounds(PROTOCOL, seats, PROTOCOL.resolve_options({})) == (2, 4)
