"""The stored runs of a database that exists: what only reads or changes them creates none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...config.database_url import parse_database_url
from ...config.load import database_url
from ...config.schema import Settings, StorageSettings
from ...errors import ConfigError

__all__ = ["existing_database", "missing_database", "require_database"]

SQLITE = b"SQLite format 3\0"
"""The first bytes of a database."""


def missing_database(settings: Settings) -> Path | None:
    """Return the file of the database if there is none yet. Of a server, `Database.open` says so."""
    try:
        where = parse_database_url(database_url(settings))
    except ValueError:
        return None  # opening it says what is wrong
    return where if isinstance(where, Path) and _is_unwritten(where) else None


def _is_unwritten(file: Path) -> bool:
    """Whether there is no such file, or one without a byte, which reading must not make a database."""
    if not file.exists():
        return True
    return file.is_file() and not file.stat().st_size and not file.with_name(f"{file.name}-wal").exists()


def require_database(settings: Settings) -> None:
    """Raise `ConfigError` if the settings name a file that does not exist: its name may be mistyped.

    The usual file may be missing: before the first question, there is none.
    """
    missing, origin = missing_database(settings), settings.origin("storage", "url")
    if missing is not None and origin != "default":
        near = sorted(one.name for one in missing.parent.glob(f"*{missing.suffix}") if _is_sqlite(one))
        there = f"; there are: {', '.join(near[:5])}" if near else ""
        raise ConfigError(
            f"there is no database {missing} (named by {origin}){there}. Check the name; "
            "`pnyx ask` creates the database"
        )


def _is_sqlite(file: Path) -> bool:
    try:
        if not file.is_file():  # reading a pipe would wait
            return False
        with file.open("rb") as opened:
            return opened.read(len(SQLITE)) == SQLITE
    except OSError:  # a file of somebody else
        return False


@contextmanager
def existing_database(settings: Settings) -> Iterator[Settings]:
    """Yield the settings, with an empty database in place of the usual one if there is none yet.

    Raises `ConfigError` if another one that the settings name is missing.
    """
    require_database(settings)
    if missing_database(settings) is None:
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        empty = StorageSettings(url=str(Path(folder) / "empty.db"))
        yield settings.model_copy(update={"storage": empty})
