"""The strongest and the cheapest seats, and amounts as text."""

from __future__ import annotations

import pytest

from pnyx.core.models import Price, Seat, cheapest, money, strongest
from pnyx.core.steps import Panel


def seat(name: str, price: Price | None = None, parameters: float | None = None) -> Seat:
    return Seat(f"Participant {name}", f"lab:{name.lower()}", price=price, parameters=parameters)


def letters(seats: tuple[Seat, ...]) -> str:
    return "".join(one.label[-1] for one in seats)


FREE = Price(0.0, 0.0)


def test_strength_is_the_output_price_whatever_the_input_costs() -> None:
    seats = seat("A", Price(9.0, 2.0)), seat("B", Price(0.1, 8.0)), seat("C", Price(1.0, 4.0))
    assert letters(strongest(seats)) == "BCA"


def test_free_local_models_rank_by_parameters_below_every_priced_one() -> None:
    seats = seat("A", FREE, 0.5), seat("B", FREE), seat("C", Price(0.1, 0.1), 0.1), seat("D", FREE, 3.0)
    assert letters(strongest(seats)) == "CDAB"


def test_the_cheapest_has_the_lowest_input_price_and_an_unknown_price_is_not_cheap() -> None:
    seats = seat("A"), seat("B", Price(2.0, 0.1)), seat("C", Price(0.5, 60.0)), seat("D", FREE)
    assert letters(cheapest(seats)) == "DCBA"


def test_equal_input_prices_are_compared_by_output_price_except_in_runs_of_revision_1() -> None:
    seats = seat("A", Price(1.0, 8.0)), seat("B", Price(1.0, 2.0)), seat("C", Price(0.5, 60.0))
    assert letters(cheapest(seats)) == "CBA"
    assert letters(cheapest(seats, revision=1)) == "CAB"
    assert Panel(seats).cheapest.label == Panel(seats, revision=1).cheapest.label == seats[2].label
    assert letters(Panel(seats, revision=1).by_cost) == "CAB"


def test_ties_fall_back_to_the_order_of_the_seats() -> None:
    same = tuple(seat(name, Price(1.0, 4.0)) for name in "CAB")
    unknown = tuple(seat(name) for name in "BCA")
    assert letters(strongest(same)) == letters(cheapest(same)) == "CAB"
    assert letters(strongest(unknown)) == letters(cheapest(unknown)) == "BCA"


@pytest.mark.parametrize(
    ("usd", "shown"),
    [(None, "cost unknown"), (0.0, "$0"), (1e-7, "$0.0000001"), (0.00031, "$0.0003"), (12.345, "$12.35")],
)
def test_an_amount_above_zero_is_never_shown_as_zero(usd: float | None, shown: str) -> None:
    assert money(usd) == shown
