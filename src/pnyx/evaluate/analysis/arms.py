"""The arms of a comparison: the recorded ones, and those that combine the models' recorded answers.

The best single model, the order of ties, the weights of votes and the calibration of confidence are learned
by cross-fitting: the questions are split into folds, and a rule that answers one fold has learned from the
others. So every arm has one answer to every question, and no rule has seen the truth of a question that it
is graded on. Calibration learns from questions that the rule has not seen either: from folds within folds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, TypeAlias, get_args

from ...core.models import total_usd
from ...errors import UsageError
from ...reliability.accuracy import AnsweredQuestion
from ...reliability.calibration import CalibratedConfidence, Outcome, calibrate
from ...reliability.feedback import measure
from ...reliability.weights import choose, equal, learn, posterior
from .answer_groups import RIGHT, answer_groups, graded_groups
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
"""Arms that need no calls. No recorded arm may have one of these names."""

Rule: TypeAlias = Callable[[str], Row | None]
"""Maps the id of a question to the arm's answer; to None if the arm has not been asked."""


@dataclass(frozen=True, slots=True)
class Column:
    """An arm with all its answers.

    kind: single | pool | samples | protocol. protocol, options: what ran. rows: question id -> answer; the
    rows of the best single name the model as their arm. calibrated: question id -> calibrated confidence, for
    the answers that have one: that of a live run whose history is the outcomes of the other folds.
    """

    name: str
    kind: str
    protocol: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    calibrated: dict[str, CalibratedConfidence] = field(default_factory=dict)

    @property
    def shared(self) -> str:
        """The name of the outcomes that it is calibrated on: as in live runs, those of its protocol."""
        return self.protocol if self.kind == "protocol" else self.name

    def add(self, rule: Rule, test: Sequence[str], known: Sequence[Outcome]) -> None:
        """Add the answers of `rule` to the questions `test`; calibrate their support on `known`."""
        calibration = calibrate(known)
        self.rows.update({id: row for id in test if (row := rule(id)) is not None})
        for row, raw in _supported(rule, test):
            found = calibration.of(measure(self.shared, row.rule), row.rule, raw)
            if found is not None:
                self.calibrated[row.id] = found

    def outcomes(self, rule: Rule, ids: Iterable[str]) -> Iterator[tuple[str, Outcome]]:
        """The outcomes of the answers of `rule` to the questions `ids`, each with the id of its run."""
        for row, raw in _supported(rule, ids):
            kind = measure(self.shared, row.rule)
            yield row.run_id or "", Outcome(kind, raw, row.correct, rule=row.rule)


def _supported(rule: Rule, ids: Iterable[str]) -> Iterator[tuple[Row, float]]:
    """The answers that have support, with it. In a log it is named `confidence`."""
    for id in ids:
        row = rule(id)
        if row is not None and row.confidence is not None:
            yield row, row.confidence


def is_panel(name: str, kind: str) -> bool:
    """Whether an arm is a way to use the panel. The correction for multiple tests counts these arms."""
    return kind == "protocol" or name in (MAJORITY, WEIGHTED)


def arms(log: Log) -> list[Column]:
    """The arms in the order of the report, on the questions that all models were asked.

    Raises `UsageError` if there is no such question, or if two arms have the same name.
    """
    ids = _common_ids(log)
    pool = {id: _PoolAnswers.of(log.models, [log.by_arm[model][id] for model in log.models]) for id in ids}
    recorded: dict[str, Rule] = {name: rows.get for name, rows in log.by_arm.items()}
    columns = {column.name: column for column in _columns(log)}
    for train, test in _folds(ids, log.seed):
        learned = _learn_rules(log.models, pool, train)
        known: dict[str, list[tuple[str, Outcome]]] = {}
        for name, rule in recorded.items():
            known.setdefault(columns[name].shared, []).extend(columns[name].outcomes(rule, train))
        # A rule is overconfident on the questions it has learned from.
        for inner, held_out in _folds(train, log.seed):
            for name, rule in _learn_rules(log.models, pool, inner).items():
                comparable = name != WEIGHTED or _same_weights(rule, learned[name], held_out)
                used = rule if comparable else learned[name]
                known.setdefault(name, []).extend(columns[name].outcomes(used, held_out))
        for name, rule in (recorded | learned).items():
            # The history of a live run has the outcomes of one evaluation in this order.
            history = sorted(known.get(columns[name].shared, ()), key=itemgetter(0))
            columns[name].add(rule, test, [outcome for _, outcome in history])
    return list(columns.values())


