"""What a run holds under a shared cap, and needs to begin, once runs of its kind have finished."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection

from pnyx.protocols import get
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from pnyx.run.spending.claim import SURE, Claim, learn_cost
from pnyx.run.spending.expectation import planned
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
    ("calls", "length"),
    # An earlier run ended with its three first answers: the next one may have all of its usual calls.
    [(3, 1.0), (3, 4.0), (12, 0.1), (12, 3.0)],
)
async def test_a_run_behind_others_needs_room_for_its_usual_calls_even_if_earlier_runs_had_fewer(
    tmp_path: Path, calls: int, length: float, shares_cap: bool
) -> None:
    first, second = claim("first"), claim("second")
    usual, spent = second.expectation.cost, round(length * planned(spec(None), calls))
    assert second.expectation.calls == 12

    def check(connection: Connection) -> None:
        if shares_cap:
            first.end(connection, spent, calls, finished=True)
        else:
            learn_cost(connection, spec(None), spent, calls)
        need = second.need(connection)
        assert need is not None
        assert need.alone == pytest.approx(SURE * spent, rel=0.01)
        assert need.behind == pytest.approx(SURE * length * usual, rel=0.01)
        assert second.hold({"day:2026-11-27": 1}, 0, 0).amount >= need.behind
        # Runs of other kinds may have all of their calls too.
        assert holds.usual_factor(connection) == pytest.approx(length, rel=0.01)

    database = await Database.open(tmp_path / "runs.db")
    await database.write(check)
    await database.close()
