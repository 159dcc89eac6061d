"""Days, intervals and time zones, with off-by-one traps."""

from __future__ import annotations

import calendar
from datetime import date, datetime, timedelta, timezone
from random import Random

from ..drawing import Draft, Kind

__all__ = ["TIME"]

WEEKDAYS = tuple(calendar.day_name)
# Two days before would make tomorrow the day that the question names.
DAYS = (("the day before", -1), ("the day after", 1), ("two days after", 2))


def _tomorrow(rng: Random) -> Draft:
    named, (phrase, offset) = rng.randrange(7), rng.choice(DAYS)
    (today,) = (day for day in range(7) if (day - 1) % 7 == (named + offset) % 7)
    return Draft(
        f"Yesterday was {phrase} {WEEKDAYS[named]}. What day of the week is tomorrow?",
        WEEKDAYS[(today + 1) % 7],
    )


def _strikes(rng: Random) -> Draft:
    few, gap, many = rng.randint(4, 7), rng.randint(2, 5), rng.randint(9, 12)
    return Draft(
        f"A tower clock strikes {few} times at {few} o'clock, and {(few - 1) * gap} seconds pass from the "
        f"first stroke to the last. How many seconds pass from the first stroke to the last at {many} "
        "o'clock, at the same pace? Answer with a number.",
        f"{(many - 1) * gap} seconds",
    )


def _both_included(rng: Random) -> Draft:
    start = date(rng.randint(2021, 2029), rng.randint(1, 11), rng.randint(10, 28))
    end = start + timedelta(days=rng.randint(20, 40))
    days = [start + timedelta(days=n) for n in range((end - start).days + 1)]
    return Draft(
        f"A festival lasts from {start} to {end}; the first and the last day are both festival days. "
        "How many days does it last? Answer with a number.",
        f"{len(days)} days",
    )


def _zones(rng: Random) -> Draft:
    east, west = rng.randint(7, 12), rng.randint(4, 10)
    day = date(rng.randint(2021, 2029), rng.choice((1, 3, 5, 7, 8, 10, 12)), 1)
    here = datetime(day.year, day.month, 1, rng.randint(0, 10), 30, tzinfo=timezone(timedelta(hours=east)))
    there = here.astimezone(timezone(timedelta(hours=-west)))
    return Draft(
        f"In a town at UTC+{east} a clock shows {here:%H:%M} on {here:%Y-%m-%d}. Which date is it at that "
        f"moment in a town at UTC-{west}? Answer with the date as YYYY-MM-DD.",
        f"{there:%Y-%m-%d}",
    )


def _months(rng: Random) -> Draft:
    days, year = rng.randint(28, 30), rng.choice((2019, 2021, 2023, 2025, 2027))
    return Draft(
        f"How many months of the year {year} have at least {days} days? Answer with a number.",
        str(sum(calendar.monthrange(year, month)[1] >= days for month in range(1, 13))),
    )


def _across_the_eras(rng: Random) -> Draft:
    before, after = rng.randint(5, 40), rng.randint(5, 40)
    years = [*range(-before, 0), *range(1, after + 1)]
    return Draft(
        f"A woman was born on 1 May of the year {before} BC and died on 2 May of the year AD {after}. In "
        "this calendar AD 1 follows directly upon 1 BC. How many years old did she become? Answer with a "
        "number of years.",
        f"{len(years) - 1} years",
    )


TIME: tuple[Kind, ...] = (_tomorrow, _strikes, _both_included, _zones, _months, _across_the_eras)
