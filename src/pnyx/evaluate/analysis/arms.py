"""The arms of a comparison: those that were recorded, and those that only combine what the models said.

Which model is the best single, who wins a tie, what a vote counts and what confidence is worth are learned
by cross-fitting: the questions fall into folds, and each fold is answered by what the others have taught. So
every question has one answer of every arm, and no rule has seen the truth of a question it is judged on. What
confidence is worth is learned of questions that the rule has not seen either: in folds within the others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, TypeAlias, get_args

from ...errors import UsageError
from ...reliability.accuracy import Answered
from ...reliability.calibration import Outcome, calibrate
from ...reliability.weights import choose, equal, learn, posterior
from .answer_groups import RIGHT, camps_of, labelled
from .log import Kind, Log, Row

__all__ = [
    "COMBINED",
    "FOLDS",
    "MAJORITY",
    "ORACLE",
    "SINGLE",
    "WEIGHTED",
    "Column",
    "arms",
    "is_panel",
    "total_cost",
]

FOLDS = 5
SINGLE, MAJORITY, WEIGHTED, ORACLE = "best single", "majority", "weighted", "oracle"
COMBINED = (SINGLE, MAJORITY, WEIGHTED, ORACLE)
"""Arms that need no call of their own. No recorded arm may have such a name."""

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

    def take(self, rule: Rule, test: Sequence[str], known: Sequence[Outcome]) -> None:
        """Answer `test` by `rule`, its confidence calibrated on `known`."""
        curve = calibrate(known)
        self.rows.update({id: row for id in test if (row := rule(id)) is not None})
        for row, sure in _sure(rule, test):
            if (told := curve.of(self.name, sure)) is not None:
                self.calibrated[row.id] = told.confidence


def _outcomes(name: str, rule: Rule, ids: Iterable[str]) -> Iterator[Outcome]:
    return (Outcome(name, sure, row.correct) for row, sure in _sure(rule, ids))


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
    pool = {id: _Asked.of(log.models, [log.by_arm[model][id] for model in log.models]) for id in ids}
    recorded: dict[str, Rule] = {name: rows.get for name, rows in log.by_arm.items()}
    found = {column.name: column for column in _columns(log)}
    for train, test in _folds(ids, log.seed):
        learned = _learned(log.models, pool, train)
        known = {name: list(_outcomes(name, rule, train)) for name, rule in recorded.items()}
        # A rule is surer of what it has learned from than of anything else.
        for inner, held in _folds(train, log.seed):
            for name, rule in _learned(log.models, pool, inner).items():
                used = rule if name != WEIGHTED or _same_weights(rule, learned[name], held) else learned[name]
                known.setdefault(name, []).extend(_outcomes(name, used, held))
        for name, rule in (recorded | learned).items():
            found[name].take(rule, test, known.get(name, ()))
    return list(found.values())


def _same_weights(one: Rule, other: Rule, ids: Sequence[str]) -> bool:
    """Whether both weigh by the same rule: how sure one is says nothing of how sure another is."""
    rows = [rule(id) for rule in (one, other) for id in ids[:1]]
    return len({row.rule for row in rows if row}) == 1


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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the models said to a question: as a vote sees it, and as one learns from it."""

    rows: Sequence[Row]
    vote: Answered
    lesson: Answered

    @classmethod
    def of(cls, models: Sequence[str], rows: Sequence[Row]) -> _Asked:
        def answered(camps: Sequence[str | None], gold: str | None) -> Answered:
            answers = dict(zip(models, camps, strict=True))
            return Answered(answers, gold, rows[0].options, rows[0].category)

        return cls(rows, answered(camps_of(rows), None), answered(labelled(rows), RIGHT))


def _learned(models: Sequence[str], pool: Mapping[str, _Asked], train: Sequence[str]) -> dict[str, Rule]:
    """The rules that combine what `models` said to a question, as `train` teaches them."""
    known = [pool[id].lesson for id in train]
    right = Counter(m for q in known for m, answer in q.answers.items() if answer == RIGHT)
    ranked = sorted(models, key=lambda m: -right[m])
    best = models.index(ranked[0])
    votes, weights = equal(ranked), learn(known, models)

    def majority(id: str) -> Row:
        vote = pool[id].vote
        camp = choose(votes, vote)
        share = list(vote.answers.values()).count(camp) / len(models)
        return _taken(MAJORITY, pool[id], camp, share, "share of the votes")

    def weighted(id: str) -> Row:
        vote = pool[id].vote
        camp = choose(weights, vote)
        sure = posterior(weights, vote).get(camp or "", 0.0)
        return _taken(WEIGHTED, pool[id], camp, sure, f"posterior, weights by {weights.rule}")

    def oracle(id: str) -> Row:
        one = pool[id]
        right = next((row for row in one.rows if row.correct), None)
        return _taken(ORACLE, one, choose(votes, one.vote), None, None, right)

    return {SINGLE: lambda id: pool[id].rows[best], MAJORITY: majority, WEIGHTED: weighted, ORACLE: oracle}


def _taken(
    arm: str,
    asked: _Asked,
    camp: str | None,
    confidence: float | None,
    rule: str | None,
    row: Row | None = None,
) -> Row:
    """The row of an arm that asked all models and took `row`, else the answer of `camp`; None: nobody's."""
    rows, camps = asked.rows, list(asked.vote.answers.values())
    # Of silent models one that could not be read speaks for all: then the arm was not kept from answering.
    silent = next((one for one in rows if one.error is None), rows[0])
    return replace(
        row or (silent if camp is None else rows[camps.index(camp)]),
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
