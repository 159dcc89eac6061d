"""Recall: the runs whose question, answer or dissent has certain words.

The table `recall` has a row for each run: what was asked, and what came of it, as `core.search_terms` reads
them. On SQLite it is an FTS5 table; on PostgreSQL its column `words` is a tsvector. Its rows are written
with those of the runs, by `store.runs`. Why it is not left to triggers: design/store.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, TextClause, select, text

from ..core.documents import read
from ..core.search_terms import Snippet, fold_words, query_terms, snippet
from ..errors import Unreadable
from .prepared import Prepared
from .schema import runs

__all__ = ["Hit", "add", "add_all", "search", "update"]

AT_ONCE = 500
"""Rows in memory at a time."""


class Hit(NamedTuple):
    """A run that was found, and the part of its texts that most of what was looked for is in."""

    run_id: str
    snippet: Snippet


def add(connection: Connection, *told: tuple[str, str, Mapping[str, Any] | None]) -> None:
    """Make runs known that are not yet: the id, question and result of each."""
    rows = [
        {"run": id, "question": fold_words(asked), "answer": fold_words(_outcome(result))}
        for id, asked, result in told
    ]
    _ADD(connection, *rows)


def update(connection: Connection, run_id: str, result: Mapping[str, Any] | None) -> None:
    """What came of a run is now `result`."""
    values = {"run": run_id, "answer": fold_words(_outcome(result)), "term": f'run : "{run_id}"'}
    _UPDATE[connection.dialect.name](connection, values)


def add_all(connection: Connection) -> None:
    """Make all runs known, where none is."""
    last, page = "", select(runs.c.id, runs.c.question, runs.c.result).order_by(runs.c.id).limit(AT_ONCE)
    while rows := connection.execute(page.where(runs.c.id > last)).all():
        add(connection, *((row.id, row.question, _readable(row.result)) for row in rows))
        last = rows[-1].id


def _readable(result: str | None) -> Mapping[str, Any] | None:
    try:
        return None if result is None else read(result, "a result")
    except Unreadable:
        return None


def search(
    connection: Connection, wanted: str, limit: int, owner: str | None = None, but: str | None = None
) -> tuple[list[Hit], bool]:
    """The runs that have all of what is `wanted`, or else any of it, best first; and whether it is all.

    owner: only theirs; but: not theirs. Raises `UsageError` where no word is wanted.
    """
    looked_for, whose = query_terms(wanted), {"limit": limit, "owner": owner, "but": but}
    for every in (True, False):
        if found := connection.execute(*_query(connection.dialect.name, looked_for, every, whose)).all():
            return [_hit(*row) for row in found], every
    return [], True


def _query(
    dialect: str, looked_for: Sequence[str], every: bool, values: Mapping[str, Any]
) -> tuple[TextClause, Mapping[str, Any]]:
    """Terms are letters, digits and blanks: in their quotes, nothing in them is syntax."""
    if dialect == "sqlite":
        query = (" AND " if every else " OR ").join(f'"{term}"' for term in looked_for)
        return text(_SEARCH[dialect]), {**values, "query": f"{{question answer}} : ({query})"}
    quoted = [f"'{term}'" for term in looked_for]
    query = (" & " if every else " | ").join(quoted)
    return text(_SEARCH[dialect]), {**values, "query": query, "terms": quoted, "marks": _MARKS}


def _hit(run_id: str, asked: str, result: str | None, question: str, answer: str) -> Hit:
    """question, answer: their words, what was looked for in angle brackets."""
    # The question is told beside it; what is new is where the answer has it.
    if marked := _marked(answer):
        return Hit(run_id, snippet(_outcome(json.loads(result or "null")), marked))
    return Hit(run_id, snippet(asked, _marked(question)))


def _marked(words: str) -> set[int]:
    numbers, inside = set(), False
    for n, word in enumerate(words.split(" ")):
        inside = inside or word.startswith("<")
        if inside:
            numbers.add(n)
            inside = not word.endswith(">")
    return numbers


def _outcome(result: Mapping[str, Any] | None) -> str:
    """All that was said in the end: the answer, what it comes to, and who disagrees."""
    if result is None:
        return ""
    answer, final = result["answer"] or "", result["final_answer"] or ""
    parts = [answer, "" if final in answer else final, *(one["text"] for one in result["dissent"])]
    return "\n— ".join(filter(None, parts))


_ADD = Prepared(text("INSERT INTO recall (run, question, answer) VALUES (:run, :question, :answer)"))
_UPDATE = {
    # An FTS5 table has no other index than that of its words, and the id is one of them.
    "sqlite": Prepared(text("UPDATE recall SET answer = :answer WHERE recall MATCH :term AND run = :run")),
    "postgresql": Prepared(text("UPDATE recall SET answer = :answer WHERE run = :run")),
}
_WHOSE = (
    "(CAST(:owner AS text) IS NULL OR runs.owner = :owner)"
    " AND (CAST(:but AS text) IS NULL OR runs.owner <> :but)"
)
_SEARCH = {
    # CROSS JOIN keeps the order: what is found is marked in the best alone.
    "sqlite": f"""
        SELECT id, asked, result, highlight(recall, 1, '<', '>'), highlight(recall, 2, '<', '>')
        FROM (
            SELECT runs.id, runs.question AS asked, runs.result, runs.created_at,
                   recall.rowid AS place, bm25(recall, 0.0, 2.5, 1.0) AS score
            FROM recall JOIN runs ON runs.id = recall.run
            WHERE recall MATCH :query AND {_WHOSE}
            ORDER BY score, runs.created_at DESC LIMIT :limit
        ) CROSS JOIN recall
        WHERE recall MATCH :query AND recall.rowid = place
        ORDER BY score, created_at DESC
        """,
    # ts_rank_cd does not know how rare a word is: who has more of them comes first.
    "postgresql": f"""
        SELECT id, asked, result,
               ts_headline('pnyx', question, query, :marks), ts_headline('pnyx', answer, query, :marks)
        FROM (
            SELECT runs.id, runs.question AS asked, runs.result, runs.created_at,
                   recall.question, recall.answer, query, ts_rank_cd(words, query, 1) AS score,
                   (SELECT count(*) FROM unnest(CAST(:terms AS text[])) AS term
                    WHERE words @@ to_tsquery('pnyx', term)) AS present
            FROM recall JOIN runs ON runs.id = recall.run, to_tsquery('pnyx', :query) AS query
            WHERE words @@ query AND {_WHOSE}
            ORDER BY present DESC, score DESC, runs.created_at DESC LIMIT :limit
        ) AS best
        ORDER BY present DESC, score DESC, created_at DESC
        """,
}
_MARKS = 'HighlightAll=true, StartSel="<", StopSel=">"'
