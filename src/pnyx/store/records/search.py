"""Recall: full-text search in the question, answer and dissent of runs.

The table `recall` has a row for each run: its question and its outcome, as words of `core.search_terms`.
On SQLite it is an FTS5 table; on PostgreSQL its column `words` is a tsvector. `store.records.runs` writes its
rows together with those of the runs. Why not triggers: design/store.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, TextClause, select, text

from ...core.documents import read
from ...core.search_terms import Snippet, fold_words, query_terms, snippet
from ...errors import Unreadable
from ..documents.contents import unpack_columns
from ..documents.packing import PACKED
from ..prepared import Prepared
from ..schema import runs

__all__ = ["Hit", "add", "add_all", "search", "update"]

BATCH_ROWS = 500
"""Rows in memory at a time."""
BEST = 20
"""On SQLite, best rows that are looked up in `runs`, for each run that is wanted."""
MOST_CHARS = 100_000
"""Characters of a question, and of an outcome, that a run is found by: a whole book is no name of a run."""


class Hit(NamedTuple):
    """A run that was found, with the passage that matches best."""

    run_id: str
    snippet: Snippet


def add(connection: Connection, *entries: tuple[str, str, Mapping[str, Any] | None]) -> None:
    """Index new runs. entries: (id, question, result)."""
    rows = [
        {
            "run": id,
            "question": _words(question),
            "answer": _words(_outcome(result)),
        }
        for id, question, result in entries
    ]
    _ADD(connection, *rows)


def update(connection: Connection, run_id: str, result: Mapping[str, Any] | None) -> None:
    """Index the new result of a run."""
    values = {"run": run_id, "answer": _words(_outcome(result)), "term": f'run : "{run_id}"'}
    _UPDATE[connection.dialect.name](connection, values)


def add_all(connection: Connection) -> None:
    """Index all runs, if none is indexed."""
    last, query = "", select(runs.c.id, runs.c.question, runs.c.result).order_by(runs.c.id).limit(BATCH_ROWS)
    while rows := connection.execute(query.where(runs.c.id > last)).all():
        add(connection, *((row.id, *_original(connection, row.question, row.result)) for row in rows))
        last = rows[-1].id


def _original(
    connection: Connection, question: str, result: str | None
) -> tuple[str, Mapping[str, Any] | None]:
    """The question and the result in the columns of a run; "" and None for what cannot be read."""
    try:
        asked, found = unpack_columns(connection, [(question, "a question"), (result, "a result")])
        return asked, read(found, "a result") if isinstance(found, str) else found
    except Unreadable:
        return "" if question.startswith(PACKED) else question, None


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
    for every in (True, False):
        if found := _rows(connection, words, every, values):
            return [
                _hit(id, *_original(connection, question, result), *marked)
                for id, question, result, *marked in found
            ], every
    return [], True


def _rows(
    connection: Connection, words: Sequence[str], every: bool, values: Mapping[str, Any]
) -> Sequence[Any]:
    statement, filled = _statement(connection.dialect.name, words, every, values)
    if connection.dialect.name == "sqlite":
        # Most of the time goes into the runs of frequent words; only the best rows can be in the result.
        most = BEST * values["limit"]
        found = connection.execute(text(_AMONG_BEST), {**filled, "most": most}).all()
        if len(found) == values["limit"]:
            return found
        if len(connection.execute(text(_ANY), {**filled, "most": most}).all()) <= most:
            return found
    return connection.execute(statement, filled).all()


def _statement(
    dialect: str, words: Sequence[str], every: bool, values: Mapping[str, Any]
) -> tuple[TextClause, Mapping[str, Any]]:
    # Words are letters, digits and spaces, so nothing in their quotes is syntax.
    if dialect == "sqlite":
        query = (" AND " if every else " OR ").join(f'"{word}"' for word in words)
        return text(_SEARCH[dialect]), {**values, "query": f"{{question answer}} : ({query})"}
    quoted = [f"'{word}'" for word in words]
    query = (" & " if every else " | ").join(quoted)
    return text(_SEARCH[dialect]), {**values, "query": query, "terms": quoted, "marks": _MARKS}


def _hit(run_id: str, original: str, result: Mapping[str, Any] | None, question: str, answer: str) -> Hit:
    """Return the hit of one row. original: the question. question, answer: indexed, matches in < >."""
    # The question is shown beside the snippet, so a match in the answer is preferred.
    if matches := _matches(answer):
        return Hit(run_id, snippet(_outcome(result), matches))
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


def _words(text: str) -> str:
    """What a text is found by."""
    return fold_words(text[:MOST_CHARS])


def _outcome(result: Mapping[str, Any] | None) -> str:
    """Return the text of a result: the answer, the final answer if it is not in it, and the dissent."""
    if result is None:
        return ""
    answer, final = result["answer"] or "", result["final_answer"] or ""
    parts = [answer, "" if final in answer else final, *(entry["text"] for entry in result["dissent"])]
    return "\n— ".join(filter(None, parts))


_ADD = Prepared(text("INSERT INTO recall (run, question, answer) VALUES (:run, :question, :answer)"))
_UPDATE = {
    # An FTS5 table has only the index of its words, and the id is one of them.
    "sqlite": Prepared(text("UPDATE recall SET answer = :answer WHERE recall MATCH :term AND run = :run")),
    "postgresql": Prepared(text("UPDATE recall SET answer = :answer WHERE run = :run")),
}
_ANY = "SELECT rowid FROM recall WHERE recall MATCH :query LIMIT :most + 1"
_OWNER = (
    "(CAST(:owner AS text) IS NULL OR runs.owner = :owner)"
    " AND (CAST(:except_owner AS text) IS NULL OR runs.owner <> :except_owner)"
)
_SEARCH = {
    # CROSS JOIN keeps the order, so that matches are marked only in the best rows.
    "sqlite": f"""
        SELECT id, original, result, highlight(recall, 1, '<', '>'), highlight(recall, 2, '<', '>')
        FROM (
            SELECT runs.id, runs.question AS original, runs.result, runs.created_at,
                   recall.rowid AS place, bm25(recall, 0.0, 2.5, 1.0) AS score
            FROM recall JOIN runs ON runs.id = recall.run
            WHERE recall MATCH :query AND {_OWNER}
            ORDER BY score, runs.created_at DESC LIMIT :limit
        ) CROSS JOIN recall
        WHERE recall MATCH :query AND recall.rowid = place
        ORDER BY score, created_at DESC
        """,
    # ts_rank_cd does not consider how rare a word is, so the number of different words counts first.
    "postgresql": f"""
        SELECT id, original, result,
               ts_headline('pnyx', question, query, :marks), ts_headline('pnyx', answer, query, :marks)
        FROM (
            SELECT runs.id, runs.question AS original, runs.result, runs.created_at,
                   recall.question, recall.answer, query, ts_rank_cd(words, query, 1) AS score,
                   (SELECT count(*) FROM unnest(CAST(:terms AS text[])) AS term
                    WHERE words @@ to_tsquery('pnyx', term)) AS present
            FROM recall JOIN runs ON runs.id = recall.run, to_tsquery('pnyx', :query) AS query
            WHERE words @@ query AND {_OWNER}
            ORDER BY present DESC, score DESC, runs.created_at DESC LIMIT :limit
        ) AS best
        ORDER BY present DESC, score DESC, created_at DESC
        """,
}
_AMONG_BEST = f"""
    SELECT id, original, result, highlight(recall, 1, '<', '>'), highlight(recall, 2, '<', '>')
    FROM (
        SELECT runs.id, runs.question AS original, runs.result, runs.created_at, place, score
        FROM (
            SELECT rowid AS place, bm25(recall, 0.0, 2.5, 1.0) AS score
            FROM recall WHERE recall MATCH :query ORDER BY score, place DESC LIMIT :most
        ) CROSS JOIN recall AS named ON named.rowid = place CROSS JOIN runs ON runs.id = named.run
        WHERE {_OWNER} ORDER BY score, runs.created_at DESC LIMIT :limit
    ) CROSS JOIN recall
    WHERE recall MATCH :query AND recall.rowid = place
    ORDER BY score, created_at DESC
    """
"""The statement of SQLite, which looks for the best runs among the best rows only."""
_MARKS = 'HighlightAll=true, StartSel="<", StopSel=">"'
