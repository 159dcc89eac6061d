"""Build the report of an evaluation from its log, without a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..analysis.answer_groups import answer_groups
from ..analysis.arms import FOLDS, ORACLE, Column, arms, total_cost
from ..analysis.confidence import confidence
from ..analysis.log import Log, Row
from ..analysis.statistics import mcnemar, paired_difference, percentile, wilson
from .comparisons import pairs
from .verdict import verdict

__all__ = ["document"]


def document(log: Log) -> dict[str, Any]:
    """The comparison as plain JSON values. Shares are fractions of 1; missing values are None.

    questions: the number of questions that every model of the panel was asked; only they are compared. asked:
    the number of all questions in the log. partial: whether an arm has not answered all of them. unanimous,
    split: the number of questions with equal answers of all models, and of the others. arms, in the order of
    `arms.arms`: see `_figures`. pairs: see `comparisons`. categories: the right answers of each arm per
    category; empty without categories.

    Raises `UsageError` if there is nothing to compare.
    """
    columns = arms(log)
    ids = list(next(column.rows for column in columns if column.name == ORACLE))
    unanimous = {id for id in ids if _agree([log.by_arm[model][id] for model in log.models])}
    questions = {row.id for row in log.rows}
    baselines = [a.name for a in log.arms if a.kind == "single" and a.name not in log.models]
    values: dict[str, Any] = {
        "dataset": log.dataset,
        "models": list(log.models),
        "seed": log.seed,
        "started": log.started,
        "pnyx": log.pnyx,
        "folds": min(FOLDS, len(ids)),
        "questions": len(ids),
        "asked": len(questions),
        "partial": any(len(rows) < max(len(questions), log.planned or 0) for rows in log.by_arm.values()),
        "unanimous": len(unanimous),
        "split": len(ids) - len(unanimous),
        "arms": [_figures(column, unanimous) for column in columns],
        "pairs": pairs(columns, baselines),
        "categories": _categories(columns, {id: log.by_arm[log.models[0]][id].category for id in ids}),
    }
    return {"verdict": verdict(values), **values}


def _agree(rows: Sequence[Row]) -> bool:
    """Whether all answers are equal. A missing answer does not agree with any other."""
    groups = set(answer_groups(rows))
    return len(groups) == 1 and None not in groups


def _figures(column: Column, unanimous: Collection[str]) -> dict[str, Any]:
    """The figures of an arm.

    n, right, accuracy, also on unanimous and on split questions: two counts, and the share with its 95 %
    interval (Wilson), which is None if n is 0. unread: answers that could not be read. errors: questions
    without an answer. Both count as wrong. calls, tokens and USD are means per question, seconds percentiles.
    chosen: model -> number of questions, if the arm selects one model. rounds: see `_rounds`. talk: see
    `_talk`.
    """
    rows = list(column.rows.values())
    n, right = len(rows), sum(row.correct for row in rows)
    cost = total_cost(rows) if rows else None
    seconds = [row.seconds for row in rows]
    return {
        "name": column.name,
        "kind": column.kind,
        "protocol": column.protocol or None,
        "options": dict(column.options),
        "chosen": _chosen(column),
        **_accuracy(rows),
        "unanimous": _accuracy([row for row in rows if row.id in unanimous]),
        "split": _accuracy([row for row in rows if row.id not in unanimous]),
        "unread": sum(row.answer is None and row.error is None and not row.correct for row in rows),
        "errors": sum(row.error is not None for row in rows),
        "calls": _mean([row.calls for row in rows]),
        "input_tokens": _mean([row.input_tokens for row in rows]),
        "cached_tokens": _mean([row.cached_tokens for row in rows]),
        "output_tokens": _mean([row.output_tokens for row in rows]),
        "cost_usd": None if cost is None else cost / n,
        "total_usd": cost,
        "usd_per_right": cost / right if cost is not None and right else None,
        "seconds_p50": percentile(seconds, 0.5) if rows else None,
        "seconds_p95": percentile(seconds, 0.95) if rows else None,
        "confidence": confidence(column),
        "rounds": _rounds(rows),
        "talk": _talk(rows),
    }


def _accuracy(rows: Sequence[Row]) -> dict[str, Any]:
    right = sum(row.correct for row in rows)
    return {"n": len(rows), "right": right, "accuracy": asdict(wilson(right, len(rows))) if rows else None}


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def _chosen(column: Column) -> dict[str, int] | None:
    by = [row.detail.get("model") if column.kind == "samples" else row.arm for row in column.rows.values()]
    chosen = Counter(str(model) for model in by if model and model != column.name)
    return dict(chosen.most_common()) or None


def _rounds(rows: Sequence[Row]) -> list[dict[str, int]]:
    """For each round, from 1: of `n` answers known before and after it, the number it fixed and broke."""
    out = []
    for after in range(1, max((len(row.steps) for row in rows), default=0)):
        seen = [row.steps[after - 1 : after + 1] for row in rows if len(row.steps) > after]
        known = Counter(step for step in seen if None not in step)
        if n := known.total():
            fixed, broken = known[False, True], known[True, False]
            out.append({"round": after, "n": n, "fixed": fixed, "broken": broken})
    return out


def _talk(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Whether talking helped: the decisions against the votes before the debate.

    n: the answers that have such a vote. rescued: the vote was wrong and the decision right; lost: the
    reverse. difference: the accuracy that the debate adds. p: McNemar, exact. None without such votes.
    """
    known = [row for row in rows if row.vote_only is not None]
    if not known:
        return None
    rescued = sum(row.correct and not row.vote_only for row in known)
    lost = sum(bool(row.vote_only) and not row.correct for row in known)
    n, votes = len(known), sum(bool(row.vote_only) for row in known)
    return {
        "n": n,
        "vote_right": votes,
        "right": votes + rescued - lost,
        "rescued": rescued,
        "lost": lost,
        "difference": asdict(paired_difference(rescued, lost, n)),
        "p": mcnemar(rescued, lost),
    }


def _categories(columns: Sequence[Column], category: Mapping[str, str | None]) -> list[dict[str, Any]]:
    names = Counter(category.values())
    if not names.keys() - {None}:
        return []
    return [
        {
            "category": name,
            "n": n,
            "arms": {
                column.name: _accuracy([row for row in column.rows.values() if category[row.id] == name])
                for column in columns
            },
        }
        for name, n in sorted(names.items(), key=lambda item: (item[0] is None, item[0]))
    ]
