"""A run's row, and how its columns hold texts."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from ...core.documents import STAMP, check, read, stamp
from ...errors import Unreadable
from ..documents.contents import pack_column
from ..documents.packing import PACKED
from ..documents.unpacking import unpack_columns

__all__ = ["RunRow", "pack_columns", "pack_texts", "read_rows"]

LONG_QUESTION = 1000
"""Characters from which the question in a run's row is packed."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run's row. spec and result are the parsed JSON; in lists, the spec of a run that is over is empty.

    worker: the process that writes it; None with the status "running" means: the next worker takes it.
    heartbeat_at, first_taken_at: of its process, and of the first worker that took it since its owner started
    or resumed it. read_at: when the row was read. All three are seconds by the database's clock.
    lost_workers: how many workers ended while they had it, since its owner started or resumed it. held_back:
    of a waiting run, why a worker could not take it; of a paused one, why no worker starts it again.
    conversation: the id of its conversation, as in its spec. problem: why spec or result cannot be read, and
    are empty; see `check`.
    """

    id: str
    owner: str
    epoch: int
    seq: int
    status: str
    stop: str | None
    worker: str | None
    heartbeat_at: float | None
    created_at: str
    updated_at: str
    protocol: str
    question: str
    spec: Mapping[str, Any]
    result: Mapping[str, Any] | None
    forked_from: str | None
    conversation: str | None = None
    lost_workers: int = 0
    first_taken_at: float | None = None
    held_back: str | None = None
    read_at: float = field(default=0.0, compare=False)
    problem: str | None = None

    @property
    def chars(self) -> int:
        """About the characters of the texts that a list shows of it."""
        # In a tenth of the time that a walk through the result takes.
        return len(marshal.dumps(dict(self.result))) if self.result else len(self.question)

    def check(self) -> RunRow:
        """The row. Raises `Unreadable` if its spec or result cannot be read."""
        if self.problem is not None:
            raise Unreadable(self.problem)
        return self

    @classmethod
    def new(
        cls,
        id: str,
        owner: str,
        time: str,
        protocol: str,
        question: str,
        spec: Mapping[str, Any],
        *,
        worker: str | None = None,
        heartbeat_at: float | None = None,
        forked_from: str | None = None,
    ) -> RunRow:
        """Return the row of a new run: first epoch, no events."""
        return cls(
            id=id,
            owner=owner,
            epoch=1,
            seq=0,
            status="running",
            stop=None,
            worker=worker,
            heartbeat_at=heartbeat_at,
            created_at=time,
            updated_at=time,
            protocol=protocol,
            question=question,
            spec=spec,
            result=None,
            forked_from=forked_from,
            conversation=spec.get("conversation"),
        )


def pack_columns(connection: Connection, run_id: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored form of those of a run's columns that hold texts: question, spec, result."""
    documents = {name: columns[name] for name in ("spec", "result") if name in columns}
    stamped = {name: None if one is None else stamp(one) for name, one in documents.items()}
    return pack_texts(connection, run_id, {**columns, **stamped})


def pack_texts(connection: Connection, run_id: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """As `pack_columns`, for documents that are stamped already."""
    out: dict[str, Any] = {}
    for name, value in columns.items():
        if name in ("spec", "result"):
            out[name] = None if value is None else pack_column(connection, run_id, value)
        elif name == "question" and (len(value) > LONG_QUESTION or value.startswith(PACKED)):
            out[name] = pack_column(connection, run_id, value)
    return out


def read_rows(connection: Connection, found: Iterable[Any]) -> Iterator[RunRow]:
    """Yield the rows with what their columns hold packed, whose texts are read as they are needed."""
    rows, read = list(found), 0
    try:
        for row in _readable_rows(connection, rows):
            yield row
            read += 1
    except Unreadable as exc:
        if len(rest := rows[read:]) == 1:
            yield _row(rest[0], "", {}, None, str(exc))
        else:
            # All others can be read: the half without the damaged one is read together.
            for half in (rest[: len(rest) // 2], rest[len(rest) // 2 :]):
                yield from read_rows(connection, half)


def _readable_rows(connection: Connection, rows: Sequence[Any]) -> Iterator[RunRow]:
    columns = [
        (text, what)
        for row in rows
        for text, what in (
            (row.question, f"the question of run {row.id}"),
            (row.spec, f"run {row.id}"),
            (row.result, f"the result of run {row.id}"),
        )
    ]
    values = unpack_columns(connection, columns)
    for row in rows:
        yield _readable_row(row, next(values), next(values), next(values))


def _readable_row(row: Any, question: str, spec: Any, result: Any) -> RunRow:
    try:
        spec = {} if spec is None else _document(spec, f"run {row.id}")
        found = None if result is None else _document(result, f"the result of run {row.id}")
    except Unreadable as exc:
        # One row does not keep the others from being listed.
        return _row(row, question, {}, None, str(exc))
    # It is the object of the contract, which has no stamp.
    plain = None if found is None else {name: value for name, value in found.items() if name not in STAMP}
    return _row(row, question, spec, plain)


def _document(value: Any, what: str) -> dict[str, Any]:
    """A document that was packed, or the JSON of an earlier version."""
    return read(value, what) if isinstance(value, str) else check(value, what)


def _row(row: Any, question: str, spec: Any, result: Any, problem: str | None = None) -> RunRow:
    values = dict(row._mapping)
    return RunRow(**values | {"question": question, "spec": spec, "result": result, "problem": problem})
