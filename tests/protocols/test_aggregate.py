"""aggregate, driven by hand. Names follow PROTOCOLS.md, section aggregate."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pnyx.core.decision import Given
from pnyx.core.steps import Ask, Panel, Reply
from pnyx.core.text import Draft, Material
from pnyx.core.voting.stopping import posterior
from pnyx.errors import NoQuorum, UsageError
from pnyx.protocols.aggregate import PROTOCOL
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.shared.review import Review
from pnyx.testing import ProtocolDriver, Script, prompt_name
from tests.support.rows import rows
from tests.support.seats import lab_seat as seat

A, B, C = seat("A", 2.0, 3.0), seat("B", 9.0, 2.0), seat("C", 4.0, 1.0)
SOUND = "It has nine doors and three gates, so twelve."


def review(answer: str) -> str:
    return (
        "ACCEPTED: Participant A counts the doors.\nREJECTED: Participant C counts the hall as a door.\n"
        f"ANSWER:\n{SOUND}\nFinal answer: {answer}"
    )


def words(native: str, after: str) -> Script:
    """One word a seat, in order; "-" is silence."""

    def say(ask: Ask) -> str | None:
        place = "ABC".index(ask.seat.label[-1])
        word = (native if prompt_name(ask) == "answer" else after).split()[place]
        if word == "-":
            return None
        return f"So it seems.\nFinal answer: {word}" if prompt_name(ask) == "answer" else review(word)

    return say


def reviewed(say: Script, **more: Any) -> ProtocolDriver:
    return ProtocolDriver(PROTOCOL, say, (A, B, C), **more)


def test_every_seat_answers_alone_and_the_strongest_aggregates() -> None:
    run = reviewed(words("12 13 13", "12 12 12"))
    decision = run.decide()
    assert run.phases == [("answer", 1), ("aggregate", 1), ("complete", 1)]
    assert run.waves == [3]
    assert [ask.seat for ask in run.asks_for("review")] == [B]
    assert decision.answer == f"{SOUND}\nFinal answer: 12"
    assert (decision.final_answer, decision.stop_reason) == ("12", "aggregated")


def test_the_aggregator_judges_reasoning_and_not_popularity() -> None:
    run = reviewed(words("12 13 13", "12 12 12"))
    decision = run.decide()
    asked = run.asks_for("review")[0].prompt.text
    assert "Judge steps, not conclusions" in asked
    assert "How many answers share a conclusion is no evidence" in asked
    assert decision.status == "decided"
    assert decision.agreement == pytest.approx(1 / 3)
    assert decision.detail["vote_only"] == {"answer": "13", "tally": {"13": 2.0, "12": 1.0}, "margin": 1.0}
    assert [d.seat for d in decision.dissent] == ["Participant B", "Participant C"]


def test_the_aggregator_says_which_steps_it_accepted_or_rejected() -> None:
    decision = reviewed(words("12 13 13", "12 12 12")).decide()
    (review,) = decision.detail["reviews"]
    assert "ACCEPTED: Participant A counts the doors." in review["review"]
    assert "REJECTED: Participant C" in review["review"]
    assert "ACCEPTED" not in decision.answer


def test_identity_is_stripped() -> None:
    run = reviewed(
        lambda ask: "As lab:a, I say so.\nFinal answer: 1" if prompt_name(ask) == "answer" else review("1")
    )
    run.decide()
    assert all("lab:" not in ask.prompt.text for ask in run.asks)


def test_the_order_is_shuffled_freshly_for_each_aggregator() -> None:
    many = tuple(seat(label) for label in "ABCDEF")
    run = ProtocolDriver(PROTOCOL, lambda ask: review("1"), many, aggregators="each")
    run.decide()
    orders = {tuple(re.findall(r" Participant (\w)>", ask.prompt.text)) for ask in run.asks_for("review")}
    assert len(orders) > 3
    assert all(sorted(order) == list("ABCDEF") for order in orders)


def test_with_each_every_seat_aggregates_and_their_majority_decides() -> None:
    run = reviewed(words("12 13 13", "12 12 13"), aggregators="each")
    decision = run.decide()
    assert run.waves == [3, 3]
    assert (decision.final_answer, decision.status) == ("12", "majority")
    assert decision.agreement == pytest.approx(2 / 3)
    assert decision.detail["tally"] == {"12": 2.0, "13": 1.0}
    assert [d.seat for d in decision.dissent] == ["Participant C"]


def test_native_and_aggregated_answers_are_kept_for_each_seat() -> None:
    decision = reviewed(words("12 13 13", "12 12 -"), aggregators="each").decide()
    moves = [(s["seat"][-1], s["model"], s["native"], s["aggregated"]) for s in decision.detail["seats"]]
    assert sorted(moves) == [
        ("A", "lab:a", "12", "12"),
        ("B", "lab:b", "13", "12"),
        ("C", "lab:c", "13", None),
    ]
    assert decision.detail["vote_only"]["answer"] == "13"
    assert decision.detail["changes"] == 1


def test_a_tie_of_aggregators_goes_to_the_native_plurality() -> None:
    decision = reviewed(words("12 13 12", "12 13 -"), aggregators="each").decide()
    assert (decision.final_answer, decision.status) == ("12", "plurality")


def test_native_answers_stay_a_prior_of_support() -> None:
    decision = reviewed(words("12 13 13", "12 12 12"), aggregators="each").decide()
    assert decision.status == "consensus"
    assert decision.support == pytest.approx(posterior({"12": 1.75, "13": 2.0})["12"])


def test_free_answers_are_sorted_by_one_call_of_the_cheapest() -> None:
    def say(ask: Ask) -> str:
        if prompt_name(ask) == "camps":
            return '{"groups": [[1, 2, 3, 4, 5, 6]]}'
        return "Build it." if prompt_name(ask) == "answer" else "ANSWER:\nBuild it now."

    run = reviewed(say, aggregators="each")
    decision = run.decide()
    assert [ask.seat for ask in run.asks_for("camps")] == [C]
    assert (decision.status, decision.answer) == ("consensus", "Build it now.")


def test_free_answers_cost_no_further_call_with_one_aggregator() -> None:
    run = reviewed(lambda ask: "Build it." if prompt_name(ask) == "answer" else "ANSWER:\nBuild it now.")
    decision = run.decide()
    assert len(run.asks) == 4
    assert (decision.status, decision.agreement, decision.support) == ("decided", None, None)


def test_a_silent_aggregator_is_replaced_by_the_next_strongest() -> None:
    run = reviewed(words("12 13 13", "12 - 13"))
    decision = run.decide()
    assert [ask.seat for ask in run.asks_for("review")] == [B, C]
    assert decision.final_answer == "13"


def test_an_aggregator_that_was_cut_off_is_not_used() -> None:
    def say(ask: Ask) -> Reply:
        said = words("12 13 13", "12 14 13")(ask)
        assert isinstance(said, str)
        return Reply(ask, said, truncated=prompt_name(ask) == "review" and ask.seat == B)

    assert reviewed(say).decide().final_answer == "13"
    assert reviewed(say, aggregators="each").decide().detail["tally"] == {"12": 1.0, "13": 1.0}


@pytest.mark.parametrize("aggregators", ["one", "each"])
def test_without_any_aggregator_the_leading_native_answer_stands_verbatim(aggregators: str) -> None:
    decision = reviewed(words("12 13 13", "- - -"), aggregators=aggregators).decide()
    assert decision.answer == "So it seems.\nFinal answer: 13"
    assert (decision.status, decision.stop_reason) == ("majority", "no_aggregator")


@pytest.mark.parametrize("aggregators", ["one", "each"])
def test_below_two_native_answers_there_is_no_quorum(aggregators: str) -> None:
    with pytest.raises(NoQuorum):
        reviewed(words("12 - -", "12 12 12"), aggregators=aggregators).decide()


GIVEN = (Given("12", "Nine and three."), Given("13", "I counted."), Given("13"), Given("14", "", "far:away"))


def test_given_answers_are_reviewed_without_asking_for_others() -> None:
    run = reviewed(words("- - -", "12 12 12"), responses=GIVEN)
    decision = run.decide()
    assert len(run.asks) == 1
    assert "Nine and three.\n\nFinal answer: 12" in run.asks[0].prompt.text
    assert "Participant 4>" in run.asks[0].prompt.text
    assert "far:away" not in run.asks[0].prompt.text
    assert decision.detail["votes"][3] == {"seat": "Participant 4", "model": "far:away", "answer": "14"}


def test_given_answers_are_reviewed_by_each() -> None:
    run = reviewed(words("- - -", "12 12 13"), responses=GIVEN[:2], aggregators="each")
    decision = run.decide()
    assert len(run.asks) == 3
    first_answers = {s["seat"][-1]: s["native"] for s in decision.detail["seats"]}
    assert first_answers == {"A": "12", "B": "13", "C": None}


@rows(
    "text, answer",
    [
        ("ACCEPTED: none\nANSWER:\nTwelve.", "Twelve."),
        ("ACCEPTED: none\n\n**ANSWER:**\n\nTwelve.", "Twelve."),
        ("ACCEPTED: none\n## Answer:\nTwelve.", "Twelve."),
        ("ACCEPTED: none\nANSWER: Twelve.", "Twelve."),
        ("ACCEPTED: it says so.\nAnswer: 4 of B is right.\nANSWER:\nTwelve.", "Twelve."),
        ("## ACCEPTED\nnone\n## ANSWER\n\nTwelve.", "Twelve."),
        ("**ACCEPTED**\nnone\n\n**ANSWER**\n\nTwelve.", "Twelve."),
        ("ACCEPTED\nnone\nANSWER\nTwelve.", "Twelve."),
        ("1. ACCEPTED: none\n\n2. REJECTED: none\n\n3. ANSWER:\nTwelve.", "Twelve."),
        ("**1. ACCEPTED**\nnone\n**(3) ANSWER:** Twelve.", "Twelve."),
        ("### Part 3: ANSWER\nTwelve.", "Twelve."),
        ("ACCEPTED: it says so.\nREJECTED: Answer 4 of B.\n\nAnswer: Twelve.", "Twelve."),
        (
            "ACCEPTED: it says so.\nAnswer: 4 of B is right.\n**REJECTED**\nnone\n\n**Answer:** Twelve.",
            "Twelve.",
        ),
        ("Answer: Twelve, as said.", "Answer: Twelve, as said."),
        ("```\nANSWER:\nTwelve.\n```", "Twelve."),
        ("```\nANSWER:\nTwelve:\n```python\n12\n```\n```", "Twelve:\n```python\n12\n```"),
        ("ANSWER:\nTwelve:\n```\n12\n```", "Twelve:\n```\n12\n```"),
        ("It is twelve.", "It is twelve."),
        ("ACCEPTED: none\nANSWER:\n", "ACCEPTED: none\nANSWER:\n"),
        ("REJECTED: none\nFinal answer: 12", "REJECTED: none\nFinal answer: 12"),
    ],
)
def test_the_answer_is_what_stands_below_its_line(text: str, answer: str) -> None:
    ask = Panel((A,)).ask(A, Draft("t", "0", ("Q",)))
    assert Review.read(Reply(ask, text)).answer == answer


def test_context_reaches_every_seat() -> None:
    run = reviewed(words("1 2 3", "1 1 1"), context=(Material("Source 1", "The hall has nine doors."),))
    run.decide()
    assert all("The hall has nine doors." in ask.prompt.text for ask in run.asks)


def test_the_best_answer_so_far_is_reported_on_the_way() -> None:
    run = reviewed(words("12 13 13", "12 12 12"))
    run.decide()
    assert run.answers == [None, "So it seems.\nFinal answer: 13", f"{SOUND}\nFinal answer: 12"]


def test_the_number_of_calls_is_known_beforehand() -> None:
    assert PROTOCOL.calls is not None
    assert call_bounds(PROTOCOL, (A, B, C), PROTOCOL.resolve_options({})) == (4, 4)
    assert call_bounds(PROTOCOL, (A, B, C), PROTOCOL.resolve_options({"aggregators": "each"})) == (6, 8)
    with pytest.raises(UsageError, match="one of one, each"):
        PROTOCOL.resolve_options({"aggregators": "two"})
