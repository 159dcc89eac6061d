"""Runs in PostgreSQL, through asyncpg: a server that goes away and comes back is waited for.

Each transaction leaves a mark in its process's row of `writers`. When the connection is lost during a
commit, the same work is tried again and finds its own mark if it was committed: design/store.md.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlencode

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ..config.database_url import Server

__all__ = ["PostgreSQL", "Work", "refuses"]

T = TypeVar("T")
Work = Callable[[Connection], Any]
ATTEMPTS = 10
"""How often a transaction is tried that PostgreSQL gave up for another one's sake."""
AWAY_S = 30.0
"""How long a server that was there before may be away, in seconds."""
WAITS_S = (0.05, 1.0)
"""The first and the longest wait between two attempts meanwhile, in seconds."""
FORGET_S = 86400.0
"""How long the mark of a process that was killed is kept, in seconds."""
_GIVEN_UP = ("40001", "40P01")
"""serialization_failure and deadlock_detected"""
_LOST = ("08", "57P01", "57P02", "57P03")
"""connection_exception, and the states of a server that stops or starts"""
_REFUSED = ("21", "22", "23", "42", "54")
"""Classes of states that one work's data or statements bring about, whatever else is written."""


class PostgreSQL:
    """Goes on when the server was away for less than `AWAY_S`, and commits no write twice."""

    def __init__(self, server: Server) -> None:
        # asyncpg is only loaded by those who keep their runs in PostgreSQL.
        from sqlalchemy.ext.asyncio import create_async_engine

        # It logs a lost connection with a traceback; the work is tried again here, or a StoreError raised.
        logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)

        url, rest = _addressed(server.parameters)
        self._engine = create_async_engine(
            url, connect_args={"dsn": rest}, pool_pre_ping=True, pool_size=5, max_overflow=15
        )
        self._name = secrets.token_hex(8)
        self._met = False
        self._wrote = False

    async def write(self, works: Sequence[Work], *, repeatable: bool = False) -> list[Any]:
        mark = {"writer": self._name, "mark": secrets.token_hex(8), "at": time.time()}
        results: list[Any] = []

        def run(connection: Connection) -> list[Any]:
            nonlocal results
            if not repeatable and connection.execute(_MARK, mark).first() is None:
                return results  # the connection was lost, but not the attempt before
            results = [work(connection) for work in works]
            return results

        self._wrote = self._wrote or not repeatable

        async def attempt() -> list[Any]:
            async with self._engine.begin() as connection:
                return await connection.run_sync(run)

        return await self._again(attempt)

    async def read(self, work: Work) -> Any:
        async def attempt() -> Any:
            async with self._engine.connect() as connection:
                return await connection.run_sync(work)

        return await self._again(attempt)

    async def _again(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` gives; tried again when the server gave it up for another, or was away."""
        attempts, until, wait = ATTEMPTS, time.monotonic() + AWAY_S, WAITS_S[0]
        while True:
            try:
                result = await attempt()
            except (DBAPIError, OSError) as exc:
                attempts -= 1
                if attempts and _state(exc) in _GIVEN_UP:
                    continue
                # A server that was never reached is more likely misnamed than away.
                if not self._met or not _lost(exc) or time.monotonic() > until:
                    raise
                await asyncio.sleep(wait)
                wait = min(2 * wait, WAITS_S[1])
            else:
                self._met = True
                return result

    async def close(self) -> None:
        with suppress(SQLAlchemyError, OSError):
            if self._wrote:
                async with self._engine.begin() as connection:
                    await connection.execute(_FORGET, {"writer": self._name, "old": time.time() - FORGET_S})
        await self._engine.dispose()


def _addressed(parameters: Mapping[str, str]) -> tuple[URL, str]:
    """What SQLAlchemy reads itself, and the rest in the one form in which asyncpg takes all of it."""
    mine = ("host", "port", "prepared_statement_cache_size")
    url = URL.create(
        "postgresql+asyncpg",
        username=parameters.get("user"),
        password=parameters.get("password"),
        database=parameters.get("dbname"),
        query={name: parameters[name] for name in mine if name in parameters},
    )
    told = {*mine, "user", "password", "dbname"}
    return url, f"postgresql://?{urlencode({k: v for k, v in parameters.items() if k not in told})}"


_MARK = text(
    "INSERT INTO writers (writer, mark, at) VALUES (:writer, :mark, :at) "
    "ON CONFLICT (writer) DO UPDATE SET mark = excluded.mark, at = excluded.at "
    "WHERE writers.mark <> excluded.mark RETURNING mark"
)
"""Gives nothing when the transaction that it belongs to was committed before; waits while that is open."""
_FORGET = text("DELETE FROM writers WHERE writer = :writer OR at < :old")


def refuses(exc: BaseException) -> bool:
    """Whether the server is well, and does not take the work that raised this."""
    return _state(exc).startswith(_REFUSED)


def _state(exc: BaseException) -> str:
    return getattr(getattr(exc, "orig", None), "sqlstate", None) or ""


def _lost(exc: DBAPIError | OSError) -> bool:
    """Whether the server, or the connection to it, is gone."""
    return isinstance(exc, OSError) or exc.connection_invalidated or _state(exc).startswith(_LOST)
