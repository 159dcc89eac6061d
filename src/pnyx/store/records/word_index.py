"""The words that runs are found by, as functions of a connection; `store.records.search` searches them.

`store.records.runs` writes them together with the runs. On SQLite, the table `recall` is an index of FTS5
without the words themselves: it takes them again to forget a run. `recall_runs` has the number of each run in
it, and a checksum of its words. On PostgreSQL, `recall` has the words and their tsvector. Why not triggers:
design/store.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from sqlalchemy import Connection, select, text

from ...core.documents import read
from ...core.prose.search_terms import fold_words
from ...errors import Unreadable
from ..documents.packing import PACKED
from ..documents.unpacking import unpack_columns
from ..prepared import Prepared, driver_of
from ..schema import runs

__all__ = [
    "SQLITE_INDEX",
    "SQLITE_RUNS",
    "Words",
    "add",
    "add_missing",
    "originals",
    "outcome",
    "remove",
    "update",
]

BATCH_ROWS = 500
"""Rows in memory at a time."""
MOST_CHARS = 100_000
"""Characters of a question, and of an outcome, that a run is found by: a whole book is no name of a run."""
SQLITE_RUNS = (
    "CREATE TABLE recall_runs (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE,"
    " checksum INTEGER NOT NULL)"
)
"""No number is used twice."""
SQLITE_INDEX = "CREATE VIRTUAL TABLE {name} USING fts5(question, answer, tokenize = 'porter ascii'{more})"
"""Words are folded and separated by spaces; characters outside ASCII are parts of words."""


class Words(NamedTuple):
    """The folded words of a run's question and of its outcome."""

    question: str
    answer: str

    @classmethod
    def of(cls, question: str, result: Mapping[str, Any] | None) -> Words:
        """The words that a run with this question and result is found by."""
        return cls(fold_words(question[:MOST_CHARS]), fold_words(outcome(result)[:MOST_CHARS]))

    def checksum(self) -> int:
        return crc32("\0".join(self).encode("utf-8", "surrogatepass"))


def add(connection: Connection, *entries: tuple[str, str, Mapping[str, Any] | None]) -> None:
    """Index new runs. entries: (id, question, result)."""
    found = [(id, Words.of(question, result)) for id, question, result in entries]
    if connection.dialect.name == "sqlite":
        for id, words in found:
            _insert(connection, id, words)
    else:
        _ADD(connection, *({"run": id, **words._asdict()} for id, words in found))


def update(connection: Connection, run_id: str, result: Mapping[str, Any] | None) -> None:
    """Index the new result of a run, whose row still has the old one."""
    if connection.dialect.name == "sqlite":
        row = driver_of(connection).execute("SELECT question, result FROM runs WHERE id = ?", (run_id,))
        before = Words.of(*_original(connection, *row.fetchone()))
        after = Words(before.question, Words.of("", result).answer)
        if before != after:
            # Under a new number: should the index keep a word of the old result, it leads to no run.
            _remove(connection, run_id, before)
            _insert(connection, run_id, after)
    else:
        _UPDATE(connection, {"run": run_id, "answer": Words.of("", result).answer})


def remove(connection: Connection, ids: Sequence[str]) -> None:
    """Forget the words of runs, whose rows are still there."""
    if connection.dialect.name == "sqlite":
        for id, question, result in originals(connection, ids):
            _remove(connection, id, Words.of(question, result))
    else:
        for id in ids:
            _REMOVE(connection, {"run": id})


def add_missing(connection: Connection) -> None:
    """Index all runs that are not indexed."""
    indexed = text("SELECT run FROM recall_runs" if connection.dialect.name == "sqlite" else _INDEXED)
    known = set(connection.execute(indexed).scalars())
    ids = connection.execute(select(runs.c.id).order_by(runs.c.created_at)).scalars()
    missing = [id for id in ids if id not in known]
    for start in range(0, len(missing), BATCH_ROWS):
        add(connection, *originals(connection, missing[start : start + BATCH_ROWS]))


def originals(connection: Connection, ids: Sequence[str]) -> list[tuple[str, str, Mapping[str, Any] | None]]:
    """The id, question and result of each of these runs, in order; "" and None for what cannot be read."""
    query = select(runs.c.id, runs.c.question, runs.c.result).where(runs.c.id.in_(ids))
    found = {row.id: _original(connection, row.question, row.result) for row in connection.execute(query)}
    return [(id, *found[id]) for id in ids if id in found]


def _original(
    connection: Connection, question: Any, result: str | None
) -> tuple[str, Mapping[str, Any] | None]:
    try:
        question_text, found = unpack_columns(connection, [(question, "a question"), (result, "a result")])
        return question_text, read(found, "a result") if isinstance(found, str) else found
    except Unreadable:
        return "" if not isinstance(question, str) or question.startswith(PACKED) else question, None


def outcome(result: Mapping[str, Any] | None) -> str:
    """Return the text of a result: the answer, the final answer if it is not in it, and the dissent."""
    if result is None:
        return ""
    answer, final = _text(result, "answer"), _text(result, "final_answer")
    dissent = result.get("dissent")
    entries = dissent if isinstance(dissent, list) else []
    parts = [answer, "" if final in answer else final, *(_text(entry, "text") for entry in entries)]
    return "\n— ".join(filter(None, parts))


def _text(entry: Any, key: str) -> str:
    """What an object has under `key`, "" for none: one damaged result must not keep others from the index."""
    found = entry.get(key) if isinstance(entry, Mapping) else None
    return found if isinstance(found, str) else ""


def _insert(connection: Connection, run_id: str, words: Words) -> None:
    driver, row = driver_of(connection), (run_id, words.checksum())
    number = driver.execute("INSERT INTO recall_runs (run, checksum) VALUES (?, ?)", row).lastrowid
    driver.execute("INSERT INTO recall (rowid, question, answer) VALUES (?, ?, ?)", (number, *words))


def _remove(connection: Connection, run_id: str, words: Words) -> None:
    driver = driver_of(connection)
    forget = "DELETE FROM recall_runs WHERE run = ? RETURNING number, checksum"
    for number, checksum in driver.execute(forget, (run_id,)).fetchall():
        # Other words would damage the index. They are others if the run's result is damaged, or if characters
        # were folded by another version of Unicode: then the index keeps them, under a number of no run.
        if checksum == words.checksum():
            gone = "INSERT INTO recall (recall, rowid, question, answer) VALUES ('delete', ?, ?, ?)"
            driver.execute(gone, (number, *words))


_ADD = Prepared(text("INSERT INTO recall (run, question, answer) VALUES (:run, :question, :answer)"))
_UPDATE = Prepared(text("UPDATE recall SET answer = :answer WHERE run = :run"))
_REMOVE = Prepared(text("DELETE FROM recall WHERE run = :run"))
_INDEXED = "SELECT run FROM recall"
"""On PostgreSQL."""
