"""recall"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        # Words are folded and separated by spaces; characters outside ASCII are parts of words.
        op.execute("CREATE VIRTUAL TABLE recall USING fts5(run, question, answer, tokenize = 'porter ascii')")
    else:
        for statement in POSTGRESQL:
            op.execute(statement)
    # v0018 indexes all runs that are not indexed.


POSTGRESQL = (
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
    "CREATE INDEX recall_by_words ON recall USING gin (words)",
)
