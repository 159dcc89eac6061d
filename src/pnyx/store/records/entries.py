"""The rows of events, as functions of a connection."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select

from ...core.documents import check, stamp
from ...core.events import Event, from_json, to_json
from ...errors import Unreadable
from ..documents.contents import RunContents, pack_all
from ..documents.conversion import read_unpacked
from ..documents.unpacking import Texts, unpack_each
from ..prepared import Prepared
from ..schema import events

__all__ = [
    "EVENT_COLUMNS",
    "FOLLOWED_CHARS",
    "PAGE",
    "PAGE_CHARS",
    "PROMPTS",
    "WHOLE_PAGE",
    "Page",
    "add_event_rows",
    "event_rows",
    "log",
    "logs",
]

PAGE = 50
"""Events that a follower reads at once: others may go on between two pages. They wait in memory for a client
that does not read."""
WHOLE_PAGE = 1000
"""Events that one who reads a whole run reads at once, if they have no more than `PAGE_CHARS`."""
PAGE_CHARS = 4_000_000
"""Characters of the texts of a page: 50 prompts may be 2 MB each."""
FOLLOWED_CHARS = 250_000
"""The same for a follower: each of many that do not read has a page in memory."""
FIRST = 10
"""Events of a page whose texts are read first: if they are long, there may be no room for more."""
PROMPTS = ("prompt", "system")
"""The texts of an event that are long, and that few readers need."""


class Page(list[Event]):
    """Stored events of a run, in order. has_more: whether others follow that were left out."""

    has_more = False


def event_rows(
    connection: Connection, units: Sequence[tuple[str, int, Sequence[Event], RunContents | None]]
) -> list[dict[str, Any]]:
    """Return the rows of new events, and store their long texts.

    units: the id of a run, its new events, the number of the last of them, and `used` as in `pack`.
    """
    documents = [
        [
            stamp(to_json(item) | {"run_id": run_id, "seq": seq})
            for seq, item in enumerate(batch, last - len(batch) + 1)
        ]
        for run_id, last, batch, _ in units
    ]
    wanted = [(unit[0], of_unit, unit[3]) for unit, of_unit in zip(units, documents, strict=True)]
    return [
        {
            "run_id": document["run_id"],
            "seq": document["seq"],
            "type": item.type,
            "body": "",
            "packed": stored,
        }
        for unit, of_unit, packed in zip(units, documents, pack_all(connection, wanted), strict=True)
        for item, document, stored in zip(unit[2], of_unit, packed, strict=True)
    ]


def add_event_rows(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        _ADD(connection, *rows)


def log(
    connection: Connection,
    run_id: str,
    after: int = 0,
    limit: int | None = None,
    prompts: bool = True,
    only: Collection[str] = (),
    newest: int | None = None,
    most_chars: int | None = None,
) -> Page:
    """Return the stored events of a run with a `seq` greater than `after`, in order. Raises `Unreadable`.

    limit: at most so many, the first, and at most about `most_chars` of text (default: `PAGE_CHARS`), but at
    least one; newest: the last. only: those of these types; empty: of all. prompts: False reads no long
    prompts; `prompt` and `system` are "" then.
    """
    query = select(*_STORED).where(events.c.run_id == run_id, events.c.seq > after)
    if only:
        query = query.where(events.c.type.in_(only))
    order = events.c.seq if newest is None else events.c.seq.desc()
    most = newest if limit is None else limit + 1
    rows = connection.execute(query.order_by(order).limit(most)).all()
    if limit is None:
        in_order = rows if newest is None else rows[::-1]
        return Page(_event(run_id, one) for one in _documents(connection, in_order, prompts))
    page, chars, texts = Page(), 0, Texts()
    most_chars, first = (PAGE_CHARS, PAGE) if most_chars is None else (most_chars, FIRST)
    starts = (0, *range(first, min(len(rows), limit), PAGE))
    for start, end in zip(starts, (*starts[1:], limit), strict=True):
        for document in _documents(connection, rows[start:end], prompts, texts):
            chars += sum(len(one) for one in document.values() if isinstance(one, str))
            if page and chars > most_chars:
                page.has_more = True
                return page
            page.append(_event(run_id, document))
    page.has_more = len(rows) > limit
    return page


def logs(connection: Connection, run_ids: Sequence[str]) -> Mapping[str, Sequence[Event]]:
    """Return run id -> all stored events without long prompts. Raises `Unreadable`."""
    query = select(*_STORED).where(events.c.run_id.in_(run_ids)).order_by(events.c.run_id, events.c.seq)
    rows = connection.execute(query).all()
    found: dict[str, list[Event]] = {run_id: [] for run_id in run_ids}
    for row, document in zip(rows, _documents(connection, rows, False), strict=True):
        found[row.run_id].append(_event(row.run_id, document))
    return found


def _documents(
    connection: Connection, rows: Sequence[Any], prompts: bool, texts: Texts | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the events of these rows as JSON, each made when it is its turn. texts: as in `unpack_each`."""
    stored = [(row, f"event {row.seq} of run {row.run_id}") for row in rows]
    packed = [(row.packed, what) for row, what in stored if row.packed is not None]
    found = unpack_each(connection, packed, () if prompts else PROMPTS, texts)
    for row, what in stored:
        # Without packed form, it is an event of an earlier version that is not converted yet.
        yield read_unpacked(connection, row.body, what) if row.packed is None else check(next(found), what)


def _event(run_id: str, document: Mapping[str, Any]) -> Event:
    try:
        return from_json(document)
    except Unreadable as exc:
        raise Unreadable(f"run {run_id}: {exc}") from exc


_STORED = (events.c.run_id, events.c.seq, events.c.body, events.c.packed)
EVENT_COLUMNS = {"run_id": "TEXT", "seq": "INTEGER", "type": "TEXT", "body": "TEXT", "packed": "BYTEA"}
"""The columns of an event and their types on PostgreSQL."""
_ADD = Prepared(insert(events))
