"""What `store.documents.contents` stored, read again: documents with their texts, images, columns of rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, select, text

from ...errors import Unreadable
from ..prepared import Prepared, driver_of
from ..schema import contents
from .contents import LIST
from .packing import PACKED, Parts, damaged, decompress, fill, from_column, joined, load, without

__all__ = ["Texts", "read_contents", "unpack", "unpack_columns", "unpack_each"]

FEW = 50
"""Documents whose texts are read at once, however long they are."""
FETCHED_BYTES = 4_000_000
"""Compressed bytes of the texts of more documents that are read at once."""


class Texts(dict[int, str]):
    """Texts of contents by number. A text is decompressed when somebody first asks for it."""

    def __init__(self) -> None:
        super().__init__()
        self._stored: dict[int, bytes] = {}

    def __missing__(self, id: int) -> str:
        text = self[id] = _decoded(self._stored.pop(id), "a text")
        return text

    def fetch(self, connection: Connection, wanted: Iterable[int]) -> None:
        """Read the contents with these numbers, without those that are gone. Raises `Unreadable`."""
        groups: dict[int, Parts] = {}
        missing = self.unknown(wanted)
        while missing:
            found = _fetch(connection, "content", missing)
            nested: set[int] = set()
            for id, content in found.items():
                if not isinstance(content, bytes):
                    raise damaged("a text")
                if content.startswith(LIST):
                    groups[id] = Parts(json.loads(decompress(content[len(LIST) :], "a text")))
                    nested |= _numbers(groups[id])
                else:
                    self._stored[id] = content
            missing = self.unknown(nested) - groups.keys()
        # A group is made of older contents, and so has a larger number than its parts.
        for id in sorted(groups):
            if any(part >= id for part in _numbers(groups[id])):
                raise Unreadable("a text contains itself; restore the database from a backup")
            self[id] = joined(groups[id], self, "a text")

    def unknown(self, ids: Iterable[int]) -> set[int]:
        """Those of these numbers whose texts are not read yet."""
        return {id for id in ids if id not in self and id not in self._stored}


def read_contents(connection: Connection, wanted: Collection[str]) -> dict[str, str]:
    """Return the stored ones of the contents with these hashes in hex."""
    if not wanted:
        return {}
    names = {bytes.fromhex(name) for name in wanted}
    query = select(contents.c.sha256, contents.c.content).where(contents.c.sha256.in_(names))
    return {row.sha256.hex(): _decoded(row.content, "a file") for row in connection.execute(query)}


def unpack(connection: Connection, stored: Sequence[tuple[bytes, str]]) -> list[Any]:
    """Return the values of `pack`, see `unpack_each`."""
    return list(unpack_each(connection, stored))


def unpack_each(
    connection: Connection,
    stored: Sequence[tuple[bytes, str]],
    omit: Collection[str] = (),
    texts: Texts | None = None,
) -> Iterator[Any]:
    """Yield the values of `pack`. stored: each with its name in messages. Raises `Unreadable`.

    Texts are read for many values together, at most about `FETCHED_BYTES` ahead; each value is made of them
    when it is its turn. omit: names of long texts that are not read, and are "" then, if the value is an
    object. texts: contents that are read already; those that are read are added.
    """
    read = [(*load(packed, what), what) for packed, what in stored]
    if omit:
        for root, places, _ in read:
            places[:] = without(root, places, omit)
    wanted = [set[int]().union(*(_numbers(place.parts) for place in places)) for _, places, _ in read]
    ends = _ends(connection, wanted, Texts() if texts is None else texts)
    read.reverse()
    for n in range(len(wanted)):
        if n in ends:
            found = Texts() if texts is None else texts
            found.fetch(connection, set[int]().union(*wanted[n : ends[n]]))
        # So that no text is in memory for longer than its reader needs it.
        root, places, what = read.pop()
        fill(places, found, what)
        yield root.pop()


def _ends(connection: Connection, wanted: Sequence[set[int]], known: Texts) -> dict[int, int]:
    """Where documents begin whose texts are read together -> where they end. wanted: the texts of each."""
    start, total, ends = 0, 0, {0: len(wanted)}
    if len(wanted) > FEW:
        left = _fetch(connection, _SIZE, known.unknown(set[int]().union(*wanted)))
        for n, ids in enumerate(wanted):
            size = sum(left.pop(id, 0) for id in ids)
            if total and total + size > FETCHED_BYTES:
                ends |= {start: n, n: len(wanted)}
                start, total = n, 0
            total += size
    return ends


def unpack_columns(connection: Connection, columns: Iterable[tuple[str | None, str]]) -> Iterator[Any]:
    """Yield the values of columns of text that may be packed, each given with its name in messages.

    A column that is not packed is returned as it is. Raises `Unreadable` if one cannot be read.
    """
    pairs = list(columns)
    for value, what in pairs:
        if isinstance(value, bytes):
            raise damaged(what)
    packed = [(one, what) for one, what in pairs if one is not None and one.startswith(PACKED)]
    values = unpack_each(connection, [(from_column(one, what), what) for one, what in packed])
    for column, _ in pairs:
        yield next(values) if column is not None and column.startswith(PACKED) else column


def _numbers(parts: Parts) -> set[int]:
    return {part for part in parts.parts if isinstance(part, int)}


def _fetch(connection: Connection, column: str, ids: Iterable[int]) -> dict[int, Any]:
    """Return number -> column of `_COLUMNS` of the contents with these numbers."""
    ordered = sorted(ids)
    if connection.dialect.name == "sqlite":
        query = f"SELECT id, {column} FROM contents WHERE id IN (SELECT value FROM json_each(?))"
        return dict(driver_of(connection).execute(query, (json.dumps(ordered),)))
    return dict(map(tuple, _COLUMNS[column](connection, {"ids": ordered})))


def _decoded(content: bytes, what: str) -> str:
    return decompress(content, what).decode("utf-8", "surrogatepass")


_SIZE = "length(content)"
"""Of a large value, both databases know it without reading the value."""
_COLUMNS = {
    column: Prepared(text(f"SELECT id, {column} FROM contents WHERE id = ANY(CAST(:ids AS BIGINT[]))"))
    for column in ("content", _SIZE)
}
