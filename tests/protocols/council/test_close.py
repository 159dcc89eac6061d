"""council, once a majority has decided: synthesis, confirmation, what ships, what the result tells."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.core.steps import Ask, Reply
from pnyx.protocols.council.protocol import PROTOCOL
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.councils import A, B, Members, cut, decided, fenced, letter, seats, sit
from tests.support.seats import seat


def test_the_endorsed_author_merges_the_proposals() -> None:
    final = "merged\n\nFinal answer: 42"
    run = sit(Members({"A": "B", "B": "B", "C": "REVISE: the cost"}, synthesise=final))
    decision = run.decide()
    (ask,) = run.asks_for("synthesise")
    assert ask.seat == B
    for shown in ("proposal A1", "proposal B1", "proposal C1", "REVISE: the cost"):
        assert shown in fenced(ask)
    assert "Final answer:" in ask.prompt.text
    assert (decision.answer, decision.final_answer) == (final, "42")


def test_every_seat_confirms_and_a_majority_of_approvals_ships_the_synthesis() -> None:
    run = sit(Members(dict.fromkeys("ABC", "B"), confirm={"C": "REJECT: the cost is gone"}))
    decision = run.decide()
    assert [letter(ask) for ask in run.asks_for("confirm")] == ["A", "B", "C"]
    assert (decision.answer, decision.detail["shipped"]) == ("the synthesis", "synthesis")
    assert decision.status == "majority"
    assert decision.agreement == pytest.approx(2 / 3)
    assert decision.detail["agreed"] == {"seats": 2, "of": 3, "models": 2, "of_models": 3}
    assert [(d.seat, d.text) for d in decision.dissent] == [("Participant C", "REJECT: the cost is gone")]
    assert run.tallies[-1].tally == {"APPROVE": 2, "REJECT": 1}


@pytest.mark.parametrize(
    "closing",
    [
        {"confirm": {"A": "REJECT: wrong", "C": "REJECT: wrong"}},
        {"confirm": {"A": "REJECT: wrong", "C": None}},
        {"confirm": {"A": None, "C": None}},
        {"confirm": "I am not sure what is wanted."},
        {"synthesise": None},
    ],
)
def test_a_reject_an_error_or_a_stall_ships_the_winning_proposal_verbatim(closing: Any) -> None:
    decision = sit(Members({"A": "B", "B": "B", "C": "C"}, **closing)).decide()
    assert (decision.answer, decision.detail["shipped"]) == ("proposal B1", "proposal")
    assert decision.status == "majority"
    assert decision.agreement == pytest.approx(2 / 3)
    assert decision.detail["agreed"]["seats"] == 2
    assert [d.seat for d in decision.dissent] == ["Participant C"]


def test_a_synthesis_that_was_cut_off_ships_the_winning_proposal() -> None:
    def say(ask: Ask) -> str | Reply | None:
        return cut(ask, "half of") if prompt_name(ask) == "synthesise" else members(ask)

    members = Members(dict.fromkeys("ABC", "B"))
    run = ProtocolDriver(PROTOCOL, say, seats=seats(3))
    assert run.decide().answer == "proposal B1"
    assert run.asks_for("confirm") == []


@pytest.mark.parametrize("verdict", ["APPROVE", "REJECT: no"])
def test_verbatim_proposals_stay_in_the_record_either_way(verdict: str) -> None:
    decision = sit(Members(dict.fromkeys("ABC", "B"), confirm=verdict)).decide()
    assert [(p["seat"], p["model"], p["text"]) for p in decision.detail["proposals"]] == [
        ("Participant A", "one:small", "proposal A1"),
        ("Participant B", "two:large", "proposal B1"),
        ("Participant C", "three:mid", "proposal C1"),
    ]
    assert decision.detail["synthesis"] == "the synthesis"


def test_who_voted_otherwise_and_approves_the_synthesis_dissents_no_longer() -> None:
    decision = decided({"A": "B", "B": "B", "C": "C"})
    assert (decision.dissent, decision.status, decision.agreement) == ((), "consensus", 1)


def test_every_seats_vote_and_endorsement_is_in_the_result() -> None:
    decision = decided({"A": "FINALIZE: Participant B because it is cheap", "B": "B", "C": "REVISE: x"})
    votes = [(v["seat"], v["model"], v["answer"], v["vote"]) for v in decision.detail["votes"]]
    assert votes == [
        ("Participant A", "one:small", "Participant B", "finalize"),
        ("Participant B", "two:large", "Participant B", "finalize"),
        ("Participant C", "three:mid", None, "revise"),
    ]


def test_two_seats_of_one_model_are_two_members() -> None:
    twin = seat("C", B.model, 9.0)
    decision = sit(Members({"A": "A", "B": "C", "C": "C"}), seats=(A, B, twin)).decide()
    assert decision.detail["winner"] == "Participant C"
    assert [v["seat"] for v in decision.detail["votes"]] == [
        "Participant A",
        "Participant B",
        "Participant C",
    ]


def test_the_short_answer_before_any_talk_is_shown_beside_the_councils() -> None:
    before = {"A": "x\nFinal answer: 4", "B": "x\nFinal answer: 4", "C": "x\nFinal answer: 5"}
    decision = sit(
        Members(dict.fromkeys("ABC", "C"), propose=before, synthesise="y\nFinal answer: 5")
    ).decide()
    assert (decision.final_answer, decision.detail["vote_only"]["answer"]) == ("5", "4")


def test_the_best_answer_so_far_is_reported_on_the_way() -> None:
    run = sit(Members({"A": "B", "B": "C", "C": "C", "D": "REVISE: x"}, dict.fromkeys("ABCD", "B")), 4)
    run.decide()
    first = run.answers[1]
    assert run.answers[:4] == [None, first, first, first]
    assert run.answers[4:8] == ["proposal C1", *["proposal C2"] * 3]
    assert run.answers[8:] == ["proposal B2", "proposal B2", "the synthesis"]
