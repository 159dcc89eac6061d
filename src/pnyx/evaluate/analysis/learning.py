"""What a graded evaluation teaches later runs: who is right how often, and how much confidence is worth."""

from __future__ import annotations

from collections.abc import Iterator

from ...reliability.feedback import JudgedRun, measure
from .log import Log, Row

__all__ = ["LEARNER", "OWNER", "judged"]

OWNER = "eval"
"""Whose an evaluation's runs are. It has no history: an arm would know what it is graded by."""
LEARNER = "local"
"""Whose later runs learn from what was graded."""


def judged(log: Log) -> Iterator[tuple[str, JudgedRun]]:
    """Run ids and what is known of each: a question's answers by all models once, and every decision."""
    singles = [log.by_arm[model] for model in log.models]
    for id in log.ids:
        rows = [by_id[id] for by_id in singles if by_id[id].error is None]
        if rows and rows[0].run_id:
            answers = tuple((row.arm, row.target if row.correct else _wrong(row)) for row in rows)
            yield rows[0].run_id, JudgedRun("single", _result(rows[0]), None, answers, rows[0].target)
    for arm in log.arms:
        if arm.kind == "protocol":
            for row in log.by_arm[arm.name].values():
                if row.run_id and row.error is None and row.confidence is not None:
                    yield row.run_id, JudgedRun(measure(arm.protocol, row.rule), _result(row), row.confidence)


def _result(row: Row) -> str:
    return "success" if row.correct else "failure"


def _wrong(row: Row) -> str | None:
    """A wrong answer never counts as the right one, whatever a grader minded about it."""
    return f"not {row.answer}" if row.answer == row.target else row.answer
