"""sums of costs by day"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from pnyx.store.money.cost_sums import sum_up

revision = "0014"
down_revision = "0013"

KEYS = ("day", "owner", "protocol", "panel", "model", "before_model", "before_provider", "before_run")
COUNTS = ("runs", "calls", "input_tokens", "cached_tokens", "output_tokens", "cost_nusd", "unpriced")


def upgrade() -> None:
    op.create_table(
        "cost_days",
        *(sa.Column(name, sa.Text, primary_key=True) for name in KEYS),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in COUNTS),
    )
    # Uses the current code; a change of what it stores needs a later migration, which sums up again.
    sum_up(op.get_bind(), datetime.now(UTC).date().isoformat())
