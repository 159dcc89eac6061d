"""No rule sees the gold answer of a question that it is graded on.

Gold is an input where weights, orders of ties and calibration learn: on other questions. Elsewhere a test
permutes it or takes it away, and what was chosen stays as it was. A rule's choice shows from outside: with
each possible answer as the gold in turn, a rule that does not look is right about exactly one of them.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.answers.replies.extract import final_answer
from pnyx.evaluate.analysis.answer_groups import answer_groups
from pnyx.evaluate.analysis.arms import ORACLE as BEST_POSSIBLE
from pnyx.evaluate.analysis.arms import Column, arms
from pnyx.evaluate.analysis.log import Log, Row
from pnyx.evaluate.datasets import load
from pnyx.evaluate.grading.grade import grade
from pnyx.evaluate.items import Item
from pnyx.evaluate.replay import replay as module
from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.evaluate.replay.replay import ORACLE, Replay, replay
from pnyx.evaluate.replay.suggest import suggest
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.weights import Weights, learn
from tests.evaluate.logs import log, random_letters
from tests.reliability.tables import table
from tests.support.rows import rows

OPTIONS = 4
TABLE = table((0.75, 0.6, 0.55, 0.5), 160, options=OPTIONS, seed=3)
MODELS = tuple(TABLE[0].answers)


def held_out(questions: Sequence[AnsweredQuestion], **more: Any) -> set[int]:
    return set(replay(questions, splits=1, **more).trials)


def with_gold(
    questions: Sequence[AnsweredQuestion], places: Iterable[int], gold: Callable[[int], str]
) -> list[AnsweredQuestion]:
    return [replace(one, gold=gold(n)) if n in set(places) else one for n, one in enumerate(questions)]


def always(gold: str) -> Callable[[int], str]:
    return lambda place: gold


@pytest.mark.parametrize("labels", [None, 15])
def test_choices_of_a_replay_on_its_held_out_half_do_not_depend_on_their_gold(labels: int | None) -> None:
    places = held_out(TABLE, labels=labels)
    right: dict[str, list[int]] = defaultdict(lambda: [0] * len(places))
    learned = set()
    for candidate in map(str, range(OPTIONS)):
        result = replay(with_gold(TABLE, places, always(candidate)), splits=1, labels=labels)
        learned.add((str(result.rules), str(result.singles), result.calls))
        for arm, trials in result.right.items():
            right[arm] = [times + is_right for times, is_right in zip(right[arm], trials, strict=True)]
    assert len(learned) == 1
    peeking = {arm for arm, times in right.items() if max(times) > 1}
    assert peeking <= {ORACLE}
    assert all(set(times) == {1} for arm, times in right.items() if arm not in peeking)


def test_a_rule_that_looks_at_gold_is_noticed() -> None:
    """The oracle is such a rule, and shows that the test above sees one."""
    places = held_out(TABLE)
    results = [replay(with_gold(TABLE, places, always(one)), splits=1) for one in map(str, range(OPTIONS))]
    assert max(map(sum, zip(*(result.right[ORACLE] for result in results), strict=True))) > 1


def test_gold_without_a_label_changes_nothing_of_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the learning half, `labels` questions are shown with gold. That of the others may be anything."""
    questions = [replace(one, category=f"q{n}") for n, one in enumerate(TABLE)]
    seen: list[Sequence[AnsweredQuestion]] = []

    def spy(train: Sequence[AnsweredQuestion], models: Sequence[str], **more: Any) -> Weights:
        seen.append(train)
        return learn(train, models, **more)

    monkeypatch.setattr(module, "learn", spy)
    before = replay(questions, splits=1, labels=20)
    train = max(seen, key=len)
    labelled = {one.category for one in train if one.gold is not None}
    hidden = [n for n, one in enumerate(questions) if one.category not in labelled and n not in before.trials]
    assert len(labelled) == 20
    assert len(hidden) == len(TABLE) // 2 - 20
    rng = random.Random(1)
    assert (
        replay(with_gold(questions, hidden, lambda n: str(rng.randrange(OPTIONS))), splits=1, labels=20)
        == before
    )


