"""consensus: what a challenge that opens with praise still counts for. Fault D11."""

from __future__ import annotations

import pytest

from pnyx.core.steps import Ask, Decision
from pnyx.protocols.consensus import PROTOCOL
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.rows import rows
from tests.support.seats import seat

SEATS = (seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid"))
GENUINE = "The cost of the second replica is missing from the comparison altogether."


def decide(challenge: str) -> Decision:
    """The decision of one round in which Participant A says `challenge` and Participant C objects."""

    def say(ask: Ask) -> str:
        if prompt_name(ask) == "revise":
            return "Keep two replicas."
        return challenge if ask.seat == SEATS[0] else GENUINE

    return ProtocolDriver(PROTOCOL, say, seats=SEATS, rounds=1).decide()


@rows(
    "challenge",
    [
        "Great answer! But disks fail at 1 % a year, so the claim that nobody needs backups is false.",
        "I agree with the premise. The claim that nobody needs backups is false.",
        "While the proposal is well argued, it ignores the cost of failure.",
        "Excellent analysis.\n\n1. In 2021 the rate was 3 %.\n2. The table has 1 %.",
        "Great answer\uff01The total is wrong\uff01",
        "I fully agree\u3002The total is wrong\u3002",
        "Great answer\u0964 The total is wrong\u0964",
        "Great answer! \u00bfWho pays for the second replica\u061f",
    ],
)
def test_an_objection_behind_praise_stays_in_the_dissent_and_earns_no_rigor(challenge: str) -> None:
    decision = decide(challenge)
    assert [entry["flagged"] is not None for entry in decision.detail["challenges"]] == [True, False]
    assert decision.rigor == 0.5
    assert [(d.seat, d.text) for d in decision.dissent] == [
        ("Participant A", challenge),
        ("Participant C", GENUINE),
    ]


@pytest.mark.parametrize(
    "challenge",
    [
        "Great answer! I fully agree with all of it.",
        "I agree. I have nothing to add.",
        "Great answer! Nothing is missing, and no changes are needed.",
        "Excellent work! I'm sorry, but I can't help with that.",
        "I fully agree\u3002No objections\u3002",
    ],
)
def test_agreement_alone_is_neither_rigor_nor_dissent(challenge: str) -> None:
    decision = decide(challenge)
    assert [entry["flagged"] is not None for entry in decision.detail["challenges"]] == [True, False]
    assert decision.rigor == 0.5
    assert [d.text for d in decision.dissent] == [GENUINE]
