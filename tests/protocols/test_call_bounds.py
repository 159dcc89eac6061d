"""The calls that are told beforehand, against a panel each of whose verdicts must be asked for again."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from pnyx.core.models import Seat
from pnyx.core.steps import Ask
from pnyx.protocols import get
from pnyx.protocols.call_bounds import reckon
from tests.support.driven import Driven, kind, seat

SEATS = (seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid"))
READABLE = {
    "camps": '{"groups": []}',
    "judge": "BEST: Participant A\nIt is whole.",
    "position": "STEELMAN:\nIts sum.\nCRITIQUE:\nIts end.\nDECISION:\nText {n} has no short answer.",
}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("deliberate", {"rounds": 5}),
        ("aggregate", {"aggregators": "each"}),
        ("voting", {"swap": True}),
        ("voting", {"swap": False}),
    ],
)
def test_the_most_is_what_a_run_takes_whose_every_verdict_is_asked_for_twice(
    name: str, options: dict[str, Any]
) -> None:
    asked, turns = dict[Seat, str](), count()

    def mumbling(ask: Ask) -> str:
        if kind(ask) in READABLE:
            asked[ask.seat] = kind(ask)
            return "Hm."
        if kind(ask) == "repair":
            return READABLE[asked[ask.seat]].replace("{n}", str(next(turns)))
        return f"The text of turn {next(turns)}, which has no short answer."

    page = get(name)
    run = Driven(page, mumbling, seats=SEATS, **options)
    run.decide()
    assert run.of("repair")
    assert len(run.asked) == reckon(page, SEATS, page.resolve_options(options))[1]
