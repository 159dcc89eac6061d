"""The included test sets: the promises about their questions, and the grades of answers to them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import pytest

from pnyx.core.answers.replies.extract import final_answer, normalise, same
from pnyx.errors import UsageError
from pnyx.evaluate.datasets import NAMES, load
from pnyx.evaluate.datasets.drawing import rounded
from pnyx.evaluate.grading.grade import is_right
from pnyx.evaluate.items import Item
from tests.support.rows import rows

SEEDS = (0, 1, 2)
CATEGORIES = {
    "small": {"sums", "calendar", "stories", "comparisons", "letters", "percent", "clock", "order", "units",
              "sequences"},
    "traps": {"arithmetic", "altered", "letters", "chance", "numbers", "family", "time", "reading"},
    "hard": {"arithmetic", "logic", "strings", "dates", "units", "facts"},
}  # fmt: skip
SIZES = {"small": 240, "traps": 48, "hard": 120}


@lru_cache
def loaded(name: str, seed: int = 0, limit: int | None = None) -> tuple[Item, ...]:
    return tuple(load(name, seed=seed, limit=limit))


every_set = pytest.mark.parametrize("name", NAMES)


@every_set
@pytest.mark.parametrize("seed", SEEDS)
def test_ids_and_texts_are_unique_and_each_category_has_its_share(name: str, seed: int) -> None:
    items = loaded(name, seed)
    assert len(items) == SIZES[name]
    assert {item.id for item in items} == {f"{name}-{n:04}" for n in range(1, SIZES[name] + 1)}
    assert len({item.question for item in items}) == len(items)
    share = SIZES[name] // len(CATEGORIES[name])
    assert Counter(item.category for item in items) == dict.fromkeys(CATEGORIES[name], share)


@every_set
def test_any_first_questions_are_balanced_over_the_categories(name: str) -> None:
    items = loaded(name)
    for n in range(len(items)):
        counts = Counter(item.category for item in items[:n])
        assert max(counts.values(), default=0) - min((counts[c] for c in CATEGORIES[name]), default=0) <= 1


@every_set
def test_a_seed_returns_the_same_questions_and_another_seed_other_ones(name: str) -> None:
    assert load(name, seed=1) == list(loaded(name, 1))
    texts = [{item.prompt for item in loaded(name, seed)} for seed in SEEDS]
    assert len(texts[0] & texts[1]) < len(texts[0]) / 4
    assert len(texts[1] & texts[2]) < len(texts[0]) / 4


@every_set
def test_a_limit_only_shortens_the_list(name: str) -> None:
    items = load(name, seed=2, limit=SIZES[name] // 2)
    assert items == list(loaded(name, 2)[: SIZES[name] // 2])


def test_small_has_as_many_questions_as_requested_until_it_is_exhausted() -> None:
    items = loaded("small", 0, 2000)
    assert len({item.question for item in items}) == 2000
    assert items[:240] == loaded("small")
    with pytest.raises(UsageError, match=r"small has only \d+ different questions"):
        load("small", limit=100_000)


def test_the_other_sets_have_a_fixed_number_of_questions() -> None:
    assert load("traps", limit=1000) == list(loaded("traps"))


def test_an_unknown_name_and_an_empty_limit_are_refused() -> None:
    with pytest.raises(UsageError, match="small, traps, hard"):
        load("smal")
    with pytest.raises(UsageError, match="0"):
        load("small", limit=0)


@every_set
def test_loading_one_set_imports_none_of_the_others(name: str) -> None:
    code = (
        f"import sys; from pnyx.evaluate.datasets import load; load({name!r}, limit=1); "
        "print(*(m for m in sys.modules if m.startswith('pnyx.evaluate.datasets.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    used = {module.split(".")[3] for module in done.stdout.split()}
    assert used == {"drawing", name}


@every_set
@pytest.mark.parametrize("seed", SEEDS)
def test_every_target_is_extracted_from_a_reply_and_graded_right(name: str, seed: int) -> None:
    for item in loaded(name, seed):
        texts = [item.target]
        if item.choices:
            text = item.choices[ord(item.target) - ord("A")]
            texts += [text, f"{item.target}) {text}"]
        for text in texts:
            answer = final_answer(f"Step 1: this and that.\nFinal answer: {text}", choices=item.choices)
            assert answer, item
            assert is_right(item, answer), item
        assert normalise(normalise(item.target)) == normalise(item.target)


@every_set
@pytest.mark.parametrize("seed", SEEDS)
def test_another_target_of_the_set_is_graded_wrong(name: str, seed: int) -> None:
    items = loaded(name, seed)
    for item, other in pairwise(items):
        if not item.choices and not other.choices and not same(item.target, other.target):
            assert not is_right(item, other.target), item


@every_set
def test_the_grader_distinguishes_all_options(name: str) -> None:
    for item in (item for seed in SEEDS for item in loaded(name, seed) if item.choices):
        for n, one in enumerate(item.choices):
            assert not any(same(one, two) for two in item.choices[n + 1 :]), item


def test_a_quarter_of_small_is_a_choice_and_its_right_letters_are_balanced() -> None:
    items = loaded("small", 0, 2000)
    for n in range(40, len(items), 40):
        assert sum(bool(item.choices) for item in items[:n]) == n / 4
    letters = Counter(item.target for item in items if item.choices)
    assert set(letters) == set("ABCD")
    assert all(0.2 < count / letters.total() < 0.3 for count in letters.values()), letters


def test_no_letter_is_right_for_the_same_trap_at_every_seed() -> None:
    surgeon = [item for seed in range(12) for item in load("traps", seed=seed) if "surgeon" in item.question]
    assert len({item.target for item in surgeon}) > 1


@every_set
@pytest.mark.parametrize("seed", SEEDS)
def test_an_open_question_states_the_form_of_its_answer(name: str, seed: int) -> None:
    forms = ("Answer ", "Round to ", "What day of the week", "the only number of four digits")
    for item in loaded(name, seed):
        assert item.choices or any(form in item.question for form in forms), item.question


MAY_NAME_THE_ANSWER = {"comparisons", "order", "numbers", "family", "reading", "logic"}
"""Categories whose questions may name their answer."""


@every_set
def test_a_number_from_the_question_is_rarely_the_answer(name: str) -> None:
    numeric = [
        item
        for seed in SEEDS
        for item in loaded(name, seed)
        if not item.choices and item.category not in MAY_NAME_THE_ANSWER and item.target[0].isdigit()
    ]
    repeated = [i for i in numeric if i.target.split()[0] in re.findall(r"\d+(?:\.\d+)?", i.question)]
    assert len(repeated) < len(numeric) / 30, [(item.question, item.target) for item in repeated]


SPELLED = [
    ("small", "Which date is", "2026-10-24", ["24 October 2026", "October 24th, 2026", "2026/10/24"]),
    ("small", "meal costs", "$264", ["264", "264 dollars", "$264.00", "USD 264"]),
    ("small", "How many grams", "6511 grams", ["6511", "6,511 g", "6.511 kg", "6511 grams of it"]),
    ("small", "Which is larger: 2/7", "1/2", ["0.5", "½", "50%", r"\frac{1}{2}"]),
    ("small", "What day of the week", "Sunday", ["sunday", "**Sunday**", "Sunday."]),
    ("small", "When does it arrive", "14:30", ["14:30.", "**14:30**"]),
    ("traps", "How many cents", "25 cents", ["25", "25¢", "$0.25", "twenty-five cents"]),
    ("traps", "average speed", "42 km/h", ["42", "42 kph", "42 kilometres per hour", "42.0 km/h"]),
    ("traps", "other side is red", "2/3", ["two thirds", "2 / 3", "⅔"]),
    ("traps", "Which number is greater", "-6.27", ["\u22126.27", "-6.270", "- 6.27"]),
    ("traps", "dead cat", "0", ["0.0", "zero", "0 %"]),
    ("traps", "backwards", "lerriuqs", ["Lerriuqs", '"lerriuqs"', "`lerriuqs`"]),
    ("hard", "IEEE 754", "9007199254740993", ["9,007,199,254,740,993", "2^53 + 1 = 9007199254740993"]),
    ("hard", "liquid at 25", "bromine", ["Bromine", "bromine.", "**Bromine**"]),
    ("hard", "50 states", "Q", ["q", "The letter Q", '"Q"']),
    ("hard", "4 October", "1582-10-15", ["15 October 1582", "Friday, 15 October 1582", "1582-10-15."]),
    ("hard", "How many minutes does the flight", "740 minutes", ["740", "740 min", "12 1/3 hours"]),
    ("hard", "or a whole number", "878/585", ["1 293/585", r"\frac{878}{585}", "878 / 585"]),
    ("hard", "How many dollars does the fuel", "76.9986484", ["$77.00", "77", "77.00 dollars", "76.9986"]),
]


@rows("name, part, target, others", SPELLED)
def test_other_spellings_of_an_answer_are_right(name: str, part: str, target: str, others: list[str]) -> None:
    item = next(
        item
        for item in loaded(name)
        if part in item.question
        and target == (item.choices[ord(item.target) - 65] if item.choices else item.target)
    )
    for spelled in others:
        answer = final_answer(f"Final answer: {spelled}", choices=item.choices)
        assert answer, spelled
        assert is_right(item, answer), (spelled, answer)


PLACES = re.compile(r"Round to (\d) decimal place")


def test_a_rounded_answer_may_be_exact_but_not_off_by_one_in_the_last_place() -> None:
    items = [item for item in loaded("hard") if item.effective_grader == "numeric"]
    assert len(items) > 20
    for item in items:
        places = int(PLACES.findall(item.question)[0])
        exact, unit = float(item.target), 10**-places
        assert is_right(item, f"{exact:.{places}f}"), item
        for off, graded in (
            (0.5, True),
            (-0.5, True),
            (0.52, False),
            (-0.52, False),
            (1, False),
            (-1, False),
        ):
            assert is_right(item, f"{exact + off * unit:.{places + 6}f}") is graded, item


@pytest.mark.parametrize(
    ("exact", "places", "grades"),
    [
        ("246.05", 1, {"246.0": True, "246.1": True, "246.05": True, "245.9": False, "246.2": False}),
        ("259.35", 1, {"259.3": True, "259.4": True, "259.2": False, "259.5": False}),
        ("0.125", 2, {"0.12": True, "0.13": True, "0.11": False, "0.14": False}),
        ("12", 1, {"12": True, "12.0": True, "12.1": False, "11.9": False}),
    ],
)
def test_a_number_halfway_may_be_rounded_either_way_and_no_further(
    exact: str, places: int, grades: dict[str, bool]
) -> None:
    draft = rounded("How much?", Fraction(exact), places)
    item = Item(
        id="1", question=draft.question, target=draft.target, grader="numeric", tolerance=draft.tolerance
    )
    assert {one: is_right(item, one) for one in grades} == grades
