"""what running runs under a shared cap are expected to need, and what finished ones needed"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "holds",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("scope", sa.Text, primary_key=True),
        sa.Column("amount_nusd", sa.BigInteger, nullable=False),
    )
    op.create_index("holds_by_scope", "holds", ["scope"])
    op.create_table(
        "estimates",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("planned_nusd", sa.BigInteger, nullable=False),
        sa.Column("spent_nusd", sa.BigInteger, nullable=False),
    )
