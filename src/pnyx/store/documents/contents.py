"""Texts and images, each stored once under its SHA-256, whatever number of runs and prompts has it.

Documents are packed with the numbers of their texts (`store.documents.packing`). `content_uses` says which
runs use a content; one that no run uses is deleted. The parts of a very long list of parts are contents too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, text

from ..advisory_locks import AdvisoryLock
from ..prepared import Prepared, driver_of
from ..schema import content_uses, contents
from .packing import (
    Parts,
    Piece,
    compress,
    cut,
    dump,
    to_column,
)

__all__ = [
    "LIST",
    "SHARED_LOCK",
    "RunContents",
    "add_contents",
    "free_contents",
    "note_lock",
    "pack",
    "pack_all",
    "pack_column",
]

GROUP = 16
"""Parts that are stored together if a text has many: prompts of one run begin alike."""
LIST = b"\0"
"""What the stored list of parts begins with, and no frame of zstd does."""
BATCH = 500
"""Contents that one statement deletes: SQLite allows 999 parameters in old versions."""
_LOCK = AdvisoryLock.CONTENTS
SHARED_LOCK = f"pg_advisory_xact_lock_shared({_LOCK})"
LARGE = 20_000
"""Characters from which a text is looked up before it is sent to PostgreSQL."""


def add_contents(connection: Connection, run_id: str, found: Mapping[str, str]) -> None:
    """Store the contents of a run's files. found: SHA-256 in hex -> text, or an image in Base64."""
    sources = {bytes.fromhex(name): _Source(_compressed, text) for name, text in found.items()}
    _numbers(connection, [_Needed(run_id, sources)])


def free_contents(connection: Connection, run_ids: Sequence[str]) -> int:
    """Forget that these runs use contents, and delete those that no run uses then.

    Belongs into the transaction that deletes the runs. Returns the bytes of the deleted contents.
    """
    if connection.dialect.name == "postgresql":
        # A writer that has just found a content would otherwise name one that is gone.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    used = select(content_uses.c.content_id).where(content_uses.c.run_id.in_(run_ids))
    ids = list(connection.execute(used.distinct()).scalars())
    connection.execute(delete(content_uses).where(content_uses.c.run_id.in_(run_ids)))
    is_used = select(content_uses.c.content_id).where(content_uses.c.content_id == contents.c.id).exists()
    freed = 0
    for start in range(0, len(ids), BATCH):
        unused = contents.c.id.in_(ids[start : start + BATCH]) & ~is_used
        deleted = delete(contents).where(unused).returning(contents.c.content)
        freed += sum(len(content) for content in connection.execute(deleted).scalars())
    return freed


