"""indexes for runs by a prefix of their id, and by their time"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_index("runs_by_time", "runs", ["created_at"])
    if op.get_bind().dialect.name == "postgresql":
        # Its other indexes are sorted by the rules of the database's language, where a prefix is not a range.
        op.execute('CREATE INDEX runs_by_beginning ON runs (id COLLATE "C")')
        op.execute('CREATE INDEX conversations_by_beginning ON runs (conversation COLLATE "C")')
