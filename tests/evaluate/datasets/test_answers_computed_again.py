"""Targets of the test sets, computed a second time: from the text of the question, with another method."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from functools import cache
from graphlib import TopologicalSorter
from itertools import count

from pnyx.core.answers.same.equivalence import same
from pnyx.evaluate.datasets import load
from pnyx.evaluate.datasets.traps.altered import crossings
from pnyx.evaluate.grading.grade import is_right
from pnyx.evaluate.items import Item
from tests.support.rows import rows

SEEDS = (0, 5)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip


def value(item: Item) -> str:
    """The right answer as text; for a choice, the text of the right option."""
    return item.choices[ord(item.target) - ord("A")] if item.choices else item.target


@cache
def drawn(name: str, seed: int) -> list[Item]:
    return load(name, seed=seed)


def loaded(name: str) -> list[Item]:
    return [item for seed in SEEDS for item in drawn(name, seed)]


def found(name: str, pattern: str) -> list[tuple[Item, tuple[str, ...]]]:
    """The questions of a set that match the pattern, with its groups. Fails if there are none."""
    matches = [
        (item, m.groups()) for item in loaded(name) if (m := re.search(pattern, item.question, re.DOTALL))
    ]
    assert matches, pattern
    return matches


def ints(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def term(*numbers: str) -> str:
    """The next number of a sequence with constant second differences."""
    a, b, c = (int(n) for n in numbers[-1].split(", ")[-3:])
    return str(c + (c - b) + ((c - b) - (b - a)))


def next_by_rule(times: str, plus: str, shown: str) -> str:
    return str(int(times) * ints(shown)[-1] + int(plus))


def oldest(text: str, word: str) -> str:
    """The first or last person in a topological order of the pairs."""
    order = TopologicalSorter[str]()
    for more, less in re.findall(r"(\w+) is \w+er than (\w+)\.", text):
        order.add(less, more)
    people = list(order.static_order())
    return people[-1 if word in ("youngest", "shortest", "slowest") else 0]


def finished(text: str, word: str) -> str:
    order = TopologicalSorter[str]()
    for before, after in re.findall(r"(\w+) finished before (\w+)\.", text):
        order.add(after, before)
    return list(order.static_order())[("first", "second", "third").index(word)]


def evaluated(expression: str) -> str:
    """The value of an expression, evaluated by Python with fractions."""
    text = expression.replace("\u00d7", "*").replace("\u00f7", "/").replace("^", "**")
    return str(eval(re.sub(r"\d+", r"Fraction(\g<0>)", text), {"Fraction": Fraction}))


def minutes(clock: str) -> int:
    hours, past = ints(clock)
    return 60 * hours + past


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def stepped(weekday: str, days: str, direction: int) -> str:
    at = WEEKDAYS.index(weekday)
    for _ in range(int(days)):
        at = (at + direction) % 7
    return WEEKDAYS[at]


def julian(iso: str) -> int:
    """The Julian day number of a Gregorian date, by the formula of Fliegel and van Flandern."""
    y, m, d = ints(iso)
    a = -1 if m <= 2 else 0
    quarters = (1461 * (y + 4800 + a)) // 4 + (367 * (m - 2 - 12 * a)) // 12
    return quarters - (3 * ((y + 4900 + a) // 100)) // 4 + d - 32075


def later(iso: str, days: str) -> str:
    """The date `days` later, found by its Julian day number."""
    target_day, year = julian(iso) + int(days), ints(iso)[0] + int(days) // 366 - 1
    days_from_there = (
        f"{y:04}-{m:02}-{d:02}" for y in count(year) for m in range(1, 13) for d in range(1, 32)
    )
    return next(day for day in days_from_there if julian(day) == target_day and _is_a_day(day))


def _is_a_day(iso: str) -> bool:
    try:
        date.fromisoformat(iso)
    except ValueError:
        return False
    return True


def in_2023(month_and_day: str) -> str:
    month, day = month_and_day.split()
    return f"2023-{MONTHS.index(month) + 1:02}-{int(day):02}"


def most(words: str, letter: str) -> str:
    return max(words.split(", "), key=lambda word: len(re.findall(letter, word)))


@cache
def distance(one: str, two: str) -> int:
    """Levenshtein's, by its recursive definition."""
    if not one or not two:
        return len(one or two)
    if one[0] == two[0]:
        return distance(one[1:], two[1:])
    return 1 + min(distance(one[1:], two), distance(one, two[1:]), distance(one[1:], two[1:]))


