"""Questions that ask something other than they seem to."""

from __future__ import annotations

from random import Random

from ..drawing import PEOPLE, Draft, Kind

__all__ = ["READING"]


def _feathers(rng: Random) -> Draft:
    light, heavy = rng.choice((("feathers", "bricks"), ("cotton", "steel"), ("straw", "lead")))
    kilograms = rng.randint(2, 9)
    return Draft(
        f"Which weighs more: {kilograms} kilograms of {light} or {kilograms - 1} kilogram"
        f"{'s' * (kilograms > 2)} of {heavy}?",
        f"the {light}",
        (f"the {heavy}", "both weigh the same", "it depends on their volume"),
    )


def _not_divisible(rng: Random) -> Draft:
    divisor = rng.choice((3, 4, 6, 7))
    numbers = rng.sample(range(20, 100), 8)
    return Draft(
        f"How many of the numbers {', '.join(map(str, numbers))} are not divisible by {divisor}? "
        "Answer with a number.",
        str(sum(number % divisor != 0 for number in numbers)),
    )


def _all_but(rng: Random) -> Draft:
    left, bought = rng.randint(5, 9), rng.randint(2, 6)
    sheep = left + rng.randint(6, 20)
    return Draft(
        f"A farmer has {sheep} sheep. All but {left} run away, and none come back. Then he buys {bought} "
        "more. How many sheep does he have now? Answer with a number.",
        str(left + bought),
    )


def _overtaking(rng: Random) -> Draft:
    place, later = rng.randint(2, 5), rng.randint(0, 2)
    runners = [f"runner {n}" for n in range(1, 10)]
    runners.insert(place, "you")
    for by in [1] + [-1] * later:
        at = runners.index("you")
        runners[at], runners[at - by] = runners[at - by], runners[at]
    then = f" After that, {later} other{'s' * (later > 1)} overtake{'s' * (later == 1)} you." if later else ""
    return Draft(
        f"In a race you overtake the runner in place {place}.{then} Nothing else changes. "
        "In which place are you then? Answer with a number.",
        str(runners.index("you") + 1),
    )


def _stops(rng: Random) -> Draft:
    stops = [(rng.randint(1, 5), rng.randint(1, 6)) for _ in range(rng.randint(4, 7))]
    stops_text = " ".join(f"It stops: {off} get off and {on} get on." for off, on in stops)
    return Draft(
        f"A bus sets out with {rng.randint(26, 38)} passengers. {stops_text} "
        "How many times has the bus stopped since it set out? Answer with a number.",
        str(len(stops)),
    )


def _side_by_side(rng: Random) -> Draft:
    few, hours, times = rng.randint(2, 5), rng.randint(2, 6), rng.randint(2, 5)
    person = rng.choice(PEOPLE)
    return Draft(
        f"{person} hangs {few} wet shirts on a long line in the sun, and after {hours} hours they are all "
        f"dry. How many hours do {few * times} such shirts take, hung side by side on the same line in the "
        "same weather? Answer with a number.",
        f"{hours} hours",
    )


READING: tuple[Kind, ...] = (_feathers, _not_divisible, _all_but, _overtaking, _stops, _side_by_side)
