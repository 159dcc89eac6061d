"""What a run holds under a shared cap, and needs to begin, once runs of its kind have finished."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection

from pnyx.protocols import get
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from pnyx.run.spending.claim import SURE, Claim, learn_cost
from pnyx.store import Database
from pnyx.store.money import holds
from tests.support.sized import SEATS


def spec(day_usd: float | None) -> Spec:
    protocol = get("deliberate")
    limits, options = Limits(60.0, 4096, 0), protocol.resolve_options({})
    return Spec(
        question="Which?", protocol="deliberate", seats=SEATS, limits=limits, options=options, day_usd=day_usd
    )


def claim(run_id: str) -> Claim:
    found = Claim.of(run_id, spec(9.0), begun=False)
    assert found is not None
    return found


@pytest.mark.parametrize("shares_cap", [True, False])
@pytest.mark.parametrize(
    ("cost", "calls", "alone", "behind"),
    [
        # An earlier run had a quarter of the usual calls: the next one may have all of them.
        (0.25, 0.25, 0.25, 1.0),
        (1.0, 0.25, 1.0, 4.0),
        # Replies of other lengths than usual, in as many calls.
        (0.1, 1.0, 0.1, 0.1),
        (3.0, 1.0, 3.0, 3.0),
        (1.5, 1.5, 1.5, 1.5),
    ],
)
async def test_a_run_behind_others_needs_room_for_its_usual_calls_even_if_earlier_runs_had_fewer(
    tmp_path: Path, cost: float, calls: float, alone: float, behind: float, shares_cap: bool
) -> None:
    first, second = claim("first"), claim("second")
    usual = second.expectation

    def check(connection: Connection) -> None:
        spent, made = round(cost * usual.cost), round(calls * usual.calls)
        if shares_cap:
            first.end(connection, spent, made, finished=True)
        else:
            learn_cost(connection, spec(None), spent, made)
        need = second.need(connection)
        assert need is not None
        assert need.alone / usual.cost == pytest.approx(SURE * alone, rel=0.01)
        assert need.behind / usual.cost == pytest.approx(SURE * behind, rel=0.1)
        assert second.hold({"day:2026-11-27": 1}, 0, 0).amount >= need.behind
        # What a run is expected to cost is by whole runs alone.
        assert holds.usual_factor(connection) == pytest.approx(alone, rel=0.01)

    database = await Database.open(tmp_path / "runs.db")
    await database.write(check)
    await database.close()