class RunContents:
    """The contents that a run uses, as far as its process knows: they are neither looked up nor noted again.

    A run keeps them while it is under way: they are deleted with its row, which every write of the run needs.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, int] = {}
        self._pending: dict[bytes, int] = {}
        self._transaction: object = None

    def begin(self, connection: Connection) -> None:
        """Note that a write of the run begins. Others may have written before it in the same transaction."""
        transaction = connection.get_transaction()
        if transaction is not self._transaction:
            self._transaction, self._pending = transaction, {}  # the one before was rolled back

    def keep(self) -> None:
        """Note that the transaction of the last write is committed."""
        self._kept.update(self._pending)
        self._transaction, self._pending = None, {}

    def number(self, name: bytes) -> int | None:
        """Return the number of the content with this SHA-256, or None if the run is not known to use it."""
        return self._kept.get(name) or self._pending.get(name)

    def add(self, ids: Mapping[bytes, int]) -> None:
        """Add contents that this transaction has noted, by SHA-256."""
        self._pending.update(ids)


def pack(
    connection: Connection, run_id: str, values: Sequence[Any], used: RunContents | None = None
) -> list[bytes]:
    """Return the stored form of JSON values of a run, and store their long texts that are not stored yet.

    used: contents that the run is known to use; those that are new are added.
    """
    return pack_all(connection, [(run_id, values, used)])[0]


def pack_all(
    connection: Connection, wanted: Sequence[tuple[str, Sequence[Any], RunContents | None]]
) -> list[list[bytes]]:
    """As `pack`, for several runs. wanted: the arguments of `pack` for each."""
    hashes: dict[str, bytes] = {}
    cuts: list[tuple[list[Any], list[Parts]]] = []
    needed: list[_Needed] = []
    for run_id, values, used in wanted:
        found: list[Parts] = []
        cuts.append(([cut(value, found) for value in values], found))
        texts = {part: None for parts in found for part in parts.parts if isinstance(part, Piece)}
        for part in texts:
            if part not in hashes:
                hashes[part] = sha256(part.encode("utf-8", "surrogatepass")).digest()
        sources = {hashes[part]: _Source(_compressed, part) for part in texts}
        needed.append(_Needed(run_id, sources, used))
    ids = _numbers(connection, needed)
    for (run_id, _, used), (_, found) in zip(wanted, cuts, strict=True):
        for parts in found:
            numbered = [ids[hashes[part]] if isinstance(part, Piece) else part for part in parts.parts]
            parts.parts[:] = _in_groups(connection, run_id, numbered, used)
    return [[dump(value) for value in values] for values, _ in cuts]


def pack_column(connection: Connection, run_id: str, value: Any) -> str:
    """Return the stored form of a JSON value in a column of text."""
    return to_column(pack(connection, run_id, [value])[0])


class _Source(NamedTuple):
    """What a content is made of. encode: returns what is stored of `text`."""

    encode: Callable[[Any], bytes]
    text: str | bytes

    def stored(self) -> bytes:
        return self.encode(self.text)


class _Needed(NamedTuple):
    """Contents that a run uses now, by SHA-256. used: those that it is known to use."""

    run_id: str
    found: Mapping[bytes, _Source]
    used: RunContents | None = None


def _numbers(connection: Connection, needed: Sequence[_Needed]) -> dict[bytes, int]:
    """Return the numbers of contents that runs use now, by SHA-256; store those that are new."""
    ids: dict[bytes, int] = {}
    sources: dict[bytes, _Source] = {}
    uses: dict[tuple[bytes, str], None] = {}
    for run_id, found, used in needed:
        for name, source in found.items():
            id = None if used is None else used.number(name)
            if id is None:
                sources[name] = source
                uses[name, run_id] = None
            else:
                ids[name] = id
    if not sources:
        return ids
    # In one order in every transaction: PostgreSQL locks what two of them insert.
    in_order = sorted(uses)
    if connection.dialect.name == "sqlite":
        new = _note_in_sqlite(connection, in_order, sources)
    else:
        new = _note_in_postgresql(connection, in_order, sources)
    for _, found, used in needed:
        if used is not None:
            used.add({name: new[name] for name in found if name in new})
    return ids | new


def note_lock(connection: Connection) -> None:
    """Note that this transaction has the lock of `SHARED_LOCK`, which lasts as long."""
    connection.info[_LOCK] = connection.get_transaction()


def _note_in_postgresql(
    connection: Connection, uses: Sequence[tuple[bytes, str]], sources: Mapping[bytes, _Source]
) -> dict[bytes, int]:
    """Return the numbers of contents, stored if they are new, and note which runs use them.

    uses: SHA-256 and the id of a run.
    """
    if connection.info.get(_LOCK) is not connection.get_transaction():
        connection.exec_driver_sql(f"SELECT {SHARED_LOCK}")
        note_lock(connection)
    ids: dict[bytes, int] = {}
    large = [name for name, source in sources.items() if len(source.text) > LARGE]
    if large:
        # To compress and send them for nothing would take longer than to ask.
        query = select(contents.c.sha256, contents.c.id).where(contents.c.sha256.in_(large))
        ids = _ids(connection.execute(query))
    stored = {name: source.stored() for name, source in sources.items() if name not in ids}
    ids = {}
    while missing := [use for use in uses if use[0] not in ids]:
        # Once more for what another transaction has stored since the statement began, which does not see it.
        new = [name for name in dict.fromkeys(name for name, _ in missing) if name in stored]
        values = {
            "new": new,
            "contents": [stored[name] for name in new],
            "names": [name for name, _ in missing],
            "runs": [run_id for _, run_id in missing],
        }
        ids |= _ids(_NOTE(connection, values))
    return ids


def _ids(rows: Iterable[Any]) -> dict[bytes, int]:
    return {bytes(row.sha256): int(row.id) for row in rows}


def _note_in_sqlite(
    connection: Connection, uses: Sequence[tuple[bytes, str]], sources: Mapping[bytes, _Source]
) -> dict[bytes, int]:
    # Straight to the driver, as `store.prepared` does: these are the most frequent statements of all.
    driver, ids = driver_of(connection), {}
    for name in sorted(sources):
        row = driver.execute("SELECT id FROM contents WHERE sha256 = ?", (name,)).fetchone()
        if row is None:
            values = (name, sources[name].stored())
            added = driver.execute("INSERT INTO contents (sha256, content) VALUES (?, ?)", values)
            ids[name] = int(added.lastrowid or 0)
        else:
            ids[name] = int(row[0])
    driver.executemany(
        "INSERT OR IGNORE INTO content_uses (content_id, run_id) VALUES (?, ?)",
        [(ids[name], run_id) for name, run_id in uses],
    )
    return ids


def _in_groups(
    connection: Connection, run_id: str, parts: Sequence[str | int], used: RunContents | None
) -> list[str | int]:
    """The parts of a text; many of them in groups, which are contents too."""
    out = list(parts)
    while len(out) > 2 * GROUP:
        groups = [out[start : start + GROUP] for start in range(0, len(out), GROUP)]
        rest = groups.pop() if len(groups[-1]) < GROUP else []
        stored = [
            LIST + json.dumps(group, ensure_ascii=False).encode("utf-8", "surrogatepass") for group in groups
        ]
        hashes = [sha256(one).digest() for one in stored]
        sources = {name: _Source(_grouped, one) for name, one in zip(hashes, stored, strict=True)}
        ids = _numbers(connection, [_Needed(run_id, sources, used)])
        out = [*(ids[name] for name in hashes), *rest]
    return out


def _compressed(text: str) -> bytes:
    return compress(text.encode("utf-8", "surrogatepass"))


def _grouped(stored: bytes) -> bytes:
    return LIST + compress(stored[len(LIST) :])


_NOTE = Prepared(
    text(
        "WITH added AS (INSERT INTO contents (sha256, content) "
        "SELECT * FROM unnest(CAST(:new AS BYTEA[]), CAST(:contents AS BYTEA[])) "
        "ON CONFLICT DO NOTHING RETURNING sha256, id), "
        "found AS (SELECT sha256, id FROM added UNION ALL "
        "SELECT sha256, id FROM contents WHERE sha256 = ANY(CAST(:names AS BYTEA[]))), "
        "noted AS (INSERT INTO content_uses (content_id, run_id) SELECT found.id, these.run_id FROM found "
        "JOIN unnest(CAST(:names AS BYTEA[]), CAST(:runs AS TEXT[])) AS these (sha256, run_id) "
        "ON these.sha256 = found.sha256 ON CONFLICT DO NOTHING) SELECT sha256, id FROM found"
    )
)
"""Stores contents, and notes which runs use them. The rows that are added are not seen by `contents`."""
