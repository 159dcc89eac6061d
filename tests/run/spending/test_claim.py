"""What a run holds under a shared cap, and needs to begin, once runs of its kind have finished."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from pnyx.protocols import get
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from pnyx.run.spending.claim import MARGIN, SURE, Claim, known_factor, learn_cost
from pnyx.run.spending.expectation import Expectation, PricedCalls, expect
from pnyx.store import Database
from pnyx.store.money import holds
from tests.support.sized import SEATS

ROUTES = ("deliberate", "consensus", "council", "decompose")
CAPS = {"day:2026-11-27": 1}


def spec(day_usd: float | None, protocol: str = "deliberate", **changes: Any) -> Spec:
    return Spec(
        question="Which?",
        protocol=protocol,
        limits=Limits(60.0, 4096, 0),
        options=get(protocol).resolve_options({}),
        day_usd=day_usd,
        **{"seats": SEATS, **changes},
    )


def claim(run_id: str, protocol: str = "deliberate") -> Claim:
    found = Claim.of(run_id, spec(9.0, protocol), begun=False)
    assert found is not None
    return found


@pytest.mark.parametrize("shares_cap", [True, False])
@pytest.mark.parametrize(
    ("calls", "length"),
    # An earlier run ended with its three first answers: the next one may have all of its usual calls.
    [(3, 1.0), (3, 4.0), (12, 0.1), (12, 3.0)],
)
async def test_a_run_behind_others_needs_room_for_twice_its_usual_calls_even_if_earlier_runs_had_fewer(
    tmp_path: Path, calls: int, length: float, shares_cap: bool
) -> None:
    first, second = claim("first"), claim("second")
    usual, spent = second.expectation.cost, round(length * second.expectation.first(calls))
    assert second.expectation.calls == 12

    def check(connection: Connection) -> None:
        if shares_cap:
            first.end(connection, spent, calls, finished=True)
        else:
            learn_cost(connection, spec(None), spent, calls)
        need = second.need(connection)
        assert need is not None
        assert need.alone == pytest.approx(SURE * spent, rel=0.01)
        assert need.behind == pytest.approx(MARGIN * length * usual, rel=0.01)
        assert second.hold(CAPS, 0, 0).amount >= 0.99 * need.behind
        # Runs of other kinds may have all of their calls too.
        assert holds.usual_factor(connection) == pytest.approx(length, rel=0.01)

    database = await Database.open(tmp_path / "runs.db")
    await database.write(check)
    await database.close()


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("length", [0.3, 1.0, 4.0])
async def test_a_run_holds_the_dearest_of_its_protocols_until_it_is_known_which_answers(
    tmp_path: Path, route: str, length: float
) -> None:
    first, second = claim("first", "auto"), claim("second", "auto")
    courses = {name: expect(spec(9.0, "auto"), (name, {})) for name in ROUTES}
    costs = [one.cost for one in courses.values() if one]
    course = courses[route]
    assert course is not None
    spent, calls = round(length * course.cost), round(course.calls)

    def check(connection: Connection) -> None:
        first.follow((route, {}))
        first.end(connection, spent, calls, finished=True)
        # What calls cost is learned by those that this protocol makes, and so is the same for all.
        assert holds.usual_factor(connection) == pytest.approx(length, rel=0.2)
        need = second.need(connection)
        assert need is not None
        assert need.alone == pytest.approx(SURE * spent, rel=0.01)
        assert need.behind >= MARGIN * 0.8 * length * max(costs)
        assert second.hold(CAPS, 0, 0).amount >= 0.99 * need.behind
        second.follow((route, {}))
        held = second.hold(CAPS, 0, 0).amount
        assert MARGIN * 0.8 * length * course.cost <= held <= 3 * length * course.cost

    database = await Database.open(tmp_path / "runs.db")
    await database.write(check)
    await database.close()


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
async def test_a_run_that_costs_more_than_was_expected_holds_as_much_again(
    tmp_path: Path, is_known: bool
) -> None:
    """Those of its kind that finished first were the short ones; younger ones began with what it needed."""
    first, second = claim("first"), claim("second")
    usual, calls = second.expectation.cost, round(second.expectation.calls)

    def check(connection: Connection) -> None:
        if is_known:
            first.end(connection, usual // 4, 3, finished=True)
            second.look_up(connection)
        for times in (1, 2, 3):
            held = second.hold(CAPS, times * usual, times * calls).amount
            assert held >= 0.8 * times * usual

    database = await Database.open(tmp_path / "runs.db")
    await database.write(check)
    await database.close()


OTHERS = tuple(replace(seat, model=f"{seat.model}-thinking") for seat in SEATS)


async def test_what_a_run_costs_is_expected_from_its_kind_else_its_models_else_all(tmp_path: Path) -> None:
    def learn(connection: Connection, times: float, one: Spec) -> None:
        expected = expect(one)
        assert expected is not None
        learn_cost(connection, one, round(times * expected.cost), round(expected.calls))

    def check(connection: Connection) -> None:
        assert known_factor(connection, spec(None)) is None
        learn(connection, 0.5, spec(None, "council"))
        assert known_factor(connection, spec(None)) == pytest.approx(0.5, rel=0.01)
        learn(connection, 4.0, spec(None, "moa", seats=OTHERS))
        learn(connection, 8.0, spec(None, "moa", effort="high"))
        for seats, effort, times in ((SEATS, None, 0.5), (OTHERS, None, 4.0), (SEATS, "high", 8.0)):
            one = spec(None, "consensus", seats=seats, effort=effort)
            assert known_factor(connection, one) == pytest.approx(times, rel=0.01)
        # Models of which nothing is known.
        assert 0.5 < (known_factor(connection, spec(None, seats=(*SEATS, *OTHERS))) or 0.0) < 8.0
        learn(connection, 0.1, spec(None, "consensus"))
        assert known_factor(connection, spec(None, "consensus")) == pytest.approx(0.1, rel=0.01)

    database = await Database.open(tmp_path / "runs.db")
    await database.write(check)
    await database.close()


PLANS = st.lists(
    st.builds(PricedCalls, st.floats(0.5, 9), st.floats(1e3, 1e9), st.floats(1, 1e9), st.floats(1, 1e9)),
    min_size=1,
    max_size=6,
)


@given(PLANS, st.integers(1, 40), st.floats(0.1, 10))
def test_the_rest_of_a_run_costs_as_many_times_as_expected_as_its_first_calls_did(
    plan: list[PricedCalls], calls: int, times: float
) -> None:
    expectation = Expectation(plan)
    first, cost = expectation.first(calls), expectation.cost
    assert expectation.first(0) == 0
    assert 0 < expectation.first(calls) <= expectation.first(calls + 1)
    assert expectation.first(expectation.calls) == pytest.approx(cost, rel=1e-3)
    # However unlike each other the calls are: the first of them is often the cheapest.
    spent = round(times * first)
    total = expectation.total(spent, calls, times)
    assert total == pytest.approx(times * max(cost, first), rel=0.01)
    low, high = sorted((1.0, times))
    unsure = expectation.total(spent, calls, None)
    assert 0.99 * low * cost <= unsure <= 1.01 * high * max(cost, first)


async def test_a_first_run_behind_others_has_room_for_a_reply_under_twice_the_limit(tmp_path: Path) -> None:
    (seat,) = one = SEATS[:1]
    claim = Claim.of("first", spec(9.0, "single", seats=one), begun=False)
    assert claim is not None
    assert seat.price is not None
    reply = seat.price.ceiling(0, 2 * 4096)  # one under the limit of the run may be all thinking
    database = await Database.open(tmp_path / "runs.db")
    need = await database.write(claim.need)
    await database.close()
    assert need is not None
    assert need.behind >= 2 * reply
    assert claim.hold(CAPS, 0, 0).amount >= reply
