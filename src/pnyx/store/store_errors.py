"""Turns the exceptions of database drivers into a `StoreError` that says what to do."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

from ..errors import PnyxError, StoreError
from .postgresql import is_refusal

__all__ = ["FREE_SPACE", "StoreErrors", "WorkError", "hint_for", "lacks_space"]

LEAST_FREE = 1 << 20
"""Bytes of a disk below which it counts as full: SQLite needs some for its log."""

WRONG_HOST = "; check the name of the host in the address"
FREE_SPACE = "; free some space, then repeat the command or resume the run"


class WorkError(StoreError):
    """The database works, but refuses this work because of its data or statements."""


class StoreErrors:
    """Turns exceptions of the driver into a `StoreError` with the name of the database and a hint.

    more: further exceptions to turn. While a database is opened, libraries read the parts of its URL (host,
    certificate, numbers) and may raise anything.
    """

    def __init__(self, name: str, *more: type[Exception]) -> None:
        self.name = name
        self._raised = (*_DATABASE, *more)

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, exc: BaseException | None, __: object) -> None:
        if exc is None or isinstance(exc, PnyxError) or not isinstance(exc, self._raised):
            return
        cause = exc.orig if isinstance(exc, DBAPIError) else exc
        # Some have no message, such as a bare TimeoutError.
        # SQLite quotes a text that is not UTF-8, which may be anything.
        reason = str(cause).partition("\n")[0].partition(" with text ")[0] or type(cause).__name__
        reason = re.sub(r"^\[Errno -?\d+\] ", "", reason)
        hint = hint_for(reason)
        error: type[StoreError] = (
            WorkError if isinstance(exc, _DATA_ERRORS) or is_refusal(exc) else StoreError
        )
        if "disk i/o" in reason.lower() and lacks_space(Path(self.name)):
            hint = FREE_SPACE
        full = hint == FREE_SPACE
        public = (
            "the disk of the database is full" if full else "the database fails; the server's log has why"
        )
        raise error(f"database {self.name}: {reason}{hint}", disk_full=full, public=public) from exc


def hint_for(reason: str) -> str:
    """Return what to do about the message of a driver, after a semicolon; "" where that is not known."""
    return next((hint for pattern, hint in _HINTS if pattern in reason.lower()), "")


def lacks_space(file: Path) -> bool:
    """Whether the disk of an SQLite file is full."""
    try:
        return shutil.disk_usage(file.parent).free < LEAST_FREE
    except OSError:
        return False  # there is no such folder


_DATABASE = (SQLAlchemyError, sqlite3.Error, OSError)
_DATA_ERRORS = (DataError, IntegrityError, sqlite3.DataError, sqlite3.IntegrityError)
_HINTS = (
    ("could not decode", "; it is damaged: restore a backup into a new database (pnyx restore)"),
    ("locked", "; another process is using it: wait for it, or stop it"),
    ("disk is full", FREE_SPACE),
    ("disk i/o", "; the disk failed: check it and its free space, then repeat the command or resume the run"),
    ("no space left", FREE_SPACE),
    (
        "read-only transaction",
        "; this server takes no writes now: check that the address is the primary's, and its "
        "default_transaction_read_only",
    ),
    ("readonly", "; make the file and its folder writable, or set another one with PNYX_DATABASE"),
    ("read-only", "; make the file and its folder writable, or set another one with PNYX_DATABASE"),
    (
        "permission denied for schema",
        "; allow its user to create tables (GRANT CREATE ON SCHEMA), or set another database",
    ),
    (
        "permission denied for",
        "; allow its user to read and write all of pnyx's tables (GRANT), or set another database",
    ),
    ("must be owner", "; this pnyx must change the tables: start it once as the user who created them"),
    ("permission denied", "; make the file and its folder writable, or set another one with PNYX_DATABASE"),
    ("disk image is malformed", "; it is damaged and was not changed: restore a backup, or move it away"),
    ("not a database", "; it was not changed: set another one with PNYX_DATABASE, or move it away"),
    (
        "unable to open",
        "; check that its folder exists and is writable, and that it is no folder",
    ),
    ("no such file", "; check the files that its URL names"),
    ("name or service not known", WRONG_HOST),
    ("no address associated", WRONG_HOST),
    ("name resolution", "; check the name of the host, and the network"),
    ("statement timeout", "; raise the statement_timeout of this user, or relieve the server"),
    (
        "lock timeout",
        "; raise the lock_timeout of this user, or end what holds the lock",
    ),
    ("no schema has been selected", "; create the schema (CREATE SCHEMA), or correct the search_path"),
    ("rejected ssl upgrade", "; turn on TLS in the server, or leave out sslmode on a network that you trust"),
    ("root certificate file", "; name the file with the server's authority: sslrootcert=FILE"),
    (
        "has no equivalent in encoding",
        "; this database lacks characters: restore a backup of it into one with ENCODING 'UTF8'",
    ),
    (
        "prepared statement",
        "; a pooler gives each transaction another connection: add ?prepared_statement_cache_size=0 to the "
        "address",
    ),
    (
        "unsupported startup parameter",
        "; give servers with a queue, and workers, the address of PostgreSQL instead of a pooler's",
    ),
    ('database "', "; create it (CREATE DATABASE), or correct the name in the address"),
    ('role "', "; correct the user in the address"),
    ("password authentication failed", "; correct the user or the password in the address"),
    ("connect", "; check that the server runs and that the address is right"),
    (
        "no answer within",
        "; check that the server is not stuck, that the address is right, and that it allows this host",
    ),
)
