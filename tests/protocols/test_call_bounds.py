"""The calls that are announced beforehand, against a panel each of whose verdicts must be asked for again."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from pnyx.core.models import Seat
from pnyx.core.steps import Ask
from pnyx.protocols import get
from pnyx.protocols.call_bounds import call_bounds
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.seats import seat

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
        if prompt_name(ask) in READABLE:
            asked[ask.seat] = prompt_name(ask)
            return "Hm."
        if prompt_name(ask) == "repair":
            return READABLE[asked[ask.seat]].replace("{n}", str(next(turns)))
        return f"The text of turn {next(turns)}, which has no short answer."

    page = get(name)
    run = ProtocolDriver(page, mumbling, seats=SEATS, **options)
    run.decide()
    assert run.asks_for("repair")
    assert len(run.asks) == call_bounds(page, SEATS, page.resolve_options(options))[1]
