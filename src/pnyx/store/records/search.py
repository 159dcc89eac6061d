"""Recall: full-text search in the question, answer and dissent of runs.

`store.records.word_index` has the words. The passages of the runs that were found are looked for here: the
database only says which of their words have the stem of a word of the query.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from ...core.prose.search_terms import Snippet, folded, query_terms, snippet
from . import runs as store
from .word_index import SQLITE_INDEX, outcome

__all__ = ["Hit", "Hits", "Place", "search"]

BEST = 400
"""On SQLite, best rows that are looked up in `runs`, beside twice as many as are wanted."""
RANKED = 2000
"""On PostgreSQL, runs that are ranked together: the newest that match, and then older ones. Each takes it
about 20 µs."""
MANY = 10_000
"""On PostgreSQL, runs with the same words from which only so many of the newest runs are searched first."""


class Hit(NamedTuple):
    """A run that was found, with the passage that matches best."""

    row: store.RunRow
    snippet: Snippet


class Place(NamedTuple):
    """Where a page of hits begins. every: whether its runs have all words. skip: hits before it.

    before: on PostgreSQL, the time and id of a run: the hits are those of older runs.
    """

    every: bool
    skip: int = 0
    before: tuple[str, str] | None = None


class Hits(list[Hit]):
    """Hits, best first. every: whether they have all words. next: where the next page begins, or None."""

    every = True
    next: Place | None = None


class _Query(NamedTuple):
    """words: as `query_terms` returns them. owner, except_owner: as in `search`."""

    words: Sequence[str]
    limit: int
    owner: str | None
    except_owner: str | None


def search(
    connection: Connection,
    text: str,
    limit: int,
    owner: str | None = None,
    except_owner: str | None = None,
    place: Place | None = None,
) -> Hits:
    """Return the runs with all words of `text`, or else with any of them, best first.

    limit: at most so many, and at most about `LIST_CHARS` of text. owner: only this owner's runs.
    except_owner: not this owner's runs. place: `Hits.next` of the page before. Of runs with any of the words,
    PostgreSQL finds the newest `RANKED` with each word. Raises `UsageError` if `text` has no words.
    """
    query, found = _Query(query_terms(text), limit, owner, except_owner), Hits()
    find = _in_sqlite if connection.dialect.name == "sqlite" else _in_postgresql
    first = [Place(every) for every in (True, False)[: len(query.words)]]
    for start in first if place is None else [place]:
        if found := find(connection, query, start):
            found.every = start.every
            return found
    found.every = place is None or place.every
    return found


def _in_sqlite(connection: Connection, query: _Query, place: Place) -> Hits:
    # Words are letters, digits and spaces, so nothing in their quotes is syntax.
    words = (" AND " if place.every else " OR ").join(f'"{word}"' for word in query.words)
    # Most of the time goes into the runs of frequent words; only the best rows can be in the result.
    most = BEST + 2 * (place.skip + query.limit)
    wanted = {**query._asdict(), "query": words, "most": most, "limit": query.limit + 1, "skip": place.skip}
    ids = connection.execute(text(_AMONG_BEST), wanted).scalars().all()
    if len(ids) <= query.limit and len(connection.execute(text(_ANY), wanted).all()) > most:
        ids = connection.execute(text(_AMONG_ALL), wanted).scalars().all()
    rows = store.rows(connection, ids[: query.limit], store.LIST_CHARS)
    found = Hits(_hits(connection, query.words, rows))
    if len(rows) < len(ids):
        found.next = Place(place.every, place.skip + len(rows))
    return found


def _in_postgresql(connection: Connection, query: _Query, place: Place) -> Hits:
    found, start, full = Hits(), place, False
    while not full:
        # Of each word, if any may do, so that a frequent one hides no rare one.
        groups = [query.words] if start.every else [[word] for word in query.words]
        newest = [_newest(connection, group, query, start.before) for group in groups]
        ids = list(dict.fromkeys(row.id for rows, _ in newest for row in rows))
        wanted = query.limit - len(found)
        ranked = _ranked(connection, query.words, ids, start, wanted)
        rows = store.rows(connection, ranked, store.LIST_CHARS)
        found += _hits(connection, query.words, rows)
        last, more = newest[0]
        end = start.skip + len(rows)
        if end < len(ids):
            found.next = start._replace(skip=end)
        elif start.every and more:
            found.next = Place(True, 0, (last[-1].created_at, last[-1].id))
        else:
            found.next = None
        full = found.next is None or len(rows) == wanted or rows.has_more
        start = found.next or start
    return found


def _ranked(
    connection: Connection, words: Sequence[str], ids: Sequence[str], place: Place, limit: int
) -> Sequence[str]:
    """The best of the runs from the place on."""
    terms = [f"'{word}'" for word in words]
    wanted = {
        "ids": ids,
        "query": (" & " if place.every else " | ").join(terms),
        "terms": terms,
        "limit": limit,
        "skip": place.skip,
    }
    return connection.execute(text(_RANK), wanted).scalars().all() if ids else []


def _newest(
    connection: Connection, words: Sequence[str], query: _Query, before: tuple[str, str] | None
) -> tuple[Sequence[Any], bool]:
    """The newest runs with all of the words, at most `RANKED`, and whether there may be more."""
    time, id = before or ("", "")
    conditions = {
        "owner = :owner": query.owner is not None,
        "owner <> :except_owner": query.except_owner is not None,
        "created_at <= :time AND (created_at < :time OR id > :id)": before is not None,
    }
    chosen = " AND ".join(condition for condition, holds in conditions.items() if holds) or "true"
    wanted = {
        "owner": query.owner,
        "except_owner": query.except_owner,
        "time": time,
        "id": id,
        "query": " & ".join(f"'{word}'" for word in words),
        # A phrase is compared with every row that has its words.
        "alone": " & ".join(f"'{word}'" for phrase in words for word in phrase.split()),
        "many": MANY,
        "most": RANKED,
    }
    if connection.execute(text(_COUNT), wanted).scalar() == MANY:
        found = connection.execute(text(_AMONG_NEWEST.format(chosen)), wanted).all()
        if 2 * len(found) >= RANKED:
            return found, True
    found = connection.execute(text(_BY_WORDS.format(chosen)), wanted).all()
    return found, len(found) == RANKED


def _hits(connection: Connection, terms: Sequence[str], rows: Sequence[store.RunRow]) -> list[Hit]:
    """The hits of these rows. terms: as `query_terms` returns them."""
    texts = [outcome(row.result) for row in rows]
    places = _places(connection, terms, texts)
    # The question is shown beside the snippet, so a match in the answer is preferred.
    rest = [n for n, found in enumerate(places) if not found]
    questions = [rows[n].question for n in rest]
    for n, question, hits in zip(rest, questions, _places(connection, terms, questions), strict=True):
        texts[n], places[n] = question, hits
    found = zip(rows, map(snippet, texts, places), strict=True)
    return [Hit(row, passage) for row, passage in found]


def _places(connection: Connection, terms: Sequence[str], texts: Sequence[str]) -> list[set[int]]:
    """The numbers of the words in each text that match a term: all words of a phrase, one after the other."""
    words = [folded(text) for text in texts]
    phrases = [term.split() for term in terms]
    forms = _forms(connection, {word for phrase in phrases for word in phrase}, set().union(*words))
    # Of a phrase, its first word is looked for.
    firsts = set().union(*(forms[phrase[0]] for phrase in phrases))
    found = [[n for n, word in enumerate(line) if word in firsts] for line in words]
    wanted = [[forms[word] for word in phrase] for phrase in phrases]
    return [
        {
            n + k
            for n in starts
            for phrase in wanted
            if len(line) >= n + len(phrase) and all(line[n + k] in one for k, one in enumerate(phrase))
            for k in range(len(phrase))
        }
        for line, starts in zip(words, found, strict=True)
    ]


def _forms(connection: Connection, wanted: Collection[str], words: Collection[str]) -> Mapping[str, set[str]]:
    """Those of `words` with the same stem as each word in `wanted`, by the stemmer of the database."""
    forms: dict[str, set[str]] = {word: set() for word in wanted}
    pairs: Iterable[Any]
    if connection.dialect.name == "sqlite":
        every = [*wanted, *words]
        with closing(sqlite3.connect(":memory:")) as index:
            index.execute(SQLITE_INDEX.format(name="recall", more=""))
            index.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(recall, instance)")
            index.execute("INSERT INTO recall VALUES (?, '')", (" ".join(every),))
            pairs = [(every[a], every[b]) for a, b in index.execute(_STEMS_IN_SQLITE, (len(wanted),))]
    else:
        pairs = connection.execute(
            text(_STEMS_IN_POSTGRESQL), {"wanted": list(wanted), "words": list(words)}
        ).all()
    for word, form in pairs:
        forms[word].add(form)
    return forms


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
    ) {_NAMED} ORDER BY score, place DESC LIMIT :limit OFFSET :skip
    """
