"""Outcomes of runs, from feedback or from a labelled evaluation: one row per judged run."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, delete, func, insert, null, select

from ...core.text import replace_invalid
from ..schema import outcomes, runs
from .run_row import RunRow, read_rows

if TYPE_CHECKING:
    from ...reliability.feedback import JudgedRun

__all__ = ["forget", "forget_earlier", "history", "record", "version"]

HISTORY_LIMIT = 5000
"""The number of judged runs that `history` returns."""


def record(connection: Connection, run_id: str, owner: str, time: str, judged: JudgedRun) -> None:
    """Store the outcome of a run; a later one replaces an earlier one. owner: learns from it."""
    connection.execute(delete(outcomes).where(outcomes.c.run_id == run_id))
    # An answer may hold characters that no database stores. Cleaned alike, it still equals the gold answer.
    answers = [
        (model, None if answer is None else replace_invalid(answer)) for model, answer in judged.answers
    ]
    values = {
        "run_id": run_id,
        "owner": owner,
        "judged_at": time,
        "protocol": judged.protocol,
        "result": judged.result,
        "raw": judged.raw,
        "answers": json.dumps(answers),
        "gold": None if judged.gold is None else replace_invalid(judged.gold),
        "panel": json.dumps(judged.panel) if judged.panel else None,
        "rule": judged.rule,
        "run_owner": select(runs.c.owner).where(runs.c.id == run_id).scalar_subquery(),
    }
    connection.execute(insert(outcomes).values(values))


def forget(connection: Connection, run_id: str) -> None:
    """Delete the outcome of a run, if it has one."""
    connection.execute(delete(outcomes).where(outcomes.c.run_id == run_id))


def forget_earlier(connection: Connection, owner: str, latest: Collection[str]) -> None:
    """Delete the outcomes of runs of `owner` that the judged runs `latest` repeat.

    A run repeats another one with the same question, batch, protocol and options.
    """
    query = select(runs).join(outcomes, outcomes.c.run_id == runs.c.id).where(runs.c.owner == owner)
    found = read_rows(connection, connection.execute(query))
    requests = {row.id: (row.question, row.protocol, *_batch(row)) for row in found}
    repeated = {requests[id] for id in latest}
    earlier = [{"id": id} for id, request in requests.items() if request in repeated and id not in latest]
    if earlier:
        connection.execute(delete(outcomes).where(outcomes.c.run_id == bindparam("id")), earlier)


def _batch(row: RunRow) -> tuple[Any, str]:
    if row.problem is not None:
        return None, row.id  # equal to no other
    return row.spec.get("batch"), json.dumps(row.spec.get("options"), sort_keys=True)


def history(connection: Connection, owner: str, with_questions: bool = False) -> list[JudgedRun]:
    """Return the judged runs that `owner` learns from, oldest first.

    with_questions: set `JudgedRun.asked`, which reads every question. If there are more than `HISTORY_LIMIT`,
    the owner's own runs are preferred, then the newest.
    """
    # Every run looks for a history; only those that find one load what it is made of.
    from ...reliability.feedback import JudgedRun

    source = outcomes.outerjoin(runs, runs.c.id == outcomes.c.run_id) if with_questions else outcomes
    asked = runs.c.question if with_questions else null()
    query = (
        # A stored question is the same text for the same question, packed or not.
        select(outcomes, asked.label("asked"))
        .select_from(source)
        .where(outcomes.c.owner == owner)
        # An evaluation grades thousands at once; feedback on real questions must not be pushed out by it.
        .order_by(outcomes.c.run_owner != owner, outcomes.c.judged_at.desc(), outcomes.c.run_id)
        .limit(HISTORY_LIMIT)
    )
    found = []
    for row in sorted(connection.execute(query), key=lambda row: (str(row.judged_at), row.run_id)):
        try:
            answers = tuple((model, answer) for model, answer in json.loads(row.answers))
            panel = tuple(json.loads(row.panel)) if row.panel else ()
        except (ValueError, TypeError):
            continue  # one damaged row does not keep every later run from starting
        fields = row.protocol, row.result, row.raw, answers, row.gold, panel, row.rule, row.asked
        found.append(JudgedRun(*fields))
    return found


def version(connection: Connection, owner: str) -> tuple[int, str]:
    """Return a value that changes whenever `history` does: the number of outcomes, and the newest time."""
    query = select(func.count(), func.max(outcomes.c.judged_at)).where(outcomes.c.owner == owner)
    count, last = connection.execute(query).one()
    return int(count), last or ""
