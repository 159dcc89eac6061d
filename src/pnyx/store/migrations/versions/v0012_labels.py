"""labels of runs; sums of costs and outcomes, which stay when their run is deleted"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

KINDS = ("call_started", "call_finished", "call_failed")
TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
COUNTS = ("calls", *TOKENS, "cost_nusd", "unpriced")
RUNS = sa.table("runs", *map(sa.column, ("id", "owner", "protocol", "spec")))
EVENTS = sa.table("events", *map(sa.column, ("run_id", "seq", "type", "body")))


def upgrade() -> None:
    op.create_table(
        "labels",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, primary_key=True),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index("labels_by_value", "labels", ["kind", "value", "created_at"])
    run_costs = op.create_table(
        "run_costs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("day", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("protocol", sa.Text, nullable=False),
        sa.Column("panel", sa.Text, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in COUNTS),
    )
    op.create_index("run_costs_by_day", "run_costs", ["day"])
    connection = op.get_bind()
    for rows in _sums(connection):
        connection.execute(sa.insert(run_costs), rows)
    _free_outcomes()


def _free_outcomes() -> None:
    """Let outcomes outlive their runs: each names the owner of its run, and needs no row of it."""
    op.add_column("outcomes", sa.Column("run_owner", sa.Text))
    op.execute("UPDATE outcomes SET run_owner = (SELECT owner FROM runs WHERE runs.id = outcomes.run_id)")
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("outcomes_run_id_fkey", "outcomes")
        return
    # SQLite drops no constraint of a table.
    op.create_table(
        "new_outcomes",
        sa.Column("run_id", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("owner", "judged_at", "protocol", "result")),
        sa.Column("raw", sa.Float),
        sa.Column("answers", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("gold", "panel", "rule", "run_owner")),
    )
    op.execute("INSERT INTO new_outcomes SELECT * FROM outcomes")
    op.drop_table("outcomes")
    op.rename_table("new_outcomes", "outcomes")
    op.create_index("outcomes_by_owner", "outcomes", ["owner", "judged_at"])


def _sums(connection: sa.Connection) -> Iterator[list[dict[str, Any]]]:
    """Yield the sums of the calls of each run, by day and model."""
    last, some = "", sa.select(RUNS).order_by(RUNS.c.id).limit(100)
    while found := connection.execute(some.where(RUNS.c.id > last)).all():
        for run in found:
            if rows := list(_run_sums(connection, run).values()):
                yield rows
        last = found[-1].id


def _run_sums(connection: sa.Connection, run: Any) -> dict[tuple[str, str], dict[str, Any]]:
    spec = _read(run.spec)
    places = [*(spec.get("seats") or ()), *filter(None, [spec.get("judge")])]
    models = {seat.get("label"): seat.get("model") for seat in places}
    group = {"run_id": run.id, "owner": run.owner, "protocol": run.protocol, "panel": ""}
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    query = sa.select(EVENTS.c.type, EVENTS.c.body).where(EVENTS.c.run_id == run.id, EVENTS.c.type.in_(KINDS))
    for kind, body in connection.execute(query):
        event = _read(body)
        if event.get("copied") or "time" not in event:
            continue
        seat = event.get("seat") or ""
        # Text of no database: it was escaped in JSON until now.
        model = str(models.get(seat) or seat).replace("\0", "\ufffd").encode(errors="replace").decode()
        day = event["time"][:10]
        row = sums.setdefault((day, model), {**group, "day": day, "model": model, **dict.fromkeys(COUNTS, 0)})
        if kind == "call_started":
            row["calls"] += 1
            continue
        for name in TOKENS:
            row[name] += int(event.get(name) or 0)
        # A failed call has no cost, but what the ledger charged for it.
        cost = event.get("cost_usd" if kind == "call_finished" else "charged_usd")
        row["unpriced"] += cost is None
        row["cost_nusd"] += round((cost or 0) * 1_000_000_000)
    return sums


def _read(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
