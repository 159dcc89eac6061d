"""consensus, where seats are silent: who stands in for whom."""

from __future__ import annotations

from pnyx.core.steps import Ask
from pnyx.protocols.consensus import PROTOCOL
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.seats import seat

A, B, C, D = (
    seat("A", "one:small", 2.0),
    seat("B", "two:large", 9.0),
    seat("C", "three:mid"),
    seat("D", "two:d"),
)
SAID = "The claim that nobody needs backups is false: disks fail at 1 % a year."


def test_in_place_of_a_silent_challenger_the_next_in_rank_is_asked() -> None:
    def say(ask: Ask) -> str | None:
        return None if prompt_name(ask) == "challenge" and ask.seat in (A, C) else SAID

    driven = ProtocolDriver(PROTOCOL, say, seats=(A, B, C, D), rounds=1)
    decision = driven.decide()
    asked = driven.asks_for("challenge")
    # The first angle is left, and the proposer is nobody's stand-in.
    assert [ask.seat for ask in asked] == [A, C, D]
    assert [(one["seat"], one["framing"]) for one in decision.detail["challenges"]] == [(D.label, "flaw")]


def test_who_may_not_propose_does_so_where_all_others_are_silent() -> None:
    shy = seat("E", "four:search", 99.0, proposer_eligible=False)

    def say(ask: Ask) -> str | None:
        return None if ask.seat == A and prompt_name(ask) == "propose" else SAID

    for seats, asked in (((shy, A, C), [C]), ((shy, A), [A, shy])):
        driven = ProtocolDriver(PROTOCOL, say, seats=seats, rounds=1)
        driven.decide()
        assert [ask.seat for ask in driven.asks_for("propose")] == asked
