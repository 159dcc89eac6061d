"""Rows of what became of decisions: one for each run that somebody judged."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from ..core.documents import read
from ..core.text import replace_invalid
from ..errors import Unreadable
from .schema import outcomes, runs

if TYPE_CHECKING:
    from ..reliability.feedback import Judged

__all__ = ["forget_earlier", "history", "record", "version"]

MOST = 5000
"""Judged runs that are learned from, the newest."""


def record(connection: Connection, run_id: str, owner: str, time: str, judged: Judged) -> None:
    """Keep what is known of a run; a later judgement takes the place of an earlier one."""
    connection.execute(delete(outcomes).where(outcomes.c.run_id == run_id))
    # What a model answered may be no text, and must still be the same as what is right.
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
    }
    connection.execute(insert(outcomes), values)


def forget_earlier(connection: Connection, owner: str, latest: Collection[str]) -> None:
    """Forget what came of the runs of `owner` whose question one of the judged runs `latest` has put again.

    That is one of the same batch, and of the same protocol and options.
    """
    query = select(runs.c.id, runs.c.question, runs.c.protocol, runs.c.spec)
    found = connection.execute(query.join(outcomes).where(runs.c.owner == owner))
    asked = {row.id: (row.question, row.protocol, *_batch(row.spec)) for row in found}
    again = {asked[id] for id in latest}
    if earlier := [{"id": id} for id, what in asked.items() if what in again and id not in latest]:
        connection.execute(delete(outcomes).where(outcomes.c.run_id == bindparam("id")), earlier)


def _batch(spec: str) -> tuple[Any, str]:
    try:
        told = read(spec, "a run")
    except Unreadable:
        return None, spec  # like no other
    return told.get("batch"), json.dumps(told.get("options"), sort_keys=True)


def history(connection: Connection, owner: str) -> list[Judged]:
    """What was judged for `owner`, oldest first; beyond `MOST`, what became of its own runs comes first."""
    # Every run looks whether there is a history; only those that find one need what it is made of.
    from ..reliability.feedback import Judged

    query = (
        select(outcomes)
        .join(runs, runs.c.id == outcomes.c.run_id)
        .where(outcomes.c.owner == owner)
        # An evaluation grades thousands at once, which a person's word on real questions must outlast.
        .order_by(runs.c.owner != owner, outcomes.c.judged_at.desc(), outcomes.c.run_id)
        .limit(MOST)
    )
    return [
        Judged(
            row.protocol,
            row.result,
            row.raw,
            tuple((model, answer) for model, answer in json.loads(row.answers)),
            row.gold,
        )
        for row in sorted(connection.execute(query), key=lambda row: (row.judged_at, row.run_id))
    ]


def version(connection: Connection, owner: str) -> tuple[int, str]:
    """Changes whenever `history` does: how many were judged, and when the last one was."""
    query = select(func.count(), func.max(outcomes.c.judged_at)).where(outcomes.c.owner == owner)
    count, last = connection.execute(query).one()
    return int(count), last or ""
