"""keys that expire, are replaced and have limits of their own; what keys were used for"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    for name in ("expires_at", "limits", "old_hash", "old_until"):
        op.add_column("keys", sa.Column(name, sa.Text))
    op.create_table(
        "key_uses",
        sa.Column("id", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("at", "name", "client", "method", "route")),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("requests", sa.Integer, nullable=False),
    )
