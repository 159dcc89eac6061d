"""deliberate, driven by hand. Names follow PROTOCOLS.md, section deliberate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.decision import Given
from pnyx.core.steps import Ask, Reply
from pnyx.core.text import Material
from pnyx.core.voting.stopping import posterior
from pnyx.errors import NoQuorum, UsageError
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.deliberate import PROTOCOL
from pnyx.testing import ProtocolDriver, Script, prompt_name
from tests.support.seats import lab_seat as seat

A, B, C = seat("A", 2.0, 3.0), seat("B", 9.0, 2.0), seat("C", 4.0, 1.0)


def native(answer: str) -> str:
    return f"It follows from the question.\n\nFinal answer: {answer}"


def position(answer: str) -> str:
    return (
        "STEELMAN: The others count both ends.\n"
        f"CRITIQUE: The second step counts one end twice, says the one for {answer}.\n"
        f"DECISION: It is {answer}, as the first step holds.\nFinal answer: {answer}"
    )


def words(**rounds: str) -> Callable[[Ask], str | None]:
    """For each seat its answers in order: native, each round, vote; the last one is kept."""
    turns = {label: answers.split() for label, answers in rounds.items()}

    def say(ask: Ask) -> str | None:
        left = turns[ask.seat.label[-1]]
        answer = left.pop(0) if len(left) > 1 else left[0]
        if answer == "-":
            return None
        return position(answer) if prompt_name(ask) == "position" else native(answer)

    return say


def debate(say: Script, **more: Any) -> ProtocolDriver:
    return ProtocolDriver(PROTOCOL, say, (A, B, C), **more)


def test_unanimous_answers_are_returned_at_once_with_no_further_call() -> None:
    run = debate(words(A="12", B="12.0", C="12"))
    decision = run.decide()
    assert len(run.asks) == 3
    assert run.phases == [("answer", 1), ("complete", 1)]
    assert (decision.status, decision.stop_reason, decision.rounds) == ("consensus", "unanimous", 0)
    assert (decision.agreement, decision.consensus_reached, decision.final_answer) == (1.0, True, "12.0")
    assert decision.dissent == ()


def test_it_debates_only_when_the_native_answers_differ() -> None:
    run = debate(words(A="12 13", B="13", C="13"))
    decision = run.decide()
    assert run.phases == [("answer", 1), ("debate", 1), ("complete", 1)]
    assert (decision.stop_reason, decision.consensus_reached, decision.rounds) == ("consensus", True, 1)
    assert decision.final_answer == "13"
    assert decision.answer == "It is 13, as the first step holds.\nFinal answer: 13"


def test_each_round_every_seat_gives_steelman_critique_and_decision_in_one_structured_reply() -> None:
    run = debate(words(A="12", B="13", C="13"), rounds=1)
    run.decide()
    asks = run.asks_for("position")
    assert [ask.seat for ask in asks] == [A, B, C]
    for ask in asks:
        assert ask.schema is not None
        assert set(ask.schema.document["properties"]) == {"steelman", "critique", "decision", "answer"}
        assert all(part in ask.prompt.text for part in ("STEELMAN", "CRITIQUE", "DECISION"))


def test_a_position_given_as_json_counts_and_carries_its_short_answer() -> None:
    position = {"steelman": "s", "critique": "c", "decision": "The first step holds.", "answer": "13"}
    run = debate(
        lambda ask: json.dumps(position) if prompt_name(ask) == "position" else native(ask.seat.label[-1])
    )
    decision = run.decide()
    assert decision.final_answer == "13"
    assert decision.answer == "The first step holds.\n\nFinal answer: 13"


def test_a_seat_learns_which_position_is_its_own_and_which_are_those_of_the_others() -> None:
    run = debate(words(A="12 14 14", B="13", C="15"), rounds=3)
    run.decide()
    second = next(ask for ask in run.asks_for("position")[3:] if ask.seat == A).prompt.text
    assert "You are Participant A." in second
    assert 'Your position as it stands: "Position of round 1 by Participant A".' in second
    others = second.partition("The positions of the others as they stand: ")[2].partition(". ")[0]
    assert sorted(others.split(", ")) == [f'"Position of round 1 by {seat.label}"' for seat in (B, C)]
    assert re.search(r" Position of round 1 by Participant A>\nIt is 14, ", second)
    assert "says the one for 13" in second


def test_the_unchanging_part_of_a_rounds_prompt_comes_first() -> None:
    run = debate(words(A="12 14 15", B="13", C="16"), rounds=2)
    run.decide()
    first, one, two = (
        ask.prompt for ask in run.asks if ask.seat == A and ask.prompt.name != "deliberate/vote"
    )
    assert first.system == one.system == two.system
    assert all(part in one.system for part in ("STEELMAN:", "CRITIQUE:", "DECISION:"))
    assert two.text.startswith(one.text[: one.breaks[-1]])
    assert one.text.startswith(first.text[: first.breaks[-1]])


def test_it_is_stuck_when_no_seat_changed_position_for_two_rounds() -> None:
    run = debate(words(A="12", B="13", C="13"))
    decision = run.decide()
    phases = ["answer", "debate", "debate", "vote", "complete"]
    assert [phase for phase, _ in run.phases] == phases
    assert (decision.stop_reason, decision.rounds, decision.consensus_reached) == ("stuck", 2, False)


def test_a_move_restarts_the_count_of_quiet_rounds() -> None:
    decision = debate(words(A="12 12 14 14 14 14", B="13", C="13")).decide()
    assert (decision.stop_reason, decision.rounds) == ("stuck", 4)


def test_rounds_is_the_most_and_five_by_default() -> None:
    decision = debate(words(A="1 2 3 4 5 6 7", B="0", C="0")).decide()
    assert (decision.stop_reason, decision.rounds) == ("max_rounds", 5)
    decision = debate(words(A="1 2 3 4 5 6 7", B="0", C="0"), rounds=2).decide()
    assert decision.rounds == 2


def test_the_final_vote_is_independent_and_after_reading_the_whole_history() -> None:
    run = debate(words(A="12 14 14 14", B="13", C="15"), rounds=2)
    run.decide()
    votes = run.asks_for("vote")
    assert [ask.seat for ask in votes] == [A, B, C]
    assert run.waves[-1] == 3
    for ask in votes:
        for kind in ("First answer", "Position of round 1", "Position of round 2"):
            assert all(f" {kind} by {seat.label}>" in ask.prompt.text for seat in (A, B, C))
    assert f"taken part as {A.label}" in votes[0].prompt.text


def test_the_final_vote_is_by_plurality() -> None:
    decision = debate(words(A="12 12 12 13", B="13", C="15"), rounds=2).decide()
    assert decision.final_answer == "13"
    assert decision.status == "majority"
    assert decision.agreement == pytest.approx(2 / 3)
    assert decision.detail["tally"] == {"13": 2.0, "15": 1.0}
    assert [d.seat for d in decision.dissent] == ["Participant C"]
    assert [d.model for d in decision.dissent] == ["lab:c"]


def test_a_tied_vote_goes_to_the_native_plurality_and_then_to_strength() -> None:
    d = seat("D", 1.0)
    script = words(A="12", B="13", C="12 14 14 13", D="12")
    decision = ProtocolDriver(PROTOCOL, script, (A, B, C, d), rounds=2).decide()
    assert decision.detail["tally"] == {"12": 2.0, "13": 2.0}
    assert (decision.final_answer, decision.status) == ("12", "plurality")
    by_strength = debate(words(A="12", B="13", C="14")).decide()
    assert (by_strength.final_answer, by_strength.status) == ("13", "plurality")


def test_position_changes_per_seat_and_round_are_in_the_result() -> None:
    decision = debate(words(A="12 13", B="13", C="15 15 13")).decide()
    moves = {(m["seat"][-1], m["round"]): (m["answer"], m["changed"]) for m in decision.detail["positions"]}
    assert moves["A", 0] == ("12", False)
    assert moves["A", 1] == ("13", True)
    assert moves["C", 1] == ("15", False)
    assert moves["C", 2] == ("13", True)
    assert decision.detail["changes"] == 2


def test_the_vote_only_answer_is_reported_beside_its_own() -> None:
    decision = debate(words(A="12", B="13 12", C="13 12")).decide()
    assert decision.final_answer == "12"
    assert decision.detail["vote_only"]["answer"] == "13"
    assert decision.detail["vote_only"]["tally"] == {"13": 2.0, "12": 1.0}


def test_native_answers_stay_a_prior_of_support() -> None:
    decision = debate(words(A="12", B="13 12", C="13 12")).decide()
    assert decision.support == pytest.approx(posterior({"12": 1.75, "13": 2.0})["12"])
    assert decision.detail["pooled_tally"] == {"13": 2.0, "12": 1.75}


def test_support_is_the_same_whatever_votes_weigh() -> None:
    def sure(*weights: float | None) -> float | None:
        seats = [replace(one, weight=weight) for one, weight in zip((A, B, C), weights, strict=True)]
        return ProtocolDriver(PROTOCOL, words(A="12", B="13 12", C="13 12"), tuple(seats)).decide().support

    assert sure(2.0, 0.1, 0.1) == sure(None, None, None) == posterior({"12": 1.75, "13": 2.0})["12"]


FREE = {"A": "Build it now.", "B": "Wait a year.", "C": "Start at once."}


def free(groups: str | None) -> Callable[[Ask], str | None]:
    def say(ask: Ask) -> str | None:
        if prompt_name(ask) == "camps":
            listed = re.findall(r'^(\d+): "First answer by Participant (\w)"$', ask.prompt.text, re.MULTILINE)
            numbers = {letter: int(n) for n, letter in listed}
            return groups and groups.format(**{letter: numbers.get(letter, 0) for letter in FREE})
        return (
            position(FREE[ask.seat.label[-1]]) if prompt_name(ask) == "position" else FREE[ask.seat.label[-1]]
        )

    return say


def test_free_answers_are_the_same_only_when_one_call_of_the_cheapest_says_so() -> None:
    run = debate(free('{{"groups": [[{A}, {B}, {C}]]}}'))
    decision = run.decide()
    assert [(ask.seat, ask.schema and ask.schema.name) for ask in run.asks_for("camps")] == [(C, "groups")]
    assert len(run.asks) == 4
    assert (decision.stop_reason, decision.detail["judged"]) == ("unanimous", True)
    assert decision.final_answer is None
    assert decision.answer == "Wait a year."


def test_free_answers_that_the_judge_tells_apart_are_debated() -> None:
    run = debate(free('{{"groups": [[{A}, {C}], [{B}]]}}'), rounds=1)
    run.decide()
    assert run.tallies[0].tally == {"Participant A's answer": 2.0, "Participant B's answer": 1.0}


def test_without_a_readable_verdict_free_answers_count_as_different() -> None:
    run = debate(free("They are all much alike, I would say."), rounds=1)
    decision = run.decide()
    (native,) = (count for count in run.tallies if count.rule == "native plurality")
    assert len(native.tally) == 3
    assert decision.detail["judged"] is False
    assert [ask.seat for ask in run.asks_for("camps")[:2]] == [C, B]


def test_the_judge_of_sameness_reads_the_answers_where_all_others_do() -> None:
    run = debate(free('{{"groups": [[{A}, {B}, {C}]]}}'))
    run.decide()
    prompt = run.asks_for("camps")[0].prompt
    for letter, text in FREE.items():
        assert prompt.text.count(text) == 1
        assert f" First answer by Participant {letter}>\n{text}\n" in prompt.text[: prompt.breaks[-1]]


def test_short_answers_never_cost_a_call_to_compare() -> None:
    run = debate(words(A="Paris", B="Rome", C="paris."), rounds=3)
    run.decide()
    assert run.asks_for("camps") == []


def test_an_unreadable_position_is_repaired_once_and_then_the_seat_abstains() -> None:
    def say(ask: Ask) -> str:
        if ask.seat == A and prompt_name(ask) in ("position", "repair"):
            return "Hmm."
        return position("13") if prompt_name(ask) == "position" else native("12" if ask.seat == A else "13")

    run = debate(say)
    decision = run.decide()
    assert len(run.asks_for("repair")) == 1
    assert (decision.stop_reason, decision.final_answer) == ("consensus", "13")
    assert [(d.seat, d.text) for d in decision.dissent] == [("Participant A", native("12"))]


def test_a_silent_seat_is_no_move_and_no_support() -> None:
    decision = debate(words(A="12 -", B="13", C="14 13")).decide()
    assert (decision.stop_reason, decision.agreement) == ("consensus", 1.0)
    assert [d.seat for d in decision.dissent] == ["Participant A"]


def test_one_seat_alone_is_no_consensus() -> None:
    decision = debate(words(A="12 -", B="13 -", C="14"), rounds=1).decide()
    assert decision.consensus_reached is False


def test_when_nobody_votes_the_last_positions_are_counted() -> None:
    decision = debate(words(A="12 13 -", B="13 13 -", C="14 15 -"), rounds=1).decide()
    assert decision.final_answer == "13"
    assert decision.detail["tally"] == {"13": 2.0, "15": 1.0}


def test_a_vote_that_was_cut_off_is_not_counted() -> None:
    def say(ask: Ask) -> Reply:
        text = position("13") if prompt_name(ask) == "position" else native(ask.seat.label[-1])
        return Reply(ask, text, truncated=ask.seat == A and prompt_name(ask) == "vote")

    votes = debate(lambda ask: replace(say(ask), text=native(ask.seat.label[-1])), rounds=1).decide()
    assert votes.detail["tally"] == {"B": 1.0, "C": 1.0}


def test_a_position_that_was_cut_off_is_no_move() -> None:
    def say(ask: Ask) -> Reply:
        text = position("13") if prompt_name(ask) == "position" else native(ask.seat.label[-1])
        return Reply(ask, text, truncated=ask.seat == A and prompt_name(ask) == "position")

    decision = debate(say).decide()
    assert [m["seat"][-1] for m in decision.detail["positions"][3:]] == ["B", "C"]


def test_below_two_native_answers_there_is_no_quorum() -> None:
    with pytest.raises(NoQuorum):
        debate(words(A="12", B="-", C="-")).decide()


GIVEN = (Given("12", "Counted twice."), Given("13", "Counted once.", "other:model"), Given("12"))


def test_given_answers_stand_for_the_native_ones() -> None:
    run = debate(words(A="13", B="13", C="13"), responses=GIVEN)
    decision = run.decide()
    assert run.asks_for("answer") == []
    assert "Counted twice.\n\nFinal answer: 12" in run.asks_for("position")[1].prompt.text
    assert decision.detail["vote_only"]["tally"] == {"12": 2.0, "13": 1.0}
    assert decision.final_answer == "13"
    assert [m["model"] for m in decision.detail["positions"][:3]] == ["lab:a", "other:model", "lab:c"]


def test_given_answers_that_agree_cost_no_call_at_all() -> None:
    run = debate(words(A="-"), responses=(Given("12"), Given("12.0")))
    assert run.decide().status == "consensus"
    assert run.asks == []


def test_a_given_answer_beyond_the_seats_is_heard_and_never_asked() -> None:
    run = debate(words(A="13", B="13", C="13"), responses=(*GIVEN, Given("14", "The fourth says so.")))
    decision = run.decide()
    assert "The fourth says so." in run.asks_for("position")[0].prompt.text
    assert {ask.seat for ask in run.asks} == {A, B, C}
    assert [d.seat for d in decision.dissent] == ["Participant 4"]


def test_one_given_answer_is_no_quorum() -> None:
    with pytest.raises(NoQuorum, match="1 of 2 responses have"):
        debate(words(), responses=(Given("12"), Given(" "))).decide()


def test_context_reaches_every_seat() -> None:
    run = debate(words(A="12", B="13", C="13"), context=(Material("Source 1", "The hall has nine doors."),))
    run.decide()
    assert all("The hall has nine doors." in ask.prompt.text for ask in run.asks)


def test_the_best_answer_so_far_is_reported_on_the_way() -> None:
    run = debate(words(A="12", B="13", C="12"))
    run.decide()
    assert run.answers[0] is None
    assert all("12" in (best or "") for best in run.answers[1:])


def test_the_number_of_calls_is_a_range_known_beforehand() -> None:
    assert PROTOCOL.calls is not None
    assert call_bounds(PROTOCOL, (A, B, C), PROTOCOL.resolve_options({})) == (3, 50)
    with pytest.raises(UsageError, match="between 1 and 20"):
        PROTOCOL.resolve_options({"rounds": 0})


def test_agreement_counts_a_live_seat_whose_position_could_not_be_read() -> None:
    def say(ask: Ask) -> str:
        if ask.seat == A and prompt_name(ask) in ("position", "repair"):
            return "Hmm."
        return position("13") if prompt_name(ask) == "position" else native("12" if ask.seat == A else "13")

    decision = debate(say).decide()
    assert (decision.stop_reason, decision.status) == ("consensus", "majority")
    assert decision.agreement == pytest.approx(2 / 3)
    assert decision.detail["tally"] == {"13": 2.0}


def test_a_position_that_ends_on_another_answer_than_it_names_is_repaired() -> None:
    torn = json.dumps({"decision": "I hold 5.\nFinal answer: 5", "answer": "4"})
    run = debate(lambda ask: torn if prompt_name(ask) == "position" else native(ask.seat.label[-1]), rounds=1)
    run.decide()
    assert len(run.asks_for("repair")) == 3
