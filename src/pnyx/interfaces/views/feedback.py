"""Feedback: whether the answer of a run was right, from a person or a grader."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from ...core.decision import DECIDED
from ...errors import UsageError
from ...evaluate.owners import LEARNER, OWNER
from ...reliability.feedback import JudgedRun, judge
from ...store.records import outcomes as outcome_store
from ...store.records import runs as store
from ...times import now

__all__ = ["feedback_document", "record_feedback"]


def record_feedback(
    connection: Connection, prefix: str, verdict: str, truth: str | None = None, owner: str | None = None
) -> tuple[store.RunRow, JudgedRun]:
    """Store feedback on a run, replacing earlier feedback; return the run and what is learned from it.

    verdict: success, partial or failure. truth: the right answer, if it is short and known. Raises
    `NotFound`; `UsageError` if the run has no decision, or as `judge` does.
    """
    row = store.find(connection, prefix, owner)
    if row.result is None or row.status not in DECIDED:
        raise UsageError(f"run {row.id} is {row.status}: feedback requires a decision")
    judged = judge(row.result, verdict, truth)
    # Evaluations themselves must not learn from their grades, so they use another owner.
    learner = LEARNER if row.owner == OWNER else row.owner
    outcome_store.record(connection, row.id, learner, now(), judged)
    return row, judged


def feedback_document(run_id: str, judged: JudgedRun) -> dict[str, Any]:
    """The feedback as JSON. seats: each seat's first answer. answers: by model, of its last seat."""
    return {
        "run_id": run_id,
        "result": judged.result,
        "gold": judged.gold,
        "answers": dict(judged.answers),
        "seats": [{"model": model, "answer": answer} for model, answer in judged.answers],
    }
