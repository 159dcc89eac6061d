"""Backups that a stranger may have made: unusual but valid, or refused before they cost disk or memory."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from pnyx.errors import StoreError, UsageError
from pnyx.store import Database, backup_values, checksum
from pnyx.store.copying import backup, restore
from tests.store.test_copying import everything, filled

Change = Callable[[Path], None]


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A backup with two runs."""
    node = await filled(str(tmp_path / "here.db"))
    await backup(node.database, tmp_path / "all.pnyx")
    await node.runner.close()
    return tmp_path / "all.pnyx"


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "restored.db")
    yield database
    await database.close()


def execute(*statements: str) -> Change:
    def change(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for statement in ("PRAGMA foreign_keys=OFF", *statements):
                connection.execute(statement)

    return change


def declare(table: str, old: str, new: str) -> Change:
    """Replace a part of the statement that created a table; its rows stay."""

    def change(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema=ON")
            done = connection.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)",
                (old, new, table, old),
            )
            assert done.rowcount == 1

    return change


def copy_of(table: str, *changes: str) -> Change:
    """Replace a table by one with the same rows and without its constraints."""
    return execute(
        f"CREATE TABLE odd AS SELECT * FROM {table}",
        *changes,
        f"DROP TABLE {table}",
        f"ALTER TABLE odd RENAME TO {table}",
    )


def lengthen(file: Path) -> None:
    os.truncate(file, 1 << 40)


def loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


def link(file: Path) -> None:
    file.symlink_to(file.rename(file.with_name("real")))


VALID: dict[str, Change] = {
    "pages of 64 kB": execute("PRAGMA page_size=65536", "PRAGMA auto_vacuum=0", "VACUUM"),
    "a write-ahead log": execute("PRAGMA journal_mode=WAL"),
    "more tables": execute("CREATE TABLE more (a)", "CREATE TABLE odd (a PRIMARY KEY) WITHOUT ROWID"),
    "wrong statistics": execute("ANALYZE", "UPDATE sqlite_stat1 SET stat = '9223372036854775807 0 0'"),
    "a symbolic link": link,
}
SLOW = "length(hex(zeroblob(400000000))) > 0"
REFUSED: dict[str, tuple[Change, str]] = {
    "a sparse terabyte": (lengthen, "is longer than the database that it begins with"),
    "a link to itself": (loop, "cannot be read: Too many levels of symbolic links"),
    "a condition of a table": (
        declare("runs", "PRIMARY KEY (id)", f"PRIMARY KEY (id), CHECK ({SLOW})"),
        "an expression in the table 'runs'",
    ),
    "a default": (
        declare("runs", "question TEXT", f"question TEXT DEFAULT ({SLOW})"),
        "an expression in the table 'runs'",
    ),
    "a condition of an index": (
        execute("CREATE INDEX slow ON runs (id) WHERE length(hex(zeroblob(id))) >= 0"),
        "an expression in the index 'slow'",
    ),
    "a long version": (
        execute("UPDATE alembic_version SET version_num = hex(zeroblob(5000000))"),
        r"written by a newer pnyx \(schema 0{40}\)",
    ),
    "an id with a NUL": (
        execute("UPDATE runs SET id = id || CAST(x'002e2e' AS TEXT)"),
        "the backup is damaged in its table 'runs': id is ",
    ),
    "no key": (copy_of("runs"), "the backup is damaged: foreign key mismatch"),
    "rows twice": (
        copy_of("ledger", "INSERT INTO odd SELECT * FROM odd"),
        "the backup is damaged in its table 'ledger': UNIQUE",
    ),
    "nothing": (
        copy_of("ledger", "UPDATE odd SET spent_nusd = NULL"),
        "the backup is damaged in its table 'ledger': NOT NULL",
    ),
}


@pytest.mark.parametrize("kind", VALID)
async def test_an_unusual_file_with_the_same_rows_is_restored(
    kind: str, file: Path, target: Database, tmp_path: Path
) -> None:
    database = await Database.open(tmp_path / "here.db")
    expected = await database.read(everything)
    await database.close()
    VALID[kind](file)
    await restore(target, file, with_keys=True)
    assert await target.read(everything) == expected


@pytest.mark.parametrize("kind", REFUSED)
async def test_a_hostile_file_is_refused_with_its_reason_and_changes_nothing(
    kind: str, file: Path, target: Database
) -> None:
    change, message = REFUSED[kind]
    change(file)
    with pytest.raises((StoreError, UsageError), match=message) as refusal:
        await restore(target, file)
    assert len(str(refusal.value)) < 400
    assert "restored.db" not in str(refusal.value)
    assert not any((await target.read(everything)).values())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET question = hex(zeroblob(500001))",
        "UPDATE runs SET question = CAST(zeroblob(1000001) AS TEXT)",  # its length is 0: that before a NUL
        "UPDATE contents SET content = zeroblob(1000001)",
        "UPDATE events SET body = hex(zeroblob(500001))",
    ],
)
async def test_a_value_that_takes_all_memory_is_refused(
    statement: str, file: Path, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, one of 900 MB was loaded with 2.7 GB of memory, and with 4.5 GB into PostgreSQL."""
    monkeypatch.setattr(backup_values, "MOST_LENGTH", 1_000_000)
    execute(statement)(file)
    with pytest.raises(StoreError, match="is 'longer than 1,000,000'; restore an earlier backup"):
        await restore(target, file)
    assert not any((await target.read(everything)).values())


async def test_a_file_for_which_the_disk_has_no_room_is_not_copied(
    file: Path, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that was begun filled the disk, and others could not write."""
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(9, 9, 0))
    monkeypatch.setattr(shutil, "copyfile", lambda *_: pytest.fail("it was copied"))
    with pytest.raises(StoreError, match="has no room for a copy"):
        await restore(target, file)


def bytes_of(file: Path) -> bytes:
    return file.read_bytes()


def put(file: Path, content: bytes) -> None:
    file.write_bytes(content)


async def test_a_flipped_bit_anywhere_is_noticed(file: Path, target: Database) -> None:
    """Before, one within a row was restored: another amount, or another letter."""
    whole, draw = bytes_of(file), Random(1)
    assert checksum.is_intact(file)
    places = [*range(checksum.HEADER), *(draw.randrange(len(whole)) for _ in range(200))]
    without = {
        place + n for place in (checksum.COUNTER, checksum.USER_VERSION) for n in range(4)
    }  # as in a backup of an earlier version
    for place in places:
        flipped = whole[place] ^ 1 << draw.randrange(8)
        put(file, whole[:place] + bytes([flipped]) + whole[place + 1 :])
        assert checksum.is_intact(file) is (place in without), place
    word = b"Should we?"
    assert whole.count(word)
    put(file, whole.replace(word, b"Should he?"))
    with pytest.raises(StoreError, match="damaged: its checksum is wrong; restore an earlier"):
        await restore(target, file)
    assert not any((await target.read(everything)).values())
    # A backup of an earlier version has none.
    put(file, whole[:60] + bytes(12) + whole[72:])
    await restore(target, file)
