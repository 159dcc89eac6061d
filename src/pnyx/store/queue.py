"""Runs that wait for a worker, as jobs of procrastinate in the same PostgreSQL.

A job is a hint and holds only a run's id: what is true of the run stands in its row, so a job that is lost,
late or there twice does no harm. See design/worker.md. Of procrastinate the queue is used and not its worker,
which stops when the database goes away.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Set
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..config.database_url import Server, located
from ..errors import ConfigError, StoreError

if TYPE_CHECKING:
    from procrastinate import App

__all__ = ["Job", "Queue", "open_queue"]

TASK = "pnyx"
QUEUE, LEFT = "pnyx", "pnyx left"
"""For any worker, and for others than one that has left the run to them."""
SCHEMA = "pnyx_queue"
"""How the names of PostgreSQL schemas begin that hold queues. What follows stands for procrastinate's tables,
which differ between its releases: each has its own, and what waits is found in the rows of runs."""
WAIT_S = 5.0
"""How long a connection is waited for, in seconds."""
LOCK = 7265988
"""Taken in PostgreSQL while the schema is made."""


@dataclass(frozen=True, slots=True)
class Job:
    """tries: how often it was put back."""

    id: int
    run_id: str
    tries: int


class Queue:
    """Jobs in one database. All of it raises `StoreError` where that is away, and may be tried again."""

    def __init__(self, app: App, name: str) -> None:
        self._app, self._manager, self.name = app, app.job_manager, name
        self._self: int | None = None

    @classmethod
    async def open(cls, url: str) -> Queue:
        """As `open_queue`, for the caller to close."""
        server = _server(url)
        try:
            # An optional extra.
            import procrastinate
            import psycopg
            from procrastinate.schema import SchemaManager
        except ImportError as exc:
            raise ConfigError(f"the queue needs {exc.name}: pip install 'pnyx[worker]'") from exc
        tables = SchemaManager.get_schema()
        schema = f"{SCHEMA}_{hashlib.sha256(tables.encode()).hexdigest()[:8]}"
        parameters = _parameters(server)
        with _explained(name := server.name):
            async with await psycopg.AsyncConnection.connect(**parameters) as connection:
                await _make(connection, schema, tables)
            connector = procrastinate.PsycopgConnector(
                # Of two settings of one thing, the last one counts.
                kwargs=parameters | {"options": f"{parameters.get('options', '')} -c search_path={schema}"},
                min_size=1,
                max_size=4,
                timeout=WAIT_S,
                # Tried again whenever a connection is wanted, not with waits that grow to minutes.
                reconnect_timeout=2.0,
            )
            app = procrastinate.App(connector=connector)
            await app.open_async()
        return cls(app, name)

    async def close(self) -> None:
        """Give up this process's place: what jobs it still has are another one's."""
        with suppress(StoreError), _explained(self.name):
            if self._self is not None:
                await self._manager.unregister_worker(self._self)
        with suppress(StoreError), _explained(self.name):
            await self._app.close_async()

    async def defer(self, run_id: str) -> None:
        """Have a worker look at the run, unless a job that waits names it already."""
        # Only an installed extra can have made this queue.
        from procrastinate.exceptions import AlreadyEnqueued

        task = self._app.configure_task(TASK, allow_unknown=True, queue=QUEUE, queueing_lock=run_id)
        with _explained(self.name), suppress(AlreadyEnqueued):
            await task.defer_async(run_id=run_id)

    async def fetch(self, left: bool = True) -> Job | None:
        """The next job, which is this process's from now on; None: there is none that is due.

        left: whether it may be one that a worker has left to others.
        """
        with _explained(self.name):
            try:
                if self._self is None:
                    self._self = await self._manager.register_worker()
                job = await self._manager.fetch_job([QUEUE, LEFT] if left else [QUEUE], self._self)
            except Exception as exc:
                # Forgotten, as whoever says nothing for long: we are another one from now on.
                if type(exc.__cause__).__name__ == "ForeignKeyViolation":
                    self._self = None
                raise
        return None if job is None else _job(job)

    async def finish(self, job: Job) -> None:
        """The job has done what it was for, or another one has."""
        # Only an installed extra can have made this queue.
        from procrastinate.jobs import Status

        with _explained(self.name), _already_over():
            await self._manager.finish_job_by_id_async(job.id, Status.SUCCEEDED, delete_job=True)

    async def again(self, job: Job, after_s: float = 0.0, left: bool = False) -> None:
        """Put the job back for any worker, due in `after_s` seconds. left: to others, as for `fetch`."""
        # Only an installed extra can have made this queue.
        from procrastinate.exceptions import UniqueViolation

        due = datetime.now(UTC) + timedelta(seconds=after_s)
        try:
            with _explained(self.name, UniqueViolation), _already_over():
                await self._manager.retry_job_by_id_async(job.id, due, queue=LEFT if left else None)
        except UniqueViolation:
            await self.finish(job)  # another job that names the run waits already

    async def owns(self, job: Job) -> bool:
        """Whether the job is still this process's."""
        with _explained(self.name):
            found = await self._manager.list_jobs_async(id=job.id, worker_id=self._self, status="doing")
            return self._self is not None and bool(list(found))

    async def beat(self, lease_s: float) -> None:
        """Say that this process lives, and put back the jobs of those that have not for `lease_s` seconds."""
        with _explained(self.name):
            if self._self is not None:
                await self._manager.update_heartbeat(self._self)
            stalled = await self._manager.get_stalled_jobs(task_name=TASK, seconds_since_heartbeat=lease_s)
        for job in stalled:
            await self.again(_job(job))
        with _explained(self.name):
            await self._manager.prune_stalled_workers(10 * lease_s)

    async def strays(self, known: Set[int]) -> None:
        """Put back the jobs of this process that it does not know of: fetched, and the answer was lost."""
        if self._self is None:
            return
        with _explained(self.name):
            mine = await self._manager.list_jobs_async(task=TASK, worker_id=self._self, status="doing")
        for job in mine:
            if job.id not in known:
                await self.again(_job(job))

    async def named(self) -> dict[str, bool]:
        """The runs that jobs name: whether each one's job waits, or is somebody's."""
        with _explained(self.name):
            jobs = await self._manager.list_jobs_async(task=TASK)
        named: dict[str, bool] = {}
        for job in jobs:
            run_id = _job(job).run_id
            named[run_id] = named.get(run_id, False) or job.status == "todo"
        return named

    async def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard` whenever there is a new job, until the connection fails or this is cancelled."""

        async def on_notification(**_: Any) -> None:
            heard()

        with _explained(self.name):
            await self._manager.listen_for_jobs(on_notification=on_notification, queues=[QUEUE])


@asynccontextmanager
async def open_queue(url: str) -> AsyncIterator[Queue]:
    """The queue of the database at a URL, made where there is none.

    Raises `ConfigError` for another database than PostgreSQL and where procrastinate is not installed.
    """
    # They log what is told here, or tried again anyway; nothing but warnings, and on stderr.
    for name in ("procrastinate", "psycopg.pool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    queue = await Queue.open(url)
    try:
        yield queue
    finally:
        await queue.close()


def _server(url: str) -> Server:
    """Raises `ConfigError` for a database that cannot hold a queue."""
    try:
        where = located(url)
    except ValueError as exc:
        raise ConfigError(f"the URL of the database {exc}") from exc
    if not isinstance(where, Server):
        raise ConfigError(
            "the queue that workers share needs PostgreSQL: set [storage] url = "
            '"postgresql://USER@HOST/NAME", or PNYX_DATABASE'
        )
    return where


def _job(job: Any) -> Job:
    return Job(job.id, str(job.task_kwargs["run_id"]), job.attempts)


def _parameters(server: Server) -> dict[str, Any]:
    """What libpq is told: all but what is SQLAlchemy's."""
    told = {k: v for k, v in server.parameters.items() if k != "prepared_statement_cache_size"}
    return told | {"connect_timeout": round(WAIT_S)}


async def _make(connection: Any, schema: str, tables: str) -> None:
    """Make the schema with its tables, unless they are there; of several that come at once, one does."""
    # Only an installed extra gets here.
    from psycopg.sql import SQL, Identifier

    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    look = (
        "SELECT to_regnamespace(%(s)s) IS NOT NULL, to_regclass(%(s)s || '.procrastinate_jobs') IS NOT NULL"
    )
    has_schema, has_tables = await (await connection.execute(look, {"s": schema})).fetchone()
    if has_tables:
        return
    name = Identifier(schema)
    if not has_schema:
        await connection.execute(SQL("CREATE SCHEMA {}").format(name))
    await connection.execute(SQL("SET LOCAL search_path TO {}").format(name))
    await connection.execute(tables)


@contextmanager
def _explained(name: str, *but: type[Exception]) -> Iterator[None]:
    """Turns what the drivers raise into a `StoreError` that names the database. but: what is let through."""
    # Only an installed extra gets here.
    import psycopg
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except but:
        raise
    # A host's name that cannot be one is a UnicodeError.
    except (ConnectorException, psycopg.Error, OSError, UnicodeError) as exc:
        reason = str(exc.__cause__ or exc).partition("\n")[0]
        hint = ""
        if isinstance(exc, psycopg.errors.InsufficientPrivilege):
            hint = (
                "; the queue has a schema of its own there: let this user make it (GRANT CREATE ON DATABASE)"
            )
        raise StoreError(f"the queue in {name}: {reason}{hint}") from exc


@contextmanager
def _already_over() -> Iterator[None]:
    """Passes over that a job is gone, or is no longer this process's to change."""
    # Only an installed extra gets here.
    from procrastinate.exceptions import ConnectorException
    from psycopg.errors import RaiseException

    try:
        yield
    except ConnectorException as exc:
        if not isinstance(exc.__cause__, RaiseException):
            raise
