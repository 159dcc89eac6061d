"""outcomes name the panel and the rule of support that they are outcomes of"""

from __future__ import annotations

import json
from contextlib import suppress

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("outcomes", sa.Column("panel", sa.Text))
    op.add_column("outcomes", sa.Column("rule", sa.Text))
    outcomes = sa.table("outcomes", sa.column("run_id"), sa.column("panel"))
    runs = sa.table("runs", sa.column("id"), sa.column("spec"))
    connection = op.get_bind()
    found = sa.select(runs.c.id, runs.c.spec).join(outcomes, outcomes.c.run_id == runs.c.id)
    for row in connection.execute(found).all():
        # What cannot be read has no panel, and so is no outcome of one.
        with suppress(ValueError, KeyError, TypeError):
            panel = sorted({seat["model"] for seat in json.loads(row.spec)["seats"]})
            change = sa.update(outcomes).where(outcomes.c.run_id == row.id)
            connection.execute(change.values(panel=json.dumps(panel)))
