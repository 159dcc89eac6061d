"""The tables of a database: which version they are of, and how they become those of this version."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, text

from ..errors import StoreError
from .advisory_locks import AdvisoryLock
from .creation import create_tables
from .documents.conversion import is_pending
from .postgresql import allow_any_time
from .schema import REVISION

__all__ = ["State", "migrate", "read_state"]


def _tables(connection: Connection) -> set[str]:
    if connection.dialect.name == "sqlite":
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    return {row[0] for row in connection.execute(text(query))}


def _revision(connection: Connection) -> str | None:
    if "alembic_version" not in _tables(connection):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


class State(NamedTuple):
    """What opening a database depends on. is_converting: whether rows of an earlier version are left."""

    revision: str | None
    is_converting: bool
    is_empty: bool


def read_state(connection: Connection) -> State:
    revision = _revision(connection)
    is_current = revision is not None and revision == REVISION
    is_empty = revision is None and not _tables(connection)
    return State(revision, is_current and is_pending(connection), is_empty)


def _check_encoding(connection: Connection, name: str) -> None:
    """Raise `StoreError` for a new database that cannot hold every text: a run would fail after its calls."""
    if connection.dialect.name == "postgresql":
        encoding = connection.execute(text("SHOW server_encoding")).scalar()
        if encoding != "UTF8":
            raise StoreError(
                f"database {name} has the encoding {encoding}, which lacks characters: use one that is "
                "created with ENCODING 'UTF8' TEMPLATE template0"
            )


def migrate(connection: Connection, name: str) -> None:
    if connection.dialect.name == "postgresql":
        allow_any_time(connection)
        connection.execute(text(f"SELECT pg_advisory_xact_lock({AdvisoryLock.MIGRATE})"))
    tables, revision = _tables(connection), _revision(connection)
    if revision == REVISION:
        return  # another process was faster
    if tables and revision is None:
        raise StoreError(f"database {name} holds other tables: pnyx needs a database of its own")
    if not tables:
        _check_encoding(connection, name)
        create_tables(connection)
        return
    # alembic takes 0.2 s to import, and only the database of an earlier version needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    if revision is not None:
        try:
            ScriptDirectory.from_config(config).get_revision(revision)
        except CommandError as exc:
            raise StoreError(
                f"database {name} was written by a newer pnyx (schema {str(revision)[:40]}): upgrade pnyx, "
                "or set another database"
            ) from exc
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
