"""how many workers a run lost, when the first one took it, and why workers leave it alone"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    # With a default: workers of the version before go on during an upgrade.
    op.add_column("runs", sa.Column("lost_workers", sa.Integer, nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("first_taken_at", sa.Float))
    op.add_column("runs", sa.Column("held_back", sa.Text))
