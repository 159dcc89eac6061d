"""turns of calls that processes share"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "rates",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("next_at", sa.Float, nullable=False),
    )
