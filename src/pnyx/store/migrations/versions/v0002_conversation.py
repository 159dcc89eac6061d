"""runs.conversation"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("runs", sa.Column("conversation", sa.Text))
    op.create_index("runs_by_conversation", "runs", ["conversation", "created_at"])