def power(base: str, exponent: str, modulus: str) -> str:
    out = 1
    for _ in range(int(exponent)):
        out = out * int(base) % int(modulus)
    return str(out)


def ciphered(words: str, shift: str) -> str:
    out = ""
    for letter in words.replace(" ", ""):
        out = chr((ord(letter) - ord("a") + int(shift)) % 26 + ord("a")) + out
    return out


def in_turn(start: str, times: str, plus: str, modulus: str, again: str, less: str) -> str:
    squared = (int(start) * int(times) + int(plus)) ** 2
    rest = squared - int(modulus) * (squared // int(modulus))
    return str(rest * int(again) - int(less))


def either_not_both(last: str, one: str, two: str) -> str:
    def multiples(step: int) -> int:
        n = int(last) // step
        return step * n * (n + 1) // 2

    a, b = int(one), int(two)
    both = next(n for n in count(a, a) if n % b == 0)
    return str(multiples(a) + multiples(b) - 2 * multiples(both))


def flown(left: str, from_zone: str, landed: str, to_zone: str) -> str:
    def universal(local: str, zone: str) -> int:
        day, time = local.split()
        sign = -1 if zone[0] == "-" else 1
        return julian(day) * 1440 + minutes(time) - sign * minutes(zone[1:])

    return str(universal(landed, to_zone) - universal(left, from_zone))


def leap_days(after: str, before: str) -> str:
    years = range(ints(after)[0], ints(before)[0] + 1)
    days = [f"{y}-02-29" for y in years if y % 400 == 0 or (y % 4 == 0 and y % 100)]
    return str(sum(after < day < before for day in days))


def climbed(depth: str, climb: str, slip: str) -> str:
    net = int(climb) - int(slip)
    return str(1 + -(-(int(depth) - int(climb)) // net))


AGAIN: list[tuple[str, str, Callable[..., str]]] = [
    ("small", r"^What is ([^%]*?)\?", evaluated),
    ("small", r"costs \$(\d+)\. In a sale the price is cut by (\d+) %",
     lambda price, percent: str(int(price) - Fraction(int(price) * int(percent), 100))),
    ("small", r"What is (\d+) % of (\d+)\?",
     lambda percent, whole: str(Fraction(percent) * int(whole) / 100)),
    ("small", r"A meal costs \$(\d+), and a tip of (\d+) %",
     lambda bill, percent: str(int(bill) * (1 + Fraction(int(percent), 100)))),
    ("small", r"A club has (\d+) members.*grows by (\d+) %",
     lambda start, percent: str(int(start) + Fraction(int(start) * int(percent), 100))),
    ("small", r"larger: (\S+) or (\S+)\?", lambda one, two: max(one, two, key=Fraction)),
    ("small", r"How much larger is (\S+) than (\S+)\?", lambda one, two: str(Fraction(one) - Fraction(two))),
    ("small", r"Which is the smallest of (.*)\?", lambda numbers: min(numbers.split(", "), key=float)),
    ("small", r'letter "(.)" occur in the word "(\w+)"',
     lambda letter, word: str(len(re.findall(letter, word)))),
    ("small", r'are in this text: "(.*)"', lambda text: str(text.count(" ") + 1)),
    ("small", r'the words "(\w+)" and "(\w+)" have', lambda one, two: str(len(one + two))),
    ("small", r'Which of the words (.*) has the letter "(.)"', most),
    ("small", r"Today is (\w+)\. What day of the week is it (\d+) days", lambda day, n: stepped(day, n, 1)),
    ("small", r"Today is (\w+)\. What day of the week was it (\d+) days", lambda day, n: stepped(day, n, -1)),
    ("small", r"How many days after (\w+ \d+) is (\w+ \d+)",
     lambda start, end: str(julian(in_2023(end)) - julian(in_2023(start)))),
    ("small", r"Which date is (\d+) days after (\S+)\?", lambda days, start: later(start, days)),
    ("small", r"leaves at (\S+) and travels for (\d+) h (\d+) min",
     lambda start, h, m: clock(minutes(start) + 60 * int(h) + int(m))),
    ("small", r"pass from (\S+) to (\S+) on", lambda start, end: str(minutes(end) - minutes(start))),
    ("small", r"A lesson of (\d+) minutes ends at (\S+)\.", lambda n, end: clock(minutes(end) - int(n))),
    ("small", r"has (\d+) boxes with (\d+) \w+ in each box and gives away (\d+)",
     lambda boxes, each, gone: str(sum([int(each)] * int(boxes)) - int(gone))),
    ("small", r"has (\d+) \w+ and \w+ has (\d+)\..*among (\d+)",
     lambda one, two, friends: str(Fraction(int(one) + int(two), int(friends)))),
    ("small", r"(\d+) rows of (\d+) seats, and (\d+) seats are empty",
     lambda rows, each, free: str(sum([int(each)] * int(rows)) - int(free))),
    ("small", r"(\d+) people in front and (\d+) people behind",
     lambda front, back: str(len([*range(int(front)), "self", *range(int(back))]))),
    ("small", r"is (\d+) years old\..* is (\d+) years older.* is (\d+) times",
     lambda age, older, times: str(sum([int(age) + int(older)] * int(times)))),
    ("small", r"from (\d+) am to (\d+) pm on (\d+) days",
     lambda opens, closes, days: str((12 - int(opens) + int(closes)) * int(days))),
    ("small", r"rope of (\d+) m (\d+) cm is cut into pieces of (\d+) cm",
     lambda m, cm, piece: str(Fraction(f"{m}.{int(cm):02}") / (Fraction(piece) / 100))),
    ("small", r"^([\w .]*than .*) Who is the (\w+)\?", oldest),
    ("small", r"^Four people ran a race\. (.*) Who finished (\w+)\?", finished),
    ("small", r"^Which number comes next: (.*), \.\.\.", term),
    ("small", r"is (\d+) times the one before it, plus (\d+)\..*next: (.*), \.\.\.", next_by_rule),
    ("traps", r"cost \$([\d.]+) together.*costs \$([\d.]+) more",
     lambda total, more: str((Fraction(total) - Fraction(more)) * 50)),
    ("traps", r"well (\d+) metres deep.*climbs (\d+) metres.*slides back (\d+)", climbed),
    ("traps", r"at (\d+) km/h and returns by the same road at (\d+)",
     lambda one, two: str(Fraction(2 * int(one) * int(two), int(one) + int(two)))),
    ("traps", r"Of 10000 people, (\d+) .* for (\d+) %.* for (\d+) %",
     lambda ill, hit, alarm: str(1 / (1 + Fraction((10000 - int(ill)) * int(alarm), int(ill) * int(hit))))),
    ("traps", r"(\d+) red on both sides, (\d+) red on one",
     lambda red, mixed: str(Fraction(2 * int(red), 2 * int(red) + int(mixed)))),
    ("traps", r"lasts from (\S+) to (\S+);", lambda start, end: str(julian(end) - julian(start) + 1)),
    ("traps", r"from 1 to (\d+) are written.*the digit (\d) written",
     lambda last, digit: str("".join(map(str, range(1, int(last) + 1))).count(digit))),
    ("hard", r"^What is (\d+ [^(]*\^3)\?", evaluated),
    ("hard", r"Start with (\d+).*by (\d+).*add (\d+).*by (\d+)\. .*by (\d+) and subtract (\d+)", in_turn),
    ("hard", r"remainder when (\d+)\^(\d+) is divided by (\d+)", power),
    ("hard", r"from 1 to (\d+) that are divisible by (\d+) or by (\d+)", either_not_both),
    ("hard", r"What is (\(.*)\? Answer with a fraction", evaluated),
    ("hard", r'distance of "(\w+)" and "(\w+)"', lambda one, two: str(distance(one, two))),
    ("hard", r'times does "(\w+)" occur in "(\w+)"',
     lambda part, text: str(len(re.findall(f"(?={part})", text)))),
    ("hard", r'Write the words "(.*)" without spaces, move every letter (\d+)', ciphered),
    ("hard", r"How many days after (\S+) is (\S+)\?", lambda start, end: str(julian(end) - julian(start))),
    ("hard", r"What day of the week is (\S+)\?", lambda day: WEEKDAYS[julian(day) % 7]),
    ("hard", r"Which date is (\d+) days after (\S+)\?", lambda days, start: later(start, days)),
    ("hard", r"leaves at (\S+ \S+) .*? at UTC(\S+) and lands at (\S+ \S+) .*? at UTC(\S+)\.", flown),
    ("hard", r"29 February occur after (\S+) and before (\S+)\?", leap_days),
]  # fmt: skip


@rows("name, pattern, again", AGAIN, ids=[f"{name}: {p}" for name, p, _ in AGAIN])
def test_another_method_computes_the_same_target(name: str, pattern: str, again: Callable[..., str]) -> None:
    for item, groups in found(name, pattern):
        assert same(again(*groups), value(item)), (item.question, value(item))


ROUNDED: list[tuple[str, Callable[..., float]]] = [
    (r"starts with \$(\d+)\..*year ([\d.]+) % .* that \$(\d+) .* after (\d+) years",
     lambda start, p, paid, n: start * (1 + p / 100) ** n + paid * ((1 + p / 100) ** n - 1) / (p / 100)),
    (r"(\d+) m long, (\d+) m wide and ([\d.]+) m.* in (\d+) litres a minute, while (\d+) US .* is ([\d.]+) ",
     lambda a, b, c, inflow, leak, litres: a * b * c / (inflow * 0.06 - leak * litres / 1000)),
    (r"needs (\d+) minutes and (\d+) seconds for each mile\. 1 mile is ([\d.]+) km",
     lambda m, s, km: km / (m / 60 + s / 3600)),
    (r"of (\d+) cm by (\d+) cm .*, ([\d.]+) micrometres .* is ([\d.]+) g",
     lambda a, b, thick, density: 2 * (a / 100) * (b / 100) * thick * 1e-6 * density * 1000 * 1e6),
    (r"of (\d+) mAh at ([\d.]+) V .* takes ([\d.]+) W, and (\d+) %",
     lambda mah, volts, watts, lost: mah * 3.6 * volts * (1 - lost / 100) / watts / 60),
    (r"of ([\d.]+) GiB is sent at (\d+) Mbit/s", lambda gib, mbit: gib * 8589.934592 / mbit),
    (r"It is (\d+) degrees .* falls by (\d+) kelvin .* by (\d+) degrees",
     lambda start, fall, rise: (start - 1.8 * fall + rise + 459.67) / 1.8),
    (r"uses ([\d.]+) litres .* drives (\d+) miles.*costs \$([\d.]+) .*is ([\d.]+) km, .* is ([\d.]+) litres",
     lambda per_100, miles, price, km, litres: miles * km * (per_100 / 100) * (price / litres)),
]  # fmt: skip


@rows("pattern, again", ROUNDED, ids=[pattern for pattern, _ in ROUNDED])
def test_floats_compute_the_same_rounded_target(pattern: str, again: Callable[..., float]) -> None:
    for item, groups in found("hard", pattern):
        places = int(item.question.partition("Round to ")[2][0])
        computed = again(*map(float, groups))
        assert is_right(item, f"{computed:.{places}f}"), (item.question, item.target, computed)
        assert is_right(item, f"{computed:.9f}"), (item.question, item.target, computed)


def test_most_of_small_is_computed_again() -> None:
    again = {
        item.question for name, pattern, _ in AGAIN if name == "small" for item, _ in found(name, pattern)
    }
    assert len(again) > 0.8 * len(loaded("small"))


KNOWN = [
    ("traps", "who does not know where the car is", "1/2"),
    ("traps", "The older one is a boy", "1/2"),
    ("traps", "At least one of them is a boy", "1/3"),
    ("traps", "Behind one of them you see a car", "stay with your door"),
    ("traps", "who is the boy's father", "his father"),
    ("traps", "all three of them at once", "1"),
    ("traps", "any two of them at once", "3"),
    ("traps", "from A to Z", "40"),
    ("traps", "from Z to A", "1"),
    ("hard", "leap years are there from 1601 to 2100", "121"),
    ("hard", "IEEE 754", "9007199254740993"),
    ("hard", "prefix length 21", "2046"),
    ("hard", "grinning face", "10"),
    ("hard", "symbol of just one letter", "14"),
    ("hard", "50 states", "Q"),
    ("hard", "sum of two positive cubes", "1729"),
    ("hard", "black keys", "36"),
    ("hard", "pips", "168"),
    ("hard", "MMCMXLIX", "2949"),
    ("hard", "round(2.5)", "8"),
    ("hard", "-17 % 5", "28"),
    ("hard", "53 weeks", "18"),
    ("hard", "unsigned 32-bit", "2106-02-07"),
    ("hard", "protons", "146"),
]


@rows("name, part, target", KNOWN)
def test_well_known_puzzles_have_their_known_answer(name: str, part: str, target: str) -> None:
    items = (item for seed in range(20) for item in drawn(name, seed) if part in item.question)
    assert same(value(next(items)), target)


def test_the_river_of_the_classic_takes_seven_trips() -> None:
    assert crossings(room=1) == 7
