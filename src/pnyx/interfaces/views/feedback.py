"""What became of a decision: judged once a person or a grader knows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from ...core.decision import DECIDED
from ...errors import UsageError
from ...evaluate.analysis.learning import LEARNER, OWNER
from ...reliability.feedback import JudgedRun, judge
from ...run.limits import now
from ...store import outcomes as kept
from ...store import runs as store

__all__ = ["judgement", "keep_feedback"]


def keep_feedback(
    connection: Connection, prefix: str, verdict: str, truth: str | None = None, owner: str | None = None
) -> tuple[store.RunRow, JudgedRun]:
    """Keep what became of a run, in the place of what was said before; the run, and what is learned.

    verdict: success, partial or failure. truth: the right answer, where it is short and known. Raises
    `NotFound`, and `UsageError` for a run without a decision and as `judge` does.
    """
    row = store.find(connection, prefix, owner)
    if row.result is None or row.status not in DECIDED:
        raise UsageError(f"run {row.id} is {row.status}: only a decision can be judged")
    judged = judge(row.result, verdict, truth)
    # An evaluation has no history: its arms would know what they are graded by.
    learner = LEARNER if row.owner == OWNER else row.owner
    kept.record(connection, row.id, learner, now(), judged)
    return row, judged


def judgement(run_id: str, judged: JudgedRun) -> dict[str, Any]:
    """The judgement as JSON. seats: what each said alone. answers: by model, the last seat of each."""
    return {
        "run_id": run_id,
        "result": judged.result,
        "gold": judged.gold,
        "answers": dict(judged.answers),
        "seats": [{"model": model, "answer": answer} for model, answer in judged.answers],
    }
