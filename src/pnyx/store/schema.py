"""The tables of a new database. The migrations in `migrations/` lead to the same; a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

__all__ = [
    "REVISION",
    "content_uses",
    "contents",
    "conversions",
    "cost_days",
    "estimates",
    "events",
    "holds",
    "key_uses",
    "keys",
    "labels",
    "ledger",
    "metadata",
    "outcomes",
    "rates",
    "run_costs",
    "runs",
    "shares",
    "writers",
]

REVISION = "0018"
"""The newest migration. A database at this revision is opened without importing alembic."""

metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("stop", Text),
    Column("worker", Text),
    Column("heartbeat_at", Float),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("result", Text),
    Column("forked_from", Text),
    Column("conversation", Text),
    Column("lost_workers", Integer, nullable=False, server_default="0"),
    Column("first_taken_at", Float),
    Column("held_back", Text),
    Index("runs_by_owner", "owner", "created_at"),
    Index("runs_by_status", "status", "created_at"),
    Index("runs_by_conversation", "conversation", "created_at"),
    Index("runs_by_time", "created_at"),
)
"""PostgreSQL has further indexes, sorted by bytes, for lookups by prefix; see v0007."""

events = Table(
    "events",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("type", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("packed", LargeBinary),
)
"""packed: the event, see `store.documents.packing`. body: its JSON in a row of an earlier version."""

labels = Table(
    "labels",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    Column("created_at", Text, nullable=False),
    Index("labels_by_value", "kind", "value", "created_at"),
)
"""kind: title, tag or pinned; see `store.records.labels`. created_at: of the run."""

run_costs = Table(
    "run_costs",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("day", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("panel", Text, nullable=False),
    *(
        Column(name, BigInteger, nullable=False)
        for name in ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_nusd", "unpriced")
    ),
    Index("run_costs_by_day", "day"),
)
"""Sums over the calls of a run, by day (UTC) and model. They stay when the run is deleted."""

cost_days = Table(
    "cost_days",
    metadata,
    *(
        Column(name, Text, primary_key=True)
        for name in (
            "day",
            "owner",
            "protocol",
            "panel",
            "model",
            "before_model",
            "before_provider",
            "before_run",
        )
    ),
    *(
        Column(name, BigInteger, nullable=False)
        for name in (
            "runs",
            "calls",
            "input_tokens",
            "cached_tokens",
            "output_tokens",
            "cost_nusd",
            "unpriced",
        )
    ),
)
"""Sums over `run_costs` of the days that are over; see `store.money.cost_sums`."""

ledger = Table(
    "ledger",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("cap_nusd", BigInteger),
    Column("spent_nusd", BigInteger, nullable=False),
    Column("reserved_nusd", BigInteger, nullable=False),
)

holds = Table(
    "holds",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("amount_nusd", BigInteger, nullable=False),
    Index("holds_by_scope", "scope"),
)
"""What runs under a shared cap are still expected to need. scope: "day", "batch:ID", "key:NAME" or
"key-day:NAME"."""

estimates = Table(
    "estimates",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("planned_nusd", BigInteger, nullable=False),
    Column("spent_nusd", BigInteger, nullable=False),
)
"""Sums over finished runs of one kind: what they were expected to cost, and what they cost; and, as the kind
"calls:KIND", the same of the calls that they made."""

outcomes = Table(
    "outcomes",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("judged_at", Text, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("raw", Float),
    Column("answers", Text, nullable=False),
    Column("gold", Text),
    Column("panel", Text),
    Column("rule", Text),
    Column("run_owner", Text),
    Index("outcomes_by_owner", "owner", "judged_at"),
)
"""Outcomes of runs; see `pnyx.reliability.feedback.JudgedRun`. answers: JSON, [[model, answer], …]. panel:
JSON, the models of the run, each once; null if unknown. rule: that of `raw`. run_owner: the owner of the run.
They stay when the run is deleted."""

keys = Table(
    "keys",
    metadata,
    Column("name", Text, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("limits", Text),
    Column("old_hash", Text),
    Column("old_until", Text),
)
"""The server's keys; see `store.keys`. name: the owner of the runs started with it. hash: SHA-256 of the key,
in hex."""

key_uses = Table(
    "key_uses",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("client", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("route", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("run_id", Text),
    Column("requests", Integer, nullable=False),
)
"""What keys were used for, the newest; see `store.keys`. id: sorts by time."""

shares = Table(
    "shares",
    metadata,
    Column("id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.id"), nullable=False),
    Column("hash", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Column("revoked_at", Text),
    Index("shares_by_run", "run_id", "created_at"),
)
"""Links that show one run. id: the public part of its token. hash: SHA-256 of the token, in hex."""

_NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers the rows of a table by a column that is declared as INTEGER."""

contents = Table(
    "contents",
    metadata,
    Column("id", _NUMBER, Identity(), primary_key=True),
    Column("sha256", LargeBinary, nullable=False, unique=True),
    Column("content", LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)
"""Texts, and images in Base64, each stored once; see `store.documents.contents`. No number is used twice."""

content_uses = Table(
    "content_uses",
    metadata,
    Column("content_id", _NUMBER, ForeignKey("contents.id"), primary_key=True),
    Column("run_id", Text, primary_key=True),
    Index("content_uses_by_run", "run_id"),
    sqlite_with_rowid=False,
)
"""Which runs use a content."""

conversions = Table(
    "conversions",
    metadata,
    Column("name", Text, primary_key=True),
    Column("done", Text, nullable=False),
)
"""Work on rows of earlier versions that is not finished. done: the run id up to which it is."""

rates = Table(
    "rates",
    metadata,
    Column("name", Text, primary_key=True),
    Column("next_at", Float, nullable=False),
)
"""When the next call to a host with a key has its turn, on PostgreSQL; see `store.rates`."""

writers = Table(
    "writers",
    metadata,
    Column("writer", Text, primary_key=True),
    Column("mark", Text, nullable=False),
    Column("at", Float, nullable=False),
)
"""The last transaction of every process that writes to PostgreSQL. at: seconds since 1970."""
