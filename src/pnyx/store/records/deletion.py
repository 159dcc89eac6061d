"""The deletion of runs, as functions of a connection.

What a run said goes: its row, events, texts, labels and words. What it cost and how it was judged stays:
`store.money.costs`, the ledger of days, keys and batches, and `store.records.outcomes`, from which later runs
learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, select

from ...errors import Running
from ..documents.contents import free_contents
from ..schema import events, holds, labels, ledger, runs, shares
from . import runs as store
from . import word_index

__all__ = ["delete_run", "delete_runs"]


def delete_run(
    connection: Connection, prefix: str, owner: str | None, is_active: Callable[[store.RunRow], bool]
) -> store.RunRow:
    """Delete a run for good, and return its row. prefix, owner: as for `store.find`.

    is_active: whether a process runs it, or a worker will. Raises `NotFound`; `Running` if it is active.
    """
    row = store.find(connection, prefix, owner)
    # Another process may take it up: on PostgreSQL, the lock decides who is first.
    connection.execute(select(runs.c.id).where(runs.c.id == row.id).with_for_update()).all()
    row = store.find(connection, row.id)
    if is_active(row):
        why = f"run {row.id} is still running. Cancel it first: pnyx cancel {row.id}"
        raise Running(row.id, why)
    delete_runs(connection, [row.id])
    return row


def delete_runs(connection: Connection, ids: Sequence[str]) -> None:
    """Delete runs, of which none is active."""
    if not ids:
        return
    word_index.remove(connection, ids)
    tables: tuple[tuple[Any, Sequence[str]], ...] = (
        *(
            (column, ids)
            for column in (events.c.run_id, holds.c.run_id, labels.c.run_id, shares.c.run_id, runs.c.id)
        ),
        (ledger.c.scope, [f"run:{run_id}" for run_id in ids]),
    )
    free_contents(connection, ids)
    for column, values in tables:
        connection.execute(delete(column.table).where(column.in_(values)))
