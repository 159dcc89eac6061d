"""voting, where it is known what votes are worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pnyx.core.decision import Given
from pnyx.core.models import Seat
from pnyx.core.steps import Ask
from pnyx.core.voting.stopping import ENOUGH_JUDGED, FULL_POLL_EVERY
from pnyx.protocols.voting import PROTOCOL
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.seats import seat


def vote(value: int) -> str:
    return f"Counted twice.\nFinal answer: {value}"


def ruling(pick: Seat) -> str:
    return f"The others slip in step two.\n\nBEST: {pick.label}\n\n{vote(4)}"


def test_where_votes_are_known_to_be_worth_something_who_is_right_most_judges() -> None:
    small, large, mid = seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid")
    seats = (replace(small, weight=2.9), replace(large, weight=0.1), replace(mid, weight=0.1))

    def say(ask: Ask) -> str:
        return (
            vote(4 if ask.seat.label == small.label else 5) if prompt_name(ask) == "vote" else ruling(small)
        )

    driven = ProtocolDriver(PROTOCOL, say, seats=seats)
    decision = driven.decide()
    assert driven.asks_for("judge")[0].seat.label == small.label
    assert decision.detail["tally"]["4"] > decision.detail["tally"]["5"]


def test_where_no_vote_is_known_to_be_worth_anything_everybody_is_asked() -> None:
    seats = tuple(replace(seat(name, f"lab:{name}"), weight=0.0) for name in "ABCDE")

    def say(ask: Ask) -> str:
        return vote(4) if prompt_name(ask) == "vote" else ruling(ask.seat)

    driven = ProtocolDriver(PROTOCOL, say, seats=seats)
    driven.decide()
    assert len(driven.asks_for("vote")) >= 3  # a third vote could still be outvoted by two others


def test_answers_of_others_do_not_weigh_what_the_seats_models_do() -> None:
    seats = tuple(replace(seat(x, f"lab:{x}"), weight=w) for x, w in zip("ABC", (3.0, 0.2, 0.2), strict=True))
    given = tuple(Given(answer, source=f"x:zebra-{n}b") for n, answer in enumerate("544", 1))
    driven = ProtocolDriver(PROTOCOL, lambda ask: None, seats=seats, responses=given)
    decision = driven.decide()
    assert (decision.final_answer, decision.detail["tally"]) == ("4", {"4": 2.0, "5": 1.0})


def split(seats: tuple[Seat, ...], **options: Any) -> ProtocolDriver:
    """The dear one says 5, the two others 4, and who judges picks a vote for 4."""

    def say(ask: Ask) -> str:
        return (
            vote(5 if ask.seat.label == seats[0].label else 4)
            if prompt_name(ask) == "vote"
            else ruling(seats[1])
        )

    return ProtocolDriver(PROTOCOL, say, seats=seats, aggregation="weighted", **options)


def weighed(*weights: float) -> tuple[Seat, ...]:
    return tuple(replace(seat(x, f"lab:{x}"), weight=w) for x, w in zip("ABCD", weights, strict=False))


def test_with_weighted_aggregation_what_votes_are_worth_comes_before_what_they_cost() -> None:
    dear, cheap, other = (
        seat("A", "one:dear", 75.0),
        seat("B", "two:cheap", 1.0),
        seat("C", "three:cheap", 1.0),
    )
    known = (replace(dear, weight=0.0), replace(cheap, weight=3.0), replace(other, weight=2.0))
    driven = split(known, early=False)
    decision = driven.decide()
    assert decision.final_answer == "4"
    assert decision.detail["weights"] == {dear.label: 0.0, cheap.label: 0.6, other.label: 0.4}
    assert f"{cheap.label}: 0.60" in driven.asks_for("weigh")[0].prompt.text
    # Nobody knows yet what they are worth: price stands in for it.
    assert split((dear, cheap, other)).decide().final_answer == "5"


def test_weights_that_nobody_who_answered_has_leave_one_vote_each() -> None:
    silent, *others = weighed(3.0, 0.0, 0.0)

    def say(ask: Ask) -> str:
        if prompt_name(ask) != "vote":
            return ruling(others[0])
        return "I cannot count that." if ask.seat.label == silent.label else vote(4)

    driven = ProtocolDriver(PROTOCOL, say, seats=(silent, *others), aggregation="weighted", early=False)
    assert driven.decide().detail["tally"] == {"4": 2.0}


def test_who_was_not_asked_is_reported_and_what_the_share_is_of() -> None:
    seats = weighed(1.2, 3.0, 3.0, 1.0)

    def say(ask: Ask) -> str:
        return vote(4) if prompt_name(ask) == "vote" else ruling(ask.seat)

    stopped = ProtocolDriver(PROTOCOL, say, seats=seats).decide()
    assert stopped.detail["not_asked"] == [seats[0].label, seats[3].label]
    assert (stopped.agreement, stopped.support_rule) == (1.0, "posterior of the votes, strongest first")
    whole = ProtocolDriver(PROTOCOL, say, seats=seats, early=False).decide()
    assert (whole.detail["not_asked"], whole.support_rule) == ([], "posterior of the votes")


def four(seat: Seat, ask: Ask) -> str:
    return vote(4) if prompt_name(ask) == "vote" else ruling(seat)


def test_a_model_that_repeats_itself_settles_nothing_where_others_wait() -> None:
    first, second = (replace(seat(x, "lab:strong"), weight=3.0) for x in "AB")
    other, weak = replace(seat("C", "lab:other"), weight=2.9), replace(seat("D", "lab:weak"), weight=0.4)
    seats = (first, second, other, weak)
    driven = ProtocolDriver(PROTOCOL, lambda ask: four(ask.seat, ask), seats=seats)
    decision = driven.decide()
    assert {ask.seat.label for ask in driven.asks_for("vote")} == {first.label, other.label}
    assert decision.detail["not_asked"] == [second.label, weak.label]

    def differing(ask: Ask) -> str:
        return (
            vote(5 if ask.seat.model == "lab:strong" else 4) if prompt_name(ask) == "vote" else ruling(other)
        )

    asked = ProtocolDriver(PROTOCOL, differing, seats=seats)
    asked.decide()
    assert [ask.seat.label for ask in asked.asks_for("vote")][:3] == [first.label, other.label, weak.label]


def test_a_seat_that_is_silent_or_cannot_be_counted_is_no_second_opinion() -> None:
    seats = weighed(3.0, 3.0, 2.0, 2.0)
    for said in (None, "I cannot count that."):

        def say(ask: Ask, said: str | None = said) -> str | None:
            return said if ask.seat == seats[0] and prompt_name(ask) == "vote" else four(seats[1], ask)

        decision = ProtocolDriver(PROTOCOL, say, seats=seats).decide()
        assert decision.detail["not_asked"] == [seats[3].label]
        assert decision.detail["tally"] == {"4": 5.0}


def test_some_questions_are_asked_of_everybody_so_that_what_votes_are_worth_can_be_learned() -> None:
    seats = weighed(3.0, 3.0, 2.0, 2.0)
    asked = [
        ProtocolDriver(PROTOCOL, lambda ask: four(seats[0], ask), seats=seats, seed=n) for n in range(400)
    ]
    whole = [decision for decision in map(ProtocolDriver.decide, asked) if not decision.detail["not_asked"]]
    assert 400 / FULL_POLL_EVERY * 0.6 < len(whole) < 400 / FULL_POLL_EVERY * 1.5
    assert {decision.support_rule for decision in whole} == {"posterior of the votes"}


def test_a_model_with_few_judged_answers_is_always_asked() -> None:
    known = weighed(3.0, 3.0, 2.0, 2.0)

    def not_asked(judged: int) -> list[str]:
        seats = (*(replace(one, judged=500) for one in known[:3]), replace(known[3], judged=judged))
        driven = ProtocolDriver(PROTOCOL, lambda ask: four(seats[0], ask), seats=seats)
        return list(driven.decide().detail["not_asked"])

    assert not_asked(ENOUGH_JUDGED) == [known[2].label, known[3].label]
    assert not_asked(ENOUGH_JUDGED - 1) == []


def test_seats_of_one_model_alone_are_asked_together() -> None:
    seats = tuple(replace(seat(x, "lab:one"), weight=3.0) for x in "ABCD")
    driven = ProtocolDriver(PROTOCOL, lambda ask: four(seats[0], ask), seats=seats)
    assert driven.decide().detail["not_asked"] == []
    assert driven.waves[0] == 4
