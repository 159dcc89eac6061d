"""A database with the schema of the first release."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

import pnyx.store
from pnyx.store import Database
from pnyx.store import engine as engine_module


def migrate(connection: Connection, revision: str) -> None:
    """Run the migrations up to `revision`."""
    config = Config()
    config.set_main_option("script_location", str(Path(pnyx.store.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def first_schema(connection: Connection) -> None:
    """Create the tables of the first release and insert a run."""
    migrate(connection, "0001")
    values = {
        "id": "old",
        "owner": "local",
        "epoch": 1,
        "seq": 0,
        "status": "paused",
        "created_at": "2025-01-01T00:00:00.000Z",
        "updated_at": "2025-01-01T00:00:00.000Z",
        "protocol": "single",
        "question": "Why?",
        "spec": '{"question": "Why?"}',
        "result": '{"answer": "Because of the old caf\\u00e9s.", "final_answer": null, "dissent": []}',
    }
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO runs ({names}) VALUES ({marks})"), values)


async def open_empty(url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    """Open a new database without creating its tables."""
    with monkeypatch.context() as patch:
        patch.setattr(engine_module, "REVISION", None)
        return await Database.open(url)


@pytest.fixture
async def old_url(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database of revision 0001."""
    database = await open_empty(database_url, monkeypatch)
    await database._backend.write([first_schema], repeatable=True)
    await database.close()
    return database_url
