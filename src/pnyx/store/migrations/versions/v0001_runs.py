"""runs, events, ledger"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("stop", sa.Text),
        sa.Column("worker", sa.Text),
        sa.Column("heartbeat_at", sa.Float),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.Column("protocol", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
        sa.Column("forked_from", sa.Text),
    )
    op.create_index("runs_by_owner", "runs", ["owner", "created_at"])
    op.create_index("runs_by_status", "runs", ["status", "created_at"])
    op.create_table(
        "events",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "ledger",
        sa.Column("scope", sa.Text, primary_key=True),
        sa.Column("cap_nusd", sa.BigInteger),
        sa.Column("spent_nusd", sa.BigInteger, nullable=False),
        sa.Column("reserved_nusd", sa.BigInteger, nullable=False),
    )
