"""PostgreSQL through asyncpg, with retries while the server is away or hangs.

SQLAlchemy's engine runs in greenlets here, as its asyncio extension runs it: the extension imports the whole
ORM, which takes longer than a short command does.

Each transaction writes a mark into its process's row of `writers`. If the connection is lost during a
commit, the work is tried again, and finds its own mark if it was committed: design/store.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from configparser import ConfigParser
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError, InvalidatePoolError, SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.util import greenlet_spawn

from ..config.database_url import Server
from ..errors import ConfigError
from ..extras import need

__all__ = ["SILENT_S", "NoAnswerError", "PostgreSQL", "Work", "allow_any_time", "is_refusal"]

T = TypeVar("T")
Work = Callable[[Connection], Any]
ATTEMPTS = 10
"""Attempts of a transaction that PostgreSQL aborts because of another one."""
AWAY_S = 30.0
"""Seconds that a server may be away if it was reached before."""
WAITS_S = (0.05, 1.0)
"""The first and the longest wait between two attempts meanwhile, in seconds."""
IDLE_S = 5.0
"""Seconds after which an unused connection is tested before it is used: a test costs a round trip."""
PING_S = 5.0
CLOSE_S = 2.0
"""Seconds in which that test must be answered, and each of the last steps of a process that ends."""
SILENT_S = 15
"""Half of a lease: seconds after which the server ends the session of a process that stops within a
transaction, whose locks others wait for, after which a network that carries nothing counts as lost, and after
which a server that does not answer a new connection or a statement of a write does."""
READ_S = 60.0
"""The same for a statement that reads: one that reads much takes long."""
MARK_LIFETIME_S = 86400.0
"""Seconds until the mark of a killed process is deleted."""
_ABORTED = ("40001", "40P01")
"""serialization_failure and deadlock_detected"""
_LOST = ("08", "53", "57P01", "57P02", "57P03", "25P03")
"""connection_exception, insufficient_resources (a full disk, too many connections), the states of a server
that stops or starts, and idle_in_transaction_session_timeout"""
_READ_ONLY = "25006"
"""read_only_sql_transaction: a server whose standby has taken over"""
_REFUSED = ("21", "22", "23", "42", "54")
"""SQLSTATE classes caused by the data or statements of one work, whatever else is written."""


class NoAnswerError(TimeoutError):
    """Raised if the server neither answers nor closes the connection."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")


class PostgreSQL:
    """The PostgreSQL back end. Survives outages shorter than `AWAY_S`, and commits no write twice."""

    def __init__(self, server: Server) -> None:
        need("postgres", "a PostgreSQL database")
        # It logs a lost connection with a traceback; here the work is tried again, or a StoreError raised.
        logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)

        url, dsn = _url_and_dsn(server.parameters)
        connecting: dict[str, Any] = {"dsn": dsn, "async_creator_fn": _connect}
        if server.parameters.get("prepared_statement_cache_size") == "0":
            # SQLAlchemy's own alone is not enough: a pooler that gives each transaction another connection
            # finds no statement that was prepared before.
            connecting["statement_cache_size"] = 0
        self._engine = create_engine(
            url,
            connect_args=connecting,
            pool_size=5,
            max_overflow=15,
            execution_options={"answer_s": SILENT_S},
        )
        # A transaction would add two round trips to a read, and at PostgreSQL's level no snapshot.
        self._reader = self._engine.execution_options(isolation_level="AUTOCOMMIT", answer_s=READ_S)
        event.listen(self._engine, "connect", _bound_silence)
        event.listen(self._engine, "checkin", _note_use)
        event.listen(self._engine, "checkout", _test_if_idle)
        for name in ("before_cursor_execute", "commit", "rollback"):
            event.listen(self._engine, name, _expect_answer)
        event.listen(self._engine, "after_cursor_execute", _note_answer)
        event.listen(self._engine, "handle_error", _name_silence)
        self._name = secrets.token_hex(8)
        self._was_reached = self._was_written = False
        self._has_marks = False

    async def write(self, works: Sequence[Work], *, repeatable: bool = False) -> list[Any]:
        mark = {"writer": self._name, "mark": secrets.token_hex(8)}
        results: list[Any] = []

        def attempt() -> list[Any]:
            nonlocal results
            with self._engine.begin() as connection:
                if not repeatable and connection.execute(_MARK, mark).first() is None:
                    return results  # the connection was lost after the commit of the last attempt
                results = [work(connection) for work in works]
                return results

        self._has_marks = self._has_marks or not repeatable

        written = await self._retry(attempt)
        self._was_written = True
        return written

    async def read(self, work: Work, *, snapshot: bool = False) -> Any:
        engine = self._engine if snapshot else self._reader

        def attempt() -> Any:
            with engine.connect() as connection:
                if snapshot:
                    connection.execute(_SNAPSHOT)
                return work(connection)

        return await self._retry(attempt)

    async def check(self) -> None:
        """Read nothing."""
        await self.read(lambda connection: connection.exec_driver_sql("SELECT 1"))

    async def _retry(self, attempt: Callable[[], T]) -> T:
        """Return the result of `attempt`, repeated while the server aborts it, is away or hangs."""
        attempts, until, wait = ATTEMPTS, time.monotonic() + AWAY_S, WAITS_S[0]
        while True:
            try:
                result = await greenlet_spawn(attempt)
            except (DBAPIError, OSError) as exc:
                attempts -= 1
                if attempts and _state(exc) in _ABORTED:
                    continue
                # One that was never written may be a standby on purpose.
                demoted = self._was_written and _state(exc) == _READ_ONLY
                # A server that was never reached probably has another address.
                lost = demoted or (self._was_reached and _is_lost(exc))
                if not lost or time.monotonic() > until:
                    raise
                if demoted:
                    # New connections reach the server that took over.
                    await greenlet_spawn(self._engine.dispose)
                await asyncio.sleep(wait)
                wait = min(2 * wait, WAITS_S[1])
            else:
                self._was_reached = True
                return result

    async def close(self) -> None:
        with suppress(SQLAlchemyError, OSError):
            async with asyncio.timeout(CLOSE_S):
                if self._has_marks:
                    await greenlet_spawn(self._delete_marks)
        with suppress(SQLAlchemyError, OSError):
            async with asyncio.timeout(CLOSE_S):
                await greenlet_spawn(self._engine.dispose)

    def _delete_marks(self) -> None:
        with self._engine.begin() as connection:
            connection.execute(_DELETE_MARKS, {"writer": self._name, "seconds": MARK_LIFETIME_S})


