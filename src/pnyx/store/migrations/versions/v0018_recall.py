"""on SQLite, an index of words without the words; on PostgreSQL, words in the row; all runs indexed"""

from __future__ import annotations

from alembic import op

from pnyx.store.prepared import driver_of
from pnyx.store.records import word_index
from pnyx.store.records.word_index import Words

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        driver_of(connection).create_function("checksum", 2, lambda *words: Words(*words).checksum())
        for statement in SQLITE:
            connection.exec_driver_sql(statement)
    else:
        for statement in POSTGRESQL:
            connection.exec_driver_sql(statement)
    # Uses the current code for splitting words; if that changes, a later migration must index all runs again.
    word_index.add_missing(connection)


POSTGRESQL = (
    "ALTER TABLE recall ALTER COLUMN words SET STORAGE MAIN",
    "UPDATE recall SET question = question",  # which stores the words again
)
SQLITE = (
    "ALTER TABLE recall RENAME TO old_recall",
    "CREATE TABLE recall_runs (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE,"
    " checksum INTEGER NOT NULL)",
    "CREATE VIRTUAL TABLE recall USING fts5(question, answer, tokenize = 'porter ascii', content = '')",
    """
    INSERT INTO recall_runs (number, run, checksum)
    SELECT min(rowid), run, checksum(question, answer) FROM old_recall GROUP BY run
    """,
    """
    INSERT INTO recall (rowid, question, answer)
    SELECT number, question, answer FROM recall_runs JOIN old_recall ON old_recall.rowid = number
    """,
    "DROP TABLE old_recall",
)
