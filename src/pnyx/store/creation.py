"""The tables of a new database, created at once. The migrations lead to the same; a test compares the two.

Only a database of an earlier version goes through the migrations, whose library takes longer to import than
everything here takes to run.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from .records.word_index import SQLITE_INDEX, SQLITE_RUNS
from .schema import REVISION, metadata

__all__ = ["create_tables"]

_SQLITE = (
    SQLITE_RUNS,
    SQLITE_INDEX.format(name="recall", more=", content = ''"),
)
_POSTGRESQL = (
    # Its other indexes are sorted by the rules of the database's language, where a prefix is not a range.
    'CREATE INDEX runs_by_beginning ON runs (id COLLATE "C")',
    'CREATE INDEX conversations_by_beginning ON runs (conversation COLLATE "C")',
    # The stemmer of `english` without its stop words, since phrases may consist of them.
    "CREATE TEXT SEARCH DICTIONARY pnyx (TEMPLATE = snowball, LANGUAGE = english)",
    "CREATE TEXT SEARCH CONFIGURATION pnyx (COPY = simple)",
    "ALTER TEXT SEARCH CONFIGURATION pnyx ALTER MAPPING FOR asciiword, word WITH pnyx",
    """
    CREATE TABLE recall (
        run TEXT PRIMARY KEY REFERENCES runs (id),
        question TEXT NOT NULL,
        answer TEXT NOT NULL,
        words TSVECTOR NOT NULL GENERATED ALWAYS AS (
            setweight(to_tsvector('pnyx', question), 'A') || setweight(to_tsvector('pnyx', answer), 'B')
        ) STORED
    )
    """,
    # Beside the texts, not apart: most words of a phrase are in nearly all runs, so all are compared with it.
    "ALTER TABLE recall ALTER COLUMN words SET STORAGE MAIN",
    "CREATE INDEX recall_by_words ON recall USING gin (words)",
)
_MORE = {"sqlite": _SQLITE, "postgresql": _POSTGRESQL}
"""What `schema` does not declare, by the name of the database."""
_VERSION = """
    CREATE TABLE alembic_version (
        version_num VARCHAR(32) NOT NULL,
        CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
    )
"""
"""As alembic creates it, which migrates the database later."""


def create_tables(connection: Connection) -> None:
    """Create every table in an empty database, at the revision `REVISION`."""
    metadata.create_all(connection, checkfirst=False)
    for statement in (*_MORE[connection.dialect.name], _VERSION):
        connection.execute(text(statement))
    connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": REVISION})
