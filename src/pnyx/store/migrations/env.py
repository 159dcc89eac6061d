"""Alembic's entry point. `store.engine` passes a connection inside a transaction."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], target_metadata=None, transactional_ddl=False
)
context.run_migrations()
