"""The arms of a comparison: those that were recorded, and those that only combine what the models said.

Which model is the best single, who wins a tie, what a vote counts and what confidence is worth are learned
by cross-fitting: the questions fall into folds, and each fold is answered by what the others have taught. So
every question has one answer of every arm, and no rule has seen the truth of a question it is judged on.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, TypeAlias, get_args

from ..errors import UsageError
from ..reliability.accuracy import Answered
from ..reliability.calibration import Outcome, calibrate
from ..reliability.weights import choose, equal, learn, posterior
from .log import Kind, Log, Row

__all__ = [
    "COMBINED",
    "FOLDS",
    "MAJORITY",
    "ORACLE",
    "RIGHT",
    "SINGLE",
    "WEIGHTED",
    "Column",
    "arms",
    "camp_of",
    "is_panel",
    "total_cost",
]

FOLDS = 5
SINGLE, MAJORITY, WEIGHTED, ORACLE = "best single", "majority", "weighted", "oracle"
COMBINED = (SINGLE, MAJORITY, WEIGHTED, ORACLE)
"""Arms that need no call of their own. No recorded arm may have such a name."""

RIGHT = "right"
"""The camp of right answers, however they are worded. Wrong ones cannot be in it: theirs begin otherwise."""

Rule: TypeAlias = Callable[[str], Row | None]
"""What an arm answers to the question of this id; None where it has not been asked."""


@dataclass(frozen=True, slots=True)
class Column:
    """An arm with all its answers.

    kind: single | pool | samples | protocol. protocol, options: what ran. rows: by id of the question; those
    of the best single are in the name of the model. calibrated: confidence by id, as far as there is any.
    """

    name: str
    kind: str
    protocol: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    calibrated: dict[str, float] = field(default_factory=dict)

    def take(self, rule: Rule, train: Sequence[str], test: Sequence[str]) -> None:
        """Answer `test` by `rule`, its confidence calibrated on `train`."""
        curve = calibrate([Outcome(self.name, sure, row.correct) for row, sure in _sure(rule, train)])
        self.rows.update({id: row for id in test if (row := rule(id)) is not None})
        for row, sure in _sure(rule, test):
            if (told := curve.of(self.name, sure)) is not None:
                self.calibrated[row.id] = told.confidence


def _sure(rule: Rule, ids: Iterable[str]) -> Iterator[tuple[Row, float]]:
    for id in ids:
        row = rule(id)
        if row is not None and row.confidence is not None:
            yield row, row.confidence


def is_panel(name: str, kind: str) -> bool:
    """Whether an arm is a way to use the panel, of those that the question is which of them is worth it."""
    return kind == "protocol" or name in (MAJORITY, WEIGHTED)


def arms(log: Log) -> list[Column]:
    """The arms in the order in which they are reported, on the questions that all models were asked.

    Raises `UsageError` where no question was, and for arms that cannot be told apart.
    """
    ids = _compared(log)
    said = {id: [log.by_arm[model][id] for model in log.models] for id in ids}
    asked = {id: _answered(log.models, rows) for id, rows in said.items()}
    recorded: dict[str, Rule] = {name: rows.get for name, rows in log.by_arm.items()}
    found = {column.name: column for column in _columns(log)}
    for train, test in _folds(ids, log.seed):
        for name, rule in (recorded | _learned(log.models, said, asked, train)).items():
            found[name].take(rule, train, test)
    return list(found.values())


def _compared(log: Log) -> list[str]:
    names = [arm.name for arm in log.arms]
    if twice := [name for name, n in Counter([*names, *COMBINED]).items() if n > 1]:
        raise UsageError(f"two arms of the log are called {twice[0]!r}")
    if odd := [arm for arm in log.arms if arm.kind not in get_args(Kind)]:
        raise UsageError(f"the log has an arm of kind {odd[0].kind!r}")
    if missing := [model for model in log.models if model not in names]:
        raise UsageError(f"the log has no arm for the model {missing[0]!r}")
    if not log.ids:
        raise UsageError(
            "the log has no question that every model of the panel was asked; there is nothing to report"
        )
    # In this order they do not depend on which answers came first.
    return sorted(log.ids)


def _columns(log: Log) -> Iterator[Column]:
    def of(kind: str) -> Iterator[Column]:
        return (Column(a.name, a.kind, a.protocol, a.options) for a in log.arms if a.kind == kind)

    yield from of("single")
    yield from (Column(name, "pool") for name in (SINGLE, MAJORITY, WEIGHTED))
    yield from of("samples")
    yield from of("protocol")
    yield Column(ORACLE, "pool")


def _folds(ids: Sequence[str], seed: int) -> Iterator[tuple[list[str], list[str]]]:
    """For each fold the ids of all others, and its own. A question alone is answered by who knows nothing."""
    drawn = list(ids)
    random.Random(f"{seed}/folds").shuffle(drawn)
    count = min(FOLDS, len(drawn))
    for fold in range(count):
        test = set(drawn[fold::count])
        yield [id for id in ids if id not in test], [id for id in ids if id in test]


def _learned(
    models: Sequence[str],
    said: Mapping[str, Sequence[Row]],
    asked: Mapping[str, Answered],
    train: Sequence[str],
) -> dict[str, Rule]:
    """The rules that combine what `models` said to a question, as `train` teaches them."""
    known = [asked[id] for id in train]
    right = Counter(m for q in known for m, answer in q.answers.items() if answer == RIGHT)
    ranked = sorted(models, key=lambda m: -right[m])
    best = models.index(ranked[0])
    votes, weights = equal(ranked), learn(known, models)

    def majority(id: str) -> Row:
        camp = choose(votes, asked[id])
        share = list(asked[id].answers.values()).count(camp) / len(models)
        return _taken(MAJORITY, said[id], asked[id], camp, share, "share of the votes")

    def weighted(id: str) -> Row:
        camp = choose(weights, asked[id])
        sure = posterior(weights, asked[id]).get(camp or "", 0.0)
        return _taken(WEIGHTED, said[id], asked[id], camp, sure, f"posterior, weights by {weights.rule}")

    def oracle(id: str) -> Row:
        camp = RIGHT if RIGHT in asked[id].answers.values() else choose(votes, asked[id])
        return _taken(ORACLE, said[id], asked[id], camp, None, None)

    return {SINGLE: lambda id: said[id][best], MAJORITY: majority, WEIGHTED: weighted, ORACLE: oracle}


def _answered(models: Sequence[str], rows: Sequence[Row]) -> Answered:
    return Answered(
        dict(zip(models, map(camp_of, rows), strict=True)), RIGHT, rows[0].options, rows[0].category
    )


def camp_of(row: Row) -> str | None:
    """With whom an answer stands: right ones together, wrong ones by what they say; None: it says nothing."""
    if row.correct:
        return RIGHT
    return None if row.answer is None else f"not {row.answer}"


def _taken(
    arm: str,
    rows: Sequence[Row],
    asked: Answered,
    camp: str | None,
    confidence: float | None,
    rule: str | None,
) -> Row:
    """The row of an arm that asked all models and took the answer of `camp`; None: nobody gave one."""
    camps = list(asked.answers.values())
    # Of silent models one that could not be read speaks for all: then the arm was not kept from answering.
    silent = next((row for row in rows if row.error is None), rows[0])
    return replace(
        silent if camp is None else rows[camps.index(camp)],
        arm=arm,
        confidence=None if camp is None else confidence,
        rule=rule,
        steps=(),
        calls=sum(row.calls for row in rows),
        input_tokens=sum(row.input_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        cost_usd=total_cost(rows),
        seconds=max(row.seconds for row in rows),
        run_id=None,
        detail={},
    )


def total_cost(rows: Iterable[Row]) -> float | None:
    """What `rows` cost together, in USD; None where the cost of one is unknown."""
    costs = [row.cost_usd for row in rows]
    known = [cost for cost in costs if cost is not None]
    return fsum(known) if len(known) == len(costs) else None