def allow_any_time(connection: Connection) -> None:
    """Let this transaction take any time, in its statements and between them: it changes or copies tables."""
    if connection.dialect.name == "postgresql":
        connection.execution_options(answer_s=None)
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def _expect_answer(connection: Connection, *_: object) -> None:
    """Close the connection if it has no answer in time: what waits for it then fails as for a lost one."""
    if connection.invalidated:  # a rollback of what was lost
        return
    _stop_waiting(connection.info)
    if (seconds := connection.get_execution_options().get("answer_s")) is not None:
        loop, opened = asyncio.get_running_loop(), connection.connection
        connection.info[_TIMER] = loop.call_later(seconds, _give_up, opened, seconds)


def _note_answer(connection: Connection, *_: object) -> None:
    _stop_waiting(connection.info)


def _stop_waiting(info: dict[str, Any]) -> None:
    if (timer := info.pop(_TIMER, None)) is not None:
        timer.cancel()


def _give_up(connection: PoolProxiedConnection, seconds: float) -> None:
    connection.info[_GAVE_UP] = seconds
    driver: Any = connection.driver_connection
    driver.terminate()


def _name_silence(context: ExceptionContext) -> None:
    connection = context.connection
    if connection is None or connection.invalidated:
        return
    if (seconds := connection.info.pop(_GAVE_UP, None)) is not None:
        raise NoAnswerError(seconds) from context.original_exception