"""On SQLite, looks for the best runs among the best rows only. CROSS JOIN keeps the order."""
_AMONG_ALL = f"""
    SELECT run FROM (
        SELECT rowid AS place, bm25(recall, 2.5, 1.0) AS score FROM recall WHERE recall MATCH :query
    ) {_NAMED} ORDER BY score, place DESC LIMIT :limit OFFSET :skip
    """
_COUNT = """
    SELECT count(*) FROM (
        SELECT FROM recall WHERE words @@ to_tsquery('pnyx', :alone) LIMIT :many
    ) AS found
    """
_AMONG_NEWEST = """
    SELECT id, created_at
    FROM (SELECT id, created_at FROM runs WHERE {} ORDER BY created_at DESC, id LIMIT :many) AS newest
    CROSS JOIN LATERAL (SELECT words FROM recall WHERE run = newest.id OFFSET 0) AS its
    WHERE words @@ to_tsquery('pnyx', :query) ORDER BY created_at DESC, id LIMIT :most
    """
"""OFFSET 0: the rows of these runs are looked up, where the planner may go through all with the words."""
_BY_WORDS = """
    SELECT id, created_at FROM (
        SELECT run FROM recall WHERE words @@ to_tsquery('pnyx', :query) OFFSET 0
    ) AS matching JOIN runs ON id = run WHERE {} ORDER BY created_at DESC, id LIMIT :most
    """
"""OFFSET 0: rows are looked up by their words, where the planner would go through all runs by age."""
_RANK = """
    SELECT id FROM recall JOIN runs ON id = run, to_tsquery('pnyx', :query) AS query
    WHERE run = ANY(CAST(:ids AS text[]))
    ORDER BY (SELECT count(*) FROM unnest(CAST(:terms AS text[])) AS term
              WHERE words @@ to_tsquery('pnyx', term)) DESC,
             ts_rank_cd(words, query, 1) DESC, created_at DESC, id LIMIT :limit OFFSET :skip
    """
"""ts_rank_cd does not consider how rare a word is, so the number of different words counts first."""
_STEMS_IN_SQLITE = "SELECT a.offset, b.offset FROM stems AS a JOIN stems AS b USING (term) WHERE a.offset < ?"
_STEMS_IN_POSTGRESQL = """
    SELECT one.word, other.word
    FROM (SELECT word, to_tsvector('pnyx', word) AS stem FROM unnest(CAST(:wanted AS text[])) AS word) AS one
    JOIN (SELECT word, to_tsvector('pnyx', word) AS stem FROM unnest(CAST(:words AS text[])) AS word) AS other
    USING (stem) WHERE stem <> ''
    """