def _same_weights(one: Rule, other: Rule, ids: Sequence[str]) -> bool:
    """Whether both use the same kind of weights. The confidences of different kinds are not comparable."""
    rows = [rule(id) for rule in (one, other) for id in ids[:1]]
    return len({row.rule for row in rows if row}) == 1


def _common_ids(log: Log) -> list[str]:
    """The ids of the questions that all models were asked. Raises `UsageError` as `arms` does."""
    names = [arm.name for arm in log.arms]
    if twice := [name for name, n in Counter([*names, *COMBINED]).items() if n > 1]:
        raise UsageError(f"two arms of the log have the name {twice[0]!r}; rename one")
    if odd := [arm for arm in log.arms if arm.kind not in get_args(Kind)]:
        raise UsageError(f"the arm {odd[0].name!r} of the log has the unknown kind {odd[0].kind!r}")
    if missing := [model for model in log.models if model not in names]:
        raise UsageError(f"the log has no arm for the model {missing[0]!r}")
    if not log.ids:
        raise UsageError(
            "the log has no question that every model of the panel was asked, so there is nothing to report"
        )
    # Sorted, so that the folds do not depend on which answers arrived first.
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
    """For each fold: the ids of all other folds, and its own. A lone question has nothing to learn from."""
    drawn = list(ids)
    random.Random(f"{seed}/folds").shuffle(drawn)
    count = min(FOLDS, len(drawn))
    for fold in range(count):
        test = set(drawn[fold::count])
        yield [id for id in ids if id not in test], [id for id in ids if id in test]


@dataclass(frozen=True, slots=True)
class _PoolAnswers:
    """The models' answers to a question. vote: ungraded, for voting. lesson: graded, for learning."""

    rows: Sequence[Row]
    vote: AnsweredQuestion
    lesson: AnsweredQuestion

    @classmethod
    def of(cls, models: Sequence[str], rows: Sequence[Row]) -> _PoolAnswers:
        def answered(groups: Sequence[str | None], gold: str | None) -> AnsweredQuestion:
            answers = dict(zip(models, groups, strict=True))
            return AnsweredQuestion(answers, gold, rows[0].options, rows[0].category)

        return cls(rows, answered(answer_groups(rows), None), answered(graded_groups(rows), RIGHT))


def _learn_rules(
    models: Sequence[str], pool: Mapping[str, _PoolAnswers], train: Sequence[str]
) -> dict[str, Rule]:
    """The rules that combine the answers of `models`, learned from the questions `train`."""
    known = [pool[id].lesson for id in train]
    right = Counter(m for q in known for m, answer in q.answers.items() if answer == RIGHT)
    ranked = sorted(models, key=lambda m: -right[m])
    best = models.index(ranked[0])
    votes, weights = equal(ranked), learn(known, models)

    def majority(id: str) -> Row:
        vote = pool[id].vote
        group = choose(votes, vote)
        share = list(vote.answers.values()).count(group) / len(models)
        return _combined(MAJORITY, pool[id], group, share, "share of the votes")

    def weighted(id: str) -> Row:
        vote = pool[id].vote
        group = choose(weights, vote)
        confidence = posterior(weights, vote).get(group or "", 0.0)
        return _combined(WEIGHTED, pool[id], group, confidence, f"posterior, weights by {weights.rule}")

    def oracle(id: str) -> Row:
        answers = pool[id]
        right = next((row for row in answers.rows if row.correct), None)
        return _combined(ORACLE, answers, choose(votes, answers.vote), None, None, right)

    return {SINGLE: lambda id: pool[id].rows[best], MAJORITY: majority, WEIGHTED: weighted, ORACLE: oracle}


def _combined(
    arm: str,
    pool: _PoolAnswers,
    group: str | None,
    confidence: float | None,
    rule: str | None,
    row: Row | None = None,
) -> Row:
    """The row of an arm that asks all models and answers with `row`, or else with the answer of `group`.

    group: None if no model answered. Cost, calls and tokens are those of all models together.
    """
    rows, groups = pool.rows, list(pool.vote.answers.values())
    # If no model answered, prefer a row without an error: that arm could have answered.
    silent = next((one for one in rows if one.error is None), rows[0])
    return replace(
        row or (silent if group is None else rows[groups.index(group)]),
        arm=arm,
        confidence=None if group is None else confidence,
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
    """The total cost of `rows` in USD; None if the cost of one is unknown."""
    return total_usd(row.cost_usd for row in rows)
