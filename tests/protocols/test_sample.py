"""sample, driven by hand. Names follow PROTOCOLS.md, section single, sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.models import Seat
from pnyx.core.steps import Ask, Decision, Reply
from pnyx.core.text import Material
from pnyx.core.voting.stopping import posterior
from pnyx.errors import NoQuorum, UsageError
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.sample import PROTOCOL
from pnyx.testing import ProtocolDriver, Script
from tests.support.seats import seat

A, B, C = seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid")
PROSE = "It depends on the weather, on the season, and on the people who are asked about it, of course."


def answers(values: str) -> Script:
    """One value an ask, in order, for ever from the start; "-" is silence and "?" prose."""
    at = iter(range(10_000))

    def say(ask: Ask) -> str | None:
        value = values[next(at) % len(values)]
        return None if value == "-" else PROSE if value == "?" else f"Step.\nFinal answer: {value}"

    return say


def run(say: Script, *seats: Seat, **options: Any) -> tuple[ProtocolDriver, Decision]:
    driven = ProtocolDriver(PROTOCOL, say, seats=seats or (A,), **options)
    return driven, driven.decide()


def test_the_plurality_of_final_answers_is_the_decision() -> None:
    driven, decision = run(answers("4545545555"), samples=10, adaptive=False)
    assert (decision.final_answer, decision.answer) == ("5", "Step.\nFinal answer: 5")
    assert (decision.agreement, decision.status) == (0.7, "majority")
    assert decision.detail["tally"] == {"5": 7, "4": 3}
    assert (decision.detail["margin"], decision.detail["asked"]) == (4, 10)
    (event,) = driven.tallies
    assert (event.rule, dict(event.tally), event.winner) == ("plurality", {"5": 7, "4": 3}, "5")


def test_four_to_nil_stops_after_one_batch_of_four() -> None:
    driven, decision = run(answers("4"))
    assert driven.waves == [4]
    assert driven.phases == [("sample", 1), ("complete", 1)]
    assert (decision.stop_reason, decision.status, decision.agreement) == ("clear_lead", "consensus", 1.0)
    assert decision.detail["lead_probability"] == 31 / 32


def test_three_to_nil_does_not_stop() -> None:
    driven, decision = run(answers("444?4"))
    assert driven.waves == [4, 1]
    assert decision.stop_reason == "clear_lead"
    assert decision.agreement == 4 / 5


def test_a_batch_is_as_many_as_it_takes_at_least_until_the_lead_could_be_clear() -> None:
    driven, decision = run(answers("4454" + "44"))
    assert driven.waves == [4, 3]
    assert (decision.final_answer, decision.rounds) == ("4", 2)
    driven, _ = run(answers("4554" + "555555"))
    assert driven.waves == [4, 6]


def test_it_asks_for_samples_answers_at_most() -> None:
    driven, decision = run(answers("45"))
    assert len(driven.asks) == 16
    assert decision.stop_reason == "max_samples"
    assert (decision.agreement, decision.status) == (0.5, "plurality")
    driven, _ = run(answers("45"), samples=3)
    assert driven.waves == [3]


def test_without_adaptive_all_samples_are_asked_for_at_once() -> None:
    driven, decision = run(answers("4"), adaptive=False)
    assert driven.waves == [16]
    assert decision.stop_reason == "max_samples"


def test_several_seats_take_turns_the_strongest_first() -> None:
    driven, _ = run(answers("45"), A, B, C, samples=7, adaptive=False)
    assert [ask.seat for ask in driven.asks] == [B, C, A, B, C, A, B]
    driven, _ = run(answers("4445"), A, B, C)
    assert [ask.seat for ask in driven.asks][:7] == [B, C, A, B, C, A, B]


def test_answers_alone_are_of_the_first_batch_since_later_ones_are_of_harder_questions() -> None:
    seats = tuple(seat(label, f"lab:{label}") for label in "ABCDE")
    driven, decision = run(answers("44454"), *seats)
    assert len(driven.asks) > 4
    assert decision.detail["native"].keys() == {s.label for s in seats[:4]}


def test_the_prompts_of_one_seat_are_the_same() -> None:
    driven, _ = run(answers("4"))
    assert len({ask.fingerprint for ask in driven.asks}) == 1


def test_samples_of_one_model_are_one_witness_and_those_of_several_are_several() -> None:
    for seats in ((A,), (A, B)):
        decision = run(answers("4"), *seats)[1]
        assert decision.support == pytest.approx(posterior({"4": len(seats)})["4"])
        assert decision.detail["agreed"]["models"] == len(seats)


def test_a_single_answer_is_nobodys_agreement() -> None:
    _, decision = run(answers("4"), samples=1)
    assert (decision.status, decision.agreement, decision.support) == ("single", None, None)
    assert decision.final_answer == "4"


def test_one_seat_is_enough_and_none_is_not() -> None:
    assert PROTOCOL.quorum == 1
    _, decision = run(answers("4---"), samples=4)
    assert decision.final_answer == "4"
    with pytest.raises(NoQuorum):
        run(answers("-"))


def test_a_seat_that_was_silent_in_all_of_a_batch_is_not_asked_again() -> None:
    def say(ask: Ask) -> str | None:
        return None if ask.seat == B else f"Final answer: {len(driven.asks) % 2}"

    driven = ProtocolDriver(PROTOCOL, say, seats=(A, B))
    driven.decide()
    assert [ask.seat for ask in driven.asks[:4]] == [B, A, B, A]
    assert {ask.seat for ask in driven.asks[4:]} == {A}


def test_it_ends_with_what_it_has_when_every_seat_falls_silent() -> None:
    driven, decision = run(answers("44-5" + "-" * 100))
    assert decision.stop_reason == "no_seat_left"
    assert (decision.final_answer, len(decision.detail["votes"])) == ("4", 3)
    assert driven.waves == [4, 4]


def test_a_question_without_a_short_answer_is_not_asked_on() -> None:
    driven, decision = run(answers("?"), A, B)
    assert driven.waves == [4]
    assert (decision.stop_reason, decision.status) == ("no_short_answer", "decided")
    assert (decision.answer, decision.final_answer, decision.agreement) == (PROSE, None, None)


def test_an_answer_that_was_cut_off_is_not_counted() -> None:
    def say(ask: Ask) -> str | Reply:
        return Reply(ask, "Final answer: 9", truncated=len(driven.asks) < 4)

    driven = ProtocolDriver(PROTOCOL, say, seats=(A,), samples=4, adaptive=False)
    assert driven.decide().detail["tally"] == {"9": 1}


def test_a_tie_goes_to_the_strongest_seats_answer() -> None:
    driven = ProtocolDriver(
        PROTOCOL,
        lambda ask: f"Final answer: {4 if ask.seat == A else 5}",
        seats=(A, B),
        samples=6,
    )
    decision = driven.decide()
    assert decision.final_answer == "5"
    assert decision.detail["tied"]
    assert [(d.seat, d.text) for d in decision.dissent] == [(A.label, "Final answer: 4")]


def test_the_best_answer_so_far_is_reported_on_the_way() -> None:
    driven, _ = run(answers("4454" + "44"))
    assert driven.answers == [None, "Step.\nFinal answer: 4", "Step.\nFinal answer: 4"]


def test_context_reaches_every_sample_fenced() -> None:
    driven, _ = run(answers("4"), context=(Material("Notes", "We chose nine."),))
    assert all(" Notes>\nWe chose nine.\n</" in ask.prompt.text for ask in driven.asks)


def test_samples_out_of_bounds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"sample.samples must be between 1 and 100, not 0"):
        PROTOCOL.resolve_options({"samples": 0})


def test_the_number_of_calls_is_known_beforehand() -> None:
    assert PROTOCOL.calls is not None
    assert call_bounds(PROTOCOL, (A,), PROTOCOL.resolve_options({})) == (4, 16)
    assert call_bounds(PROTOCOL, (A,), PROTOCOL.resolve_options({"samples": 3})) == (3, 3)
    assert call_bounds(PROTOCOL, (A, B), PROTOCOL.resolve_options({"adaptive": False})) == (16, 16)


def test_a_lead_by_heads_alone_is_not_clear_where_votes_have_learned_weights() -> None:
    seats = (replace(A, weight=3.0), replace(B, weight=0.5), replace(C, weight=0.5))

    def say(ask: Ask) -> str:
        return f"Step.\nFinal answer: {4 if ask.seat.label == A.label else 5}"

    driven, decision = run(say, *seats, samples=12)
    assert len(driven.asks) == 12  # eight heads for 5 against four for 4, which weigh more
    assert (decision.final_answer, decision.stop_reason) == ("4", "max_samples")
    assert decision.detail["lead_probability"] < 0.5


def test_seats_that_answer_are_asked_where_all_of_the_first_batch_are_silent() -> None:
    gone = tuple(seat(label, "two:gone", 9.0) for label in "BCDE")
    driven, decision = run(lambda ask: "Final answer: 4" if ask.seat == A else None, *gone, A)
    assert (decision.final_answer, decision.stop_reason) == ("4", "clear_lead")
    assert driven.phases == [("sample", 1), ("complete", 1)]
    with pytest.raises(NoQuorum, match="none of 4 calls"):
        run(lambda ask: None, *gone)
