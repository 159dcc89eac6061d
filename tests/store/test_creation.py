"""A new database is created at once, with exactly what the migrations lead to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from pnyx.store import Database
from pnyx.store.schema import REVISION, metadata
from tests.store.conftest import migrate, open_empty

POSTGRESQL = {
    "columns": """
        SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default,
               generation_expression
        FROM information_schema.columns WHERE table_schema = current_schema()
    """,
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace
    """,
    "storage": """
        SELECT relname, attname, attstorage::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
        AND attnum > 0 AND NOT attisdropped
    """,
    "words": """
        SELECT cfgname, maptokentype, mapseqno, dictname, dictinitoption FROM pg_ts_config_map
        JOIN pg_ts_config ON pg_ts_config.oid = mapcfg JOIN pg_ts_dict ON pg_ts_dict.oid = mapdict
        WHERE cfgname = 'pnyx'
    """,
}


def sqlite_shape(connection: Connection) -> dict[str, object]:
    """What SQLite knows of each table, and the statements of those that are not ordinary ones."""

    def pragma(name: str, of: str) -> list[tuple[object, ...]]:
        return sorted(map(tuple, connection.exec_driver_sql(f"PRAGMA {name}('{of}')")), key=str)

    tables = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")).all()
    indexes = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'index'")).scalars()
    return {
        "tables": {
            name: (pragma("table_xinfo", name), pragma("foreign_key_list", name)) for name, _ in tables
        },
        "virtual": {name: sql for name, sql in tables if sql.startswith("CREATE VIRTUAL")},
        "indexes": {name: pragma("index_xinfo", name) for name in indexes},
        "other": connection.execute(
            text("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')")
        ).all(),
    }


def postgresql_shape(connection: Connection) -> dict[str, object]:
    return {
        name: sorted(map(tuple, connection.execute(text(query))), key=str)
        for name, query in POSTGRESQL.items()
    }


def shape(connection: Connection) -> dict[str, object]:
    described = sqlite_shape if connection.dialect.name == "sqlite" else postgresql_shape
    version = connection.execute(text("SELECT version_num FROM alembic_version")).all()
    return {**described(connection), "version": list(map(tuple, version))}


async def test_a_new_database_is_what_the_migrations_lead_to(
    database_url: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if database_url.startswith("postgres"):
        with request.getfixturevalue("postgres").database() as other:
            await _compare(database_url, other, monkeypatch)
    else:
        await _compare(database_url, str(tmp_path / "migrated.db"), monkeypatch)


async def _compare(one: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    created = await Database.open(one)
    migrated = await open_empty(other, monkeypatch)
    await migrated._backend.write([lambda connection: migrate(connection, "head")], repeatable=True)
    expected = await migrated.read(shape)
    assert await created.read(shape) == expected
    assert {*await created.read(lambda c: inspect(c).get_table_names())} >= {*metadata.tables, "recall"}
    assert expected["version"] == [(REVISION,)]
    for database in (created, migrated):
        await database.close()


def test_a_new_database_needs_no_migrations(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from pnyx.store import Database
async def main():
    await (await Database.open(sys.argv[1])).close()
asyncio.run(main())
print("alembic" in sys.modules)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
    for _ in range(2):  # created, then opened
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "False\n"
