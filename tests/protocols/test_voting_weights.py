"""voting, where it is known what votes are worth."""

from __future__ import annotations

from dataclasses import replace

from pnyx.core.decision import Given
from pnyx.core.models import Seat
from pnyx.core.steps import Ask
from pnyx.protocols.voting import PROTOCOL
from tests.support.driven import Driven, kind, seat


def vote(value: int) -> str:
    return f"Counted twice.\nFinal answer: {value}"


def ruling(pick: Seat) -> str:
    return f"The others slip in step two.\n\nBEST: {pick.label}\n\n{vote(4)}"


def test_where_votes_are_known_to_be_worth_something_who_is_right_most_judges() -> None:
    small, large, mid = seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid")
    seats = (replace(small, weight=2.9), replace(large, weight=0.1), replace(mid, weight=0.1))

    def say(ask: Ask) -> str:
        return vote(4 if ask.seat.label == small.label else 5) if kind(ask) == "vote" else ruling(small)

    driven = Driven(PROTOCOL, say, seats=seats)
    decision = driven.decide()
    assert driven.of("judge")[0].seat.label == small.label
    assert decision.detail["tally"]["4"] > decision.detail["tally"]["5"]


def test_where_no_vote_is_known_to_be_worth_anything_everybody_is_asked() -> None:
    seats = tuple(replace(seat(name, f"lab:{name}"), weight=0.0) for name in "ABCDE")

    def say(ask: Ask) -> str:
        return vote(4) if kind(ask) == "vote" else ruling(ask.seat)

    driven = Driven(PROTOCOL, say, seats=seats)
    driven.decide()
    assert len(driven.of("vote")) >= 3  # a third vote could still be outvoted by two others


def test_answers_of_others_do_not_weigh_what_the_seats_models_do() -> None:
    seats = tuple(replace(seat(x, f"lab:{x}"), weight=w) for x, w in zip("ABC", (3.0, 0.2, 0.2), strict=True))
    given = tuple(Given(answer, source=f"x:zebra-{n}b") for n, answer in enumerate("544", 1))
    driven = Driven(PROTOCOL, lambda ask: None, seats=seats, responses=given)
    decision = driven.decide()
    assert (decision.final_answer, decision.detail["tally"]) == ("4", {"4": 2.0, "5": 1.0})
