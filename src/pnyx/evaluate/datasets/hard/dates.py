"""Days, weekdays and moments over long spans of the Gregorian calendar."""

from __future__ import annotations

import calendar
from datetime import date, datetime, timedelta, timezone
from random import Random

from ..drawing import Draft, Kind

__all__ = ["DATES"]

WEEKDAYS = tuple(calendar.day_name)
MONTHS = tuple(calendar.month_name)
RULE = "All dates are in the Gregorian calendar."


def _day(rng: Random, first: int, last: int) -> date:
    days = (date(last, 12, 31) - date(first, 1, 1)).days
    return date(first, 1, 1) + timedelta(days=rng.randint(0, days))


def _span(rng: Random) -> Draft:
    start, end = _day(rng, 1801, 1899), _day(rng, 1901, 2110)
    return Draft(
        f"How many days after {start} is {end}? {RULE} Answer with a number.", str((end - start).days)
    )


def _weekday(rng: Random) -> Draft:
    day = _day(rng, 1801, 2150)
    return Draft(f"What day of the week is {day}? {RULE} Answer with the name of the day.", f"{day:%A}")


def _after(rng: Random) -> Draft:
    start, days = _day(rng, 1850, 1999), rng.randint(9_000, 60_000)
    return Draft(
        f"Which date is {days} days after {start}? {RULE} Answer with the date as YYYY-MM-DD.",
        str(start + timedelta(days=days)),
    )


def _same_weekday(rng: Random) -> Draft:
    first, number, weekday = rng.randint(1890, 2090), rng.choice((1, 13, 29, 31)), rng.randrange(7)
    years = range(first, first + rng.randint(8, 15))
    days = [
        date(year, month, number)
        for year in years
        for month in range(1, 13)
        if number <= calendar.monthrange(year, month)[1]
    ]
    return Draft(
        f"How many times is the {number}{'st' if number in (1, 31) else 'th'} of a month a "
        f"{WEEKDAYS[weekday]} in the years from {years[0]} to {years[-1]}, both included? {RULE} Answer "
        "with a number.",
        str(sum(day.weekday() == weekday for day in days)),
    )


def _nth_weekday(rng: Random) -> Draft:
    year, month, weekday = rng.randint(1850, 2150), rng.randint(1, 12), rng.randrange(7)
    days = [
        day for day in calendar.Calendar().itermonthdates(year, month) if day.month == month
        and day.weekday() == weekday
    ]  # fmt: skip
    place, phrase = rng.choice(((1, "second"), (2, "third"), (-1, "last"), (-2, "last but one")))
    return Draft(
        f"Which date is the {phrase} {WEEKDAYS[weekday]} of {MONTHS[month]} {year}? {RULE} "
        "Answer with the date as YYYY-MM-DD.",
        str(days[place]),
    )


def _flight(rng: Random) -> Draft:
    zones = [timezone(timedelta(minutes=30 * half)) for half in (*range(-20, -5), *range(6, 25))]
    there, back = rng.sample(zones, 2)
    leaves = datetime(2026, rng.randint(1, 12), 28, rng.randint(0, 23), 5 * rng.randint(0, 11), tzinfo=there)
    minutes = 5 * rng.randint(70, 190)
    lands = (leaves + timedelta(minutes=minutes)).astimezone(back)
    return Draft(
        f"A plane leaves at {leaves:%Y-%m-%d %H:%M} local time from a town at {there} and lands at "
        f"{lands:%Y-%m-%d %H:%M} local time in a town at {back}. How many minutes does the flight take? "
        "Answer with a number.",
        f"{minutes} minutes",
    )


def _leap_days(rng: Random) -> Draft:
    start, end = _day(rng, 1802, 1890), _day(rng, 1910, 2130)
    leap_days = [date(year, 2, 29) for year in range(start.year, end.year + 1) if calendar.isleap(year)]
    return Draft(
        f"How many times does 29 February occur after {start} and before {end}? {RULE} Answer with a number.",
        str(sum(start < day < end for day in leap_days)),
    )


DATES: tuple[Kind, ...] = (_span, _weekday, _after, _same_weekday, _nth_weekday, _flight, _leap_days)
