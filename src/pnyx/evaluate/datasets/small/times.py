"""Days and weekdays, hours and minutes, units to convert. The last kind of each category is a choice."""

from __future__ import annotations

import calendar
from datetime import date, datetime, timedelta
from random import Random

from ..drawing import Draft, Kind

__all__ = ["CALENDAR", "CLOCK", "UNITS"]

WEEKDAYS = tuple(calendar.day_name)
MONTHS = tuple(calendar.month_name)


def _uneven_days(rng: Random) -> int:
    """A number of days other than whole weeks, so that the weekday of the answer is another one."""
    return 7 * (rng.random() < 0.2) + rng.randint(1, 6)


def _weekday_after(rng: Random) -> Draft:
    today, days = rng.randrange(7), _uneven_days(rng)
    return Draft(
        f"Today is {WEEKDAYS[today]}. What day of the week is it {days} days from today?",
        WEEKDAYS[(today + days) % 7],
    )


def _days_between(rng: Random) -> Draft:
    start = date(2023, rng.randint(1, 12), rng.randint(2, 15))
    end = start + timedelta(days=rng.choice([days for days in range(4, 14) if days != start.day]))
    return Draft(
        f"How many days after {_day_text(start)} is {_day_text(end)}, in the same year? "
        "Answer with a number.",
        str((end - start).days),
    )


def _date_after(rng: Random) -> Draft:
    start = date(rng.choice((2023, 2025, 2026)), rng.randint(1, 12), rng.randint(1, 20))
    days = rng.randint(2, 8)
    return Draft(
        f"Which date is {days} days after {start}? Answer with the date as YYYY-MM-DD.",
        str(start + timedelta(days=days)),
    )


def _weekday_before(rng: Random) -> Draft:
    today, days = rng.randrange(7), _uneven_days(rng)
    target = WEEKDAYS[(today - days) % 7]
    others = [WEEKDAYS[(today + days) % 7], *rng.sample(WEEKDAYS, 7)]
    wrong = [day for day in dict.fromkeys(others) if day != target][:3]
    return Draft(
        f"Today is {WEEKDAYS[today]}. What day of the week was it {days} days ago?", target, tuple(wrong)
    )


def _day_text(day: date) -> str:
    return f"{MONTHS[day.month]} {day.day}"


CALENDAR: tuple[Kind, ...] = (_weekday_after, _days_between, _date_after, _weekday_before)


def _arrival(rng: Random) -> Draft:
    start = datetime(2023, 1, 1, rng.randint(8, 18), 5 * rng.randint(1, 6))
    hours, minutes = rng.randint(1, 3), 5 * rng.randint(2, 5)
    end = start + timedelta(hours=hours, minutes=minutes)
    return Draft(
        f"A train leaves at {start:%H:%M} and travels for {hours} h {minutes} min. "
        "When does it arrive? Answer with the time as HH:MM.",
        f"{end:%H:%M}",
    )


def _duration(rng: Random) -> Draft:
    start = datetime(2023, 1, 1, rng.randint(8, 17), 10 * rng.randint(0, 5))
    minutes = 10 * rng.randint(1, 6)
    return Draft(
        f"How many minutes pass from {start:%H:%M} to {start + timedelta(minutes=minutes):%H:%M} "
        "on the same day? Answer with a number.",
        f"{minutes} minutes",
    )


def _weekly_hours(rng: Random) -> Draft:
    place = rng.choice(("shop", "library", "museum", "pool"))
    opens, closes, days = rng.randint(7, 10), rng.randint(3, 8), rng.randint(3, 6)
    return Draft(
        f"A {place} is open from {opens} am to {closes} pm on {days} days a week. "
        "How many hours a week is it open? Answer with a number.",
        f"{(closes + 12 - opens) * days} hours",
    )


def _start(rng: Random) -> Draft:
    start = datetime(2023, 1, 1, rng.randint(10, 20), 5 * rng.randint(0, 8))
    minutes = rng.choice((15, 20, 25, 30, 40, 45, 60))
    end = start + timedelta(minutes=minutes)
    wrong = (end + timedelta(minutes=minutes), start + timedelta(minutes=5), start - timedelta(hours=1))
    return Draft(
        f"A lesson of {minutes} minutes ends at {end:%H:%M}. When did it begin?",
        f"{start:%H:%M}",
        tuple(f"{time:%H:%M}" for time in wrong),
    )


CLOCK: tuple[Kind, ...] = (_arrival, _duration, _weekly_hours, _start)


def _mixed(rng: Random) -> Draft:
    big, small, per = rng.choice(
        (("hours", "minutes", 60), ("metres", "centimetres", 100), ("kilograms", "grams", 1000))
    )
    whole, rest = rng.randint(1, 9), rng.randint(3, per - 3)
    return Draft(
        f"How many {small} are {whole} {big} and {rest} {small}? Answer with a number.",
        f"{whole * per + rest} {small}",
    )


def _remaining(rng: Random) -> Draft:
    tenths, used = 10 * rng.randint(1, 5), 50 * rng.randint(2, 19)
    what, big, small = rng.choice((("flour", "kg", "grams"), ("juice", "litres", "millilitres")))
    return Draft(
        f"There are {tenths // 10} {big} of {what}, and {used} {small} are used. "
        f"How many {small} are left? Answer with a number.",
        f"{tenths * 100 - used} {small}",
    )


def _pieces(rng: Random) -> Draft:
    piece, count = 10 * rng.randint(1, 6), rng.randint(4, 20)
    metres, centimetres = divmod(piece * count, 100)
    if not metres or not centimetres:
        return _pieces(rng)
    return Draft(
        f"A rope of {metres} m {centimetres} cm is cut into pieces of {piece} cm. "
        "How many pieces are there? Answer with a number.",
        str(count),
    )


def _longest(rng: Random) -> Draft:
    metres = rng.sample(range(60, 400, 10), 4)
    forms = ("{0} m", "{1} km", "{0} m", "{2} cm")
    lengths = {form.format(m, m / 1000, m * 100): m for form, m in zip(forms, metres, strict=True)}
    target = max(lengths, key=lengths.__getitem__)
    wrong = tuple(length for length in lengths if length != target)
    return Draft(f"Which of these lengths is the longest: {', '.join(lengths)}?", target, wrong)


UNITS: tuple[Kind, ...] = (_mixed, _remaining, _pieces, _longest)
