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
from .word_index import SQLITE_INDEX, Words, originals, outcome

__all__ = ["Hit", "search"]

BEST = 20
"""On SQLite, best rows that are looked up in `runs`, for each run that is wanted."""


RANKED = 2000
"""On PostgreSQL, runs that are ranked: the newest that match. Each takes it about 20 µs."""


class Hit(NamedTuple):
    """A run that was found, with the passage that matches best."""

    run_id: str
    snippet: Snippet


def search(
    connection: Connection,
    query: str,
    limit: int,
    owner: str | None = None,
    except_owner: str | None = None,
) -> tuple[list[Hit], bool]:
    """Return the runs with all words of `query`, or else with any of them, best first; and whether with all.

    owner: only this owner's runs. except_owner: not this owner's runs. Raises `UsageError` if `query` has no
    words.
    """
    words, values = query_terms(query), {"limit": limit, "owner": owner, "except_owner": except_owner}
    find = _in_sqlite if connection.dialect.name == "sqlite" else _in_postgresql
    for every in (True, False):
        if found := find(connection, words, every, values):
            return found, every
    return [], True


def _in_sqlite(
    connection: Connection, words: Sequence[str], every: bool, values: Mapping[str, Any]
) -> list[Hit]:
    # Words are letters, digits and spaces, so nothing in their quotes is syntax.
    query = (" AND " if every else " OR ").join(f'"{word}"' for word in words)
    # Most of the time goes into the runs of frequent words; only the best rows can be in the result.
    most = BEST * values["limit"]
    filled = {**values, "query": query, "most": most}
    ids = connection.execute(text(_AMONG_BEST), filled).scalars().all()
    if len(ids) < values["limit"] and len(connection.execute(text(_ANY), filled).all()) > most:
        ids = connection.execute(text(_AMONG_ALL), filled).scalars().all()
    found = originals(connection, ids)
    marked = _marked(query, [Words.of(question, result) for _, question, result in found]) if found else []
    return [_hit(*one, *marks) for one, marks in zip(found, marked, strict=True)]


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
    filled = {
        **values,
        "query": query,
        "queries": [query] if every else quoted,
        "terms": quoted,
        "most": max(RANKED, values["limit"]),
        "marks": _MARKS,
    }
    rows = {id: marks for id, *marks in connection.execute(text(_POSTGRESQL), filled)}
    return [_hit(*one, *rows[one[0]]) for one in originals(connection, list(rows))]


def _hit(run_id: str, original: str, result: Mapping[str, Any] | None, question: str, answer: str) -> Hit:
    """Return the hit of one row. original: the question. question, answer: indexed, matches in < >."""
    # The question is shown beside the snippet, so a match in the answer is preferred.
    if matches := _matches(answer):
        return Hit(run_id, snippet(outcome(result), matches))
    return Hit(run_id, snippet(original, _matches(question)))


def _matches(words: str) -> set[int]:
    """Return the positions of the marked words."""
    numbers, inside = set(), False
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
_POSTGRESQL = f"""
    SELECT id, ts_headline('pnyx', question, query, :marks), ts_headline('pnyx', answer, query, :marks)
    FROM (
        SELECT newest.id, newest.created_at, recall.question, recall.answer, query,
               ts_rank_cd(words, query, 1) AS score,
               (SELECT count(*) FROM unnest(CAST(:terms AS text[])) AS term
                WHERE words @@ to_tsquery('pnyx', term)) AS present
        FROM (
            SELECT DISTINCT found.id, found.created_at
            FROM unnest(CAST(:queries AS text[])) AS one CROSS JOIN LATERAL (
                SELECT runs.id, runs.created_at
                FROM (SELECT run FROM recall WHERE words @@ to_tsquery('pnyx', one) OFFSET 0) AS matching
                JOIN runs ON runs.id = matching.run WHERE {_OWNER}
                ORDER BY runs.created_at DESC LIMIT :most
            ) AS found
        ) AS newest JOIN recall ON recall.run = newest.id, to_tsquery('pnyx', :query) AS query
        ORDER BY present DESC, score DESC, newest.created_at DESC LIMIT :limit
    ) AS best
    ORDER BY present DESC, score DESC, created_at DESC
    """
"""Ranks the newest runs that match: of each word, if any may do, so that a frequent one hides no rare one.

OFFSET 0: rows are looked up by their words, where the planner would go through all runs by age.
ts_rank_cd does not consider how rare a word is, so the number of different words counts first.
"""
_MARKS = 'HighlightAll=true, StartSel="<", StopSel=">"'
