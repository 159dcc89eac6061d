"""What later runs learn from a graded evaluation: the accuracy of models, the calibration of confidence."""

from __future__ import annotations

from collections.abc import Iterator

from ...reliability.accuracy import AnsweredQuestion
from ...reliability.feedback import JudgedRun, measure
from .log import Log, Row

__all__ = ["answered", "lessons"]


def lessons(log: Log) -> Iterator[tuple[str, JudgedRun]]:
    """Pairs of run id and judgement: one per question with all models' answers, and one per decision."""
    singles = [log.by_arm[model] for model in log.models]
    for id in log.ids:
        rows = [by_id[id] for by_id in singles if by_id[id].error is None]
        if rows and rows[0].run_id:
            answers = tuple((row.arm, row.target if row.correct else _wrong(row)) for row in rows)
            yield rows[0].run_id, JudgedRun("single", _result(rows[0]), None, answers, rows[0].target)
    panel = tuple(sorted(set(log.models)))
    for arm in log.arms:
        if arm.kind == "protocol":
            for row in log.by_arm[arm.name].values():
                if row.run_id and row.error is None and row.confidence is not None:
                    kind, raw = measure(arm.protocol, row.rule), row.confidence
                    judged = JudgedRun(kind, _result(row), raw, panel=panel, rule=row.rule)
                    yield row.run_id, judged


def _result(row: Row) -> str:
    return "success" if row.correct else "failure"


def _wrong(row: Row) -> str | None:
    """The text of a wrong answer. It never equals the target, whatever the grader's reason was."""
    return f"not {row.answer}" if row.answer == row.target else row.answer


def answered(log: Log) -> Iterator[AnsweredQuestion]:
    """The questions that every model of the panel answered. A right answer is the target in any words."""
    singles = [log.by_arm[model] for model in log.models]
    for id in log.ids:
        rows = [by_id[id] for by_id in singles]
        if all(row.error is None for row in rows) and rows[0].target:
            answers = {row.arm: row.target if row.correct else _wrong(row) for row in rows}
            yield AnsweredQuestion(answers, rows[0].target, rows[0].options, rows[0].category)