async def _connect(*args: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
    """Connect to the first of several hosts that answers; asyncpg has one limit for all of them together."""
    # asyncpg is loaded only if PostgreSQL is used.
    import asyncpg  # type: ignore[import-untyped]  # it ships no types

    hosts = host if isinstance(host, list) else [host]
    ports = port if isinstance(port, list) else [port] * len(hosts)
    seconds = SILENT_S / len(hosts)
    for left, at in enumerate(zip(hosts, ports, strict=True), 1 - len(hosts)):
        try:
            return await asyncpg.connect(*args, host=at[0], port=at[1], timeout=seconds, **options)
        except (OSError, asyncpg.CannotConnectNowError, asyncpg.TargetServerAttributeNotMatched) as exc:
            if left:
                continue
            if isinstance(exc, TimeoutError):
                raise NoAnswerError(seconds) from exc
            if isinstance(exc, asyncpg.TargetServerAttributeNotMatched):  # of a failover that is under way
                raise ConnectionError(f"{exc}; check target_session_attrs") from exc
            raise
    return None


def _url_and_dsn(parameters: Mapping[str, str]) -> tuple[URL, str]:
    """Return the URL with the parameters that SQLAlchemy reads, and asyncpg's DSN with the rest."""
    in_query = ("host", "port", "prepared_statement_cache_size")
    url = URL.create(
        "postgresql+asyncpg",
        username=parameters.get("user"),
        password=parameters.get("password"),
        database=parameters.get("dbname"),
        query={name: parameters[name] for name in in_query if name in parameters},
    )
    in_url = {*in_query, "user", "password", "dbname"}
    in_dsn = {k: v for k, v in parameters.items() if k not in in_url}
    # asyncpg knows neither the variable nor that a service may be missing: it would take another server.
    if service := in_dsn.get("service") or os.environ.get("PGSERVICE"):
        in_dsn["service"] = service
        file = Path(os.environ.get("PGSERVICEFILE") or "~/.pg_service.conf").expanduser()
        services = ConfigParser(interpolation=None)
        if not services.read(file) or service not in services:
            raise ConfigError(f"the URL of the database names a service that is not in {file}: {service}")
    return url, f"postgresql://?{urlencode(in_dsn)}"


def _bound_silence(connection: Any, record: Any) -> None:
    """Let both ends of a new connection find it lost after `SILENT_S`."""
    # asyncpg has no option for the socket. Other loops' transports may have none.
    transport = getattr(record.driver_connection, "_transport", None)
    ours = None if transport is None else transport.get_extra_info("socket")
    if ours is not None and ours.family in (socket.AF_INET, socket.AF_INET6):
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _SOCKET:
            if (option := getattr(socket, name, None)) is not None:
                ours.setsockopt(socket.IPPROTO_TCP, option, value)
    # Loaded if PostgreSQL is used.
    from asyncpg import InterfaceError, InternalClientError, PostgresConnectionError

    try:
        connection.run_async(lambda driver: driver.execute(_END_SILENT, timeout=SILENT_S))
    except (InterfaceError, InternalClientError, PostgresConnectionError) as exc:
        # Of a connection that just ended. SQLAlchemy translates only those of statements that it runs itself.
        raise ConnectionResetError("the connection was lost") from exc


def _note_use(connection: Any, record: Any) -> None:
    _stop_waiting(record.info)
    record.info[_USED_AT] = time.monotonic()


def _test_if_idle(connection: Any, record: Any, proxy: object) -> None:
    """Raise `InvalidatePoolError`, for which the pool replaces its connections, if this one was lost.

    One that was used a moment ago is not tested: a lost one fails, and its work is tried again.
    """
    if time.monotonic() - record.info.get(_USED_AT, inf) < IDLE_S:
        return
    try:
        connection.run_async(lambda driver: driver.execute("SELECT 1", timeout=PING_S))
    except Exception as exc:  # asyncpg raises its internal errors, too, for a connection that just ended
        raise InvalidatePoolError("the connection was lost") from exc


_SOCKET = (
    ("TCP_KEEPIDLE", SILENT_S // 3),
    ("TCP_KEEPINTVL", SILENT_S // 3),
    ("TCP_KEEPCNT", 2),
    ("TCP_USER_TIMEOUT", SILENT_S * 1000),
)
"""Options of TCP that a system may have."""
_END_SILENT = f"SET idle_in_transaction_session_timeout = {SILENT_S * 1000}"
_USED_AT, _TIMER, _GAVE_UP = "used_at", "timer", "gave_up"
"""Keys in the notes on a connection."""
_SNAPSHOT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
_MARK = text(
    "INSERT INTO writers (writer, mark, at) VALUES (:writer, :mark, extract(epoch FROM clock_timestamp())) "
    "ON CONFLICT (writer) DO UPDATE SET mark = excluded.mark, at = excluded.at "
    "WHERE writers.mark <> excluded.mark RETURNING mark"
)
"""Returns no row if its transaction was committed before, and waits while that transaction is open."""
_DELETE_MARKS = text(
    "DELETE FROM writers WHERE writer = :writer OR at < extract(epoch FROM clock_timestamp()) - :seconds"
)
"""By the clock of the database: a machine whose clock is wrong must not delete the marks of others."""


def is_refusal(exc: BaseException) -> bool:
    """Whether the server works, but refuses the work that raised this."""
    return _state(exc).startswith(_REFUSED)


def _state(exc: BaseException) -> str:
    return getattr(getattr(exc, "orig", None), "sqlstate", None) or ""


def _is_lost(exc: DBAPIError | OSError) -> bool:
    """Whether the server, or the connection to it, is gone."""
    return isinstance(exc, OSError) or exc.connection_invalidated or _state(exc).startswith(_LOST)
