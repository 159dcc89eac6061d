"""recall"""

from __future__ import annotations

from alembic import op

from pnyx.store import search

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        # Words come folded and set apart by blanks: all that is not ASCII is part of one.
        op.execute("CREATE VIRTUAL TABLE recall USING fts5(run, question, answer, tokenize = 'porter ascii')")
    else:
        for statement in POSTGRESQL:
            op.execute(statement)
    # By the code that will look for them; should it read words anew, a later migration lists all again.
    search.add_all(op.get_bind())


POSTGRESQL = (
    # The stemmer of `english` without its stop words, which a phrase may be made of.
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