def test_learning_reads_no_gold_of_the_held_out_half(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [replace(one, category=f"q{n}") for n, one in enumerate(TABLE)]
    seen: set[str | None] = set()

    def spy(train: Sequence[AnsweredQuestion], models: Sequence[str], **more: Any) -> Weights:
        seen.update(one.category for one in train)
        return learn(train, models, **more)

    monkeypatch.setattr(module, "learn", spy)
    result = replay(questions, splits=1)
    assert len(seen) == len(TABLE) // 2
    assert seen.isdisjoint(f"q{n}" for n in result.trials)


@pytest.mark.parametrize("labels", [10, 60])
def test_questions_without_gold_teach_votes_nothing(labels: int) -> None:
    """Whatever the labels say: differences that they do not settle, a lead over the majority, or neither."""
    hidden = [replace(one, gold=None) for one in TABLE[labels:]]
    for models in (MODELS, MODELS[::-1]):
        assert learn([*TABLE[:labels], *hidden], models).models == learn(TABLE[:labels], models).models


def test_a_suggested_panel_does_not_depend_on_the_gold_that_it_is_reported_on() -> None:
    """The half for choosing is drawn as `suggest` draws it."""
    drawn = list(range(len(TABLE)))
    random.Random(0).shuffle(drawn)
    choosing, reporting = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    costs = {model: 1.0 + n for n, model in enumerate(MODELS)}

    def panels(questions: Sequence[AnsweredQuestion]) -> list[tuple[str, ...]]:
        found = suggest(questions, MODELS, costs)
        return [one.models for one in (found.single, found.suggested, *found.others)]

    before = panels(TABLE)
    for gold in map(str, range(OPTIONS)):
        assert panels(with_gold(TABLE, reporting, always(gold))) == before
    assert panels(with_gold(TABLE, choosing, lambda n: str(TABLE[n].answers[MODELS[-1]]))) != before


def test_a_replay_does_depend_on_the_gold_that_it_learns_from() -> None:
    """A declared input: without this the tests above would show nothing."""
    places = set(range(len(TABLE))) - held_out(TABLE)
    turned = with_gold(TABLE, places, lambda n: str((int(TABLE[n].gold or 0) + 1) % OPTIONS))
    before, after = (replay(one, splits=1) for one in (TABLE, turned))
    assert _choices(before) != _choices(after)


def _choices(result: Replay) -> list[list[bool]]:
    return [trials for arm, trials in result.right.items() if arm != ORACLE]


RNG = random.Random(7)
LOG = log(
    {name: random_letters(share, 36, RNG) for name, share in (("a", 0.7), ("b", 0.6), ("c", 0.5))},
    {"voting": random_letters(0.65, 36, RNG)},
    change=lambda row: {"confidence": 0.8, "rule": "posterior"} if row.arm == "voting" else {},
)


def with_target(whole: Log, id: str, target: str) -> Log:
    """The log as it would be if the right answer to this question were `target`."""

    def changed(row: Row) -> Row:
        return replace(row, target=target, correct=row.answer == target) if row.id == id else row

    return replace(whole, rows=tuple(map(changed, whole.rows)))


def said(column: Column, id: str) -> tuple[object, ...]:
    """All that an arm says about a question: its answer, from which model, and how sure it is."""
    row = column.rows[id]
    return row.answer, row.arm, row.confidence, row.rule, row.cost_usd, column.calibrated.get(id)


def test_what_an_arm_says_to_a_question_does_not_depend_on_its_gold() -> None:
    before = {column.name: column for column in arms(LOG)}
    assert {"best single", "majority", "weighted", "a", "voting"} <= before.keys()
    for id in LOG.ids[::12]:
        for target in ("42", "x", "nothing that anyone said"):
            for column in arms(with_target(LOG, id, target)):
                if column.name != BEST_POSSIBLE:
                    assert said(column, id) == said(before[column.name], id), (column.name, id)


def test_groups_of_a_vote_do_not_depend_on_gold() -> None:
    by_id = [[LOG.by_arm[model][id] for model in LOG.models] for id in LOG.ids]
    for found in by_id:
        turned = [replace(row, target="x", correct=not row.correct and row.error is None) for row in found]
        assert answer_groups(found) == answer_groups(turned)


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return [*load("small", seed=5, limit=60), *load("traps"), *load("hard")]


def test_models_are_asked_the_same_whatever_the_gold(items: list[Item]) -> None:
    # Inspect takes a second to import, in each process that collects tests.
    from pnyx.evaluate.execution.inspect_plugin import item_task

    for item in items:
        other = replace(item, target=item.choices[0] if item.choices else "no such answer", grader=None)
        assert other.prompt == item.prompt
    for item, sample in zip(items, item_task(items, "made").dataset, strict=True):
        assert sample.input == item.prompt
        assert not {"target", "gold"} & set(sample.metadata or {})


def test_extraction_is_the_same_whatever_the_gold(items: list[Item]) -> None:
    """`final_answer` is not given the gold, and what it finds in a question's own options is none of it."""
    for item in items:
        for text in ("I think so.\nFinal answer: 12", f"Final answer: {item.target}", "It is **B**."):
            turned = replace(item, target=item.choices[0], grader=None) if item.choices else item
            found = final_answer(text, item.question, item.choices)
            assert final_answer(text, turned.question, turned.choices) == found


REPLIES = (
    "12",
    "The answer is 12.",
    "12 apples",
    "1,200",
    "Liam",
    "no",
    "Final answer: 3/4",
    "It is Tuesday",
)
TARGETS = {"number": ("120", "12", "7", "0.5", "1200"), "text": ("Liam", "Zoe", "a red house")}


@pytest.mark.parametrize("kind", TARGETS)
async def test_what_the_grader_reads_depends_on_the_kind_of_the_gold_alone(kind: str) -> None:
    """A number is looked for where the gold is a number: that kind is all that reading knows of it."""
    for reply in REPLIES:
        items = [Item(id="q", question="What is asked for?", target=target) for target in TARGETS[kind]]
        assert len({(await grade(item, reply)).answer for item in items}) == 1, reply


@rows("reply", ["B", "Final answer: C", "17", "the second", "A) 15", "I do not know"])
async def test_the_letter_that_the_grader_reads_does_not_depend_on_the_right_one(reply: str) -> None:
    items = [Item(id="q", question="Which is it?", choices=("15", "17", "19"), target=one) for one in "ABC"]
    assert len({(await grade(item, reply)).answer for item in items}) == 1


def test_recorded_answers_are_read_the_same_with_any_gold(tmp_path: Path) -> None:
    cells = [("1,000", "1e3", "7"), ("0.5", "1/2", "50%"), ("Yes", "no", "")]
    golds = ("1000", "0.5", "yes", "something else")
    read = []
    for shift in range(len(golds)):
        lines = (f'{n},{golds[(n + shift) % 4]},"{a}","{b}","{c}"' for n, (a, b, c) in enumerate(cells))
        file = tmp_path / f"{shift}.csv"
        file.write_text("\n".join(["id,gold,a,b,c", *lines]), encoding="utf-8")
        read.append([question.answers for question in read_recorded(file)])
    assert all(answers == read[0] for answers in read)
