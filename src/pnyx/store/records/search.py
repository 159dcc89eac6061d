"""Recall: full-text search in the question, answer and dissent of runs.

`store.records.word_index` has the words. On SQLite they are indexed but not stored: matches are marked in the
words of the runs that were found, in a table in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from ...core.prose.search_terms import Snippet, query_terms, snippet
from . import runs as store
from .word_index import SQLITE_INDEX, Words, outcome

__all__ = ["Hit", "search"]

BEST = 400
"""On SQLite, best rows that are looked up in `runs`, beside twice as many as are wanted."""
RANKED = 2000
"""On PostgreSQL, runs that are ranked: the newest that match. Each takes it about 20 µs."""
MANY = 10_000
"""On PostgreSQL, runs with the same words from which only so many of the newest runs are searched first."""


class Hit(NamedTuple):
    """A run that was found, with the passage that matches best."""

    row: store.RunRow
    snippet: Snippet


def search(
    connection: Connection,
    query: str,
    limit: int,
    owner: str | None = None,
    except_owner: str | None = None,
) -> tuple[list[Hit], bool]:
    """Return the runs with all words of `query`, or else with any of them, best first; and whether with all.

    limit: at most so many, and at most about `LIST_CHARS` of text. owner: only this owner's runs.
    except_owner: not this owner's runs. Raises `UsageError` if `query` has no
    words.
    """
    words, values = query_terms(query), {"limit": limit, "owner": owner, "except_owner": except_owner}
    find = _in_sqlite if connection.dialect.name == "sqlite" else _in_postgresql
    for every in (True, False)[: len(words)]:
        if found := find(connection, words, every, values):
            return found, every
    return [], True


def _in_sqlite(
    connection: Connection, words: Sequence[str], every: bool, values: Mapping[str, Any]
) -> list[Hit]:
    # Words are letters, digits and spaces, so nothing in their quotes is syntax.
    query = (" AND " if every else " OR ").join(f'"{word}"' for word in words)
    # Most of the time goes into the runs of frequent words; only the best rows can be in the result.
    most = BEST + 2 * values["limit"]
    filled = {**values, "query": query, "most": most}
    ids = connection.execute(text(_AMONG_BEST), filled).scalars().all()
    if len(ids) < values["limit"] and len(connection.execute(text(_ANY), filled).all()) > most:
        ids = connection.execute(text(_AMONG_ALL), filled).scalars().all()
    found = store.rows(connection, ids, store.LIST_CHARS)
    marked = _marked(query, [Words.of(row.question, row.result) for row in found]) if found else []
    return [_hit(row, marks) for row, marks in zip(found, marked, strict=True)]


def _marked(query: str, found: Sequence[Words]) -> list[Words]:
    """The words with those that match in < >. The index of all runs has no words, so these get one."""
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(SQLITE_INDEX.format(name="recall", more=""))
        index.executemany("INSERT INTO recall VALUES (?, ?)", found)
        marks = "SELECT rowid, highlight(recall, 0, '<', '>'), highlight(recall, 1, '<', '>')"
        rows = index.execute(f"{marks} FROM recall WHERE recall MATCH ?", (query,))
        marked = {number: Words(*texts) for number, *texts in rows}
    return [marked.get(number, words) for number, words in enumerate(found, 1)]


def _in_postgresql(
    connection: Connection, words: Sequence[str], every: bool, values: Mapping[str, Any]
) -> list[Hit]:
    quoted = [f"'{word}'" for word in words]
    query = (" & " if every else " | ").join(quoted)
    # Of each word, if any may do, so that a frequent one hides no rare one.
    groups = [words] if every else [[word] for word in words]
    ids = dict.fromkeys(id for group in groups for id in _newest(connection, group, values))
    filled = {"ids": list(ids), "query": query, "terms": quoted, "limit": values["limit"], "marks": _MARKS}
    marked = {id: Words(*marks) for id, *marks in connection.execute(text(_RANK), filled)}
    return [_hit(row, marked[row.id]) for row in store.rows(connection, list(marked), store.LIST_CHARS)]


def _newest(connection: Connection, words: Sequence[str], values: Mapping[str, Any]) -> Sequence[str]:
    """The newest runs with all of the words, at most `RANKED`, or as many as are wanted."""
    owners = {"owner": "runs.owner = :owner", "except_owner": "runs.owner <> :except_owner"}
    conditions = [condition for name, condition in owners.items() if values[name] is not None] or ["true"]
    filled = {
        **values,
        "query": " & ".join(f"'{word}'" for word in words),
        # A phrase is compared with every row that has its words.
        "alone": " & ".join(f"'{word}'" for phrase in words for word in phrase.split()),
        "many": MANY,
        "most": max(RANKED, values["limit"]),
    }
    found: Sequence[str] = ()
    for query in (_AMONG_NEWEST, _BY_WORDS):
        if query is _BY_WORDS or connection.execute(text(_COUNT), filled).scalar() == MANY:
            found = connection.execute(text(query.format(" AND ".join(conditions))), filled).scalars().all()
        if len(found) >= values["limit"]:
            break
    return found


def _hit(row: store.RunRow, marked: Words) -> Hit:
    """Return the hit of one row. marked: its words, matches in < >."""
    # The question is shown beside the snippet, so a match in the answer is preferred.
    if matches := _matches(marked.answer):
        return Hit(row, snippet(outcome(row.result), matches))
    return Hit(row, snippet(row.question, _matches(marked.question)))


def _matches(words: str) -> set[int]:
    """Return the positions of the marked words."""
    numbers, inside = set[int](), False
    if "<" not in words:
        return numbers
    for n, word in enumerate(words.split(" ")):
        inside = inside or word.startswith("<")
        if inside:
            numbers.add(n)
            inside = not word.endswith(">")
    return numbers


_ANY = "SELECT rowid FROM recall WHERE recall MATCH :query LIMIT :most + 1"
_OWNER = (
    "(CAST(:owner AS text) IS NULL OR runs.owner = :owner)"
    " AND (CAST(:except_owner AS text) IS NULL OR runs.owner <> :except_owner)"
)
_NAMED = f"CROSS JOIN recall_runs ON number = place CROSS JOIN runs ON runs.id = run WHERE {_OWNER}"
_AMONG_BEST = f"""
    SELECT run FROM (
        SELECT rowid AS place, bm25(recall, 2.5, 1.0) AS score
        FROM recall WHERE recall MATCH :query ORDER BY score, place DESC LIMIT :most
    ) {_NAMED} ORDER BY score, created_at DESC LIMIT :limit
    """
"""On SQLite, looks for the best runs among the best rows only. CROSS JOIN keeps the order."""
_AMONG_ALL = f"""
    SELECT run FROM (
        SELECT rowid AS place, bm25(recall, 2.5, 1.0) AS score FROM recall WHERE recall MATCH :query
    ) {_NAMED} ORDER BY score, created_at DESC LIMIT :limit
    """
_COUNT = """
    SELECT count(*) FROM (
        SELECT FROM recall WHERE words @@ to_tsquery('pnyx', :alone) LIMIT :many
    ) AS found
    """
_AMONG_NEWEST = """
    SELECT id FROM (SELECT id, created_at FROM runs WHERE {} ORDER BY created_at DESC LIMIT :many) AS newest
    CROSS JOIN LATERAL (SELECT words FROM recall WHERE run = newest.id OFFSET 0) AS its
    WHERE words @@ to_tsquery('pnyx', :query) ORDER BY created_at DESC LIMIT :most
    """
"""OFFSET 0: the rows of these runs are looked up, where the planner may go through all with the words."""
_BY_WORDS = """
    SELECT id FROM (
        SELECT run FROM recall WHERE words @@ to_tsquery('pnyx', :query) OFFSET 0
    ) AS matching JOIN runs ON id = run WHERE {} ORDER BY created_at DESC LIMIT :most
    """
"""OFFSET 0: rows are looked up by their words, where the planner would go through all runs by age."""
_RANK = """
    SELECT id, ts_headline('pnyx', question, query, :marks), ts_headline('pnyx', answer, query, :marks)
    FROM (
        SELECT id, created_at, recall.question, recall.answer, query, ts_rank_cd(words, query, 1) AS score,
               (SELECT count(*) FROM unnest(CAST(:terms AS text[])) AS term
                WHERE words @@ to_tsquery('pnyx', term)) AS present
        FROM recall JOIN runs ON id = run, to_tsquery('pnyx', :query) AS query
        WHERE run = ANY(CAST(:ids AS text[]))
        ORDER BY present DESC, score DESC, created_at DESC LIMIT :limit
    ) AS best
    ORDER BY present DESC, score DESC, created_at DESC
    """
"""ts_rank_cd does not consider how rare a word is, so the number of different words counts first."""
_MARKS = 'HighlightAll=true, StartSel="<", StopSel=">"'
