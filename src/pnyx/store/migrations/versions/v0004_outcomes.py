"""outcomes"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "outcomes",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("judged_at", sa.Text, nullable=False),
        sa.Column("protocol", sa.Text, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("raw", sa.Float),
        sa.Column("answers", sa.Text, nullable=False),
        sa.Column("gold", sa.Text),
    )
    op.create_index("outcomes_by_owner", "outcomes", ["owner", "judged_at"])
