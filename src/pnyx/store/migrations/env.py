"""Alembic's entry: the connection is handed over by `store.engine`, already inside a transaction."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], target_metadata=None, transactional_ddl=False
)
context.run_migrations()
