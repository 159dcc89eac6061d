"""The queue of runs for workers: jobs of procrastinate in the same PostgreSQL.

A job is a hint and holds only a run's id; the run's row has its state. So a job that is lost, late or
duplicated does no harm: design/worker.md. Only procrastinate's queue is used, not its worker, which stops
when the database goes away.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..config.database_url import Server, parse_database_url
from ..errors import ConfigError, StoreError
from ..extras import need
from .advisory_locks import AdvisoryLock
from .postgresql import SILENT_S, NoAnswerError
from .queue_shares import DECLINED, FETCH, WAITING, Share, definitions, fetch_arguments, owner_of, queue_of
from .store_errors import hint_for

if TYPE_CHECKING:
    from procrastinate import App

__all__ = ["Job", "Queue", "open_queue"]

TASK = "pnyx"
SCHEMA = "pnyx_queue"
"""Prefix of the PostgreSQL schemas that hold queues.

A hash of procrastinate's tables and of ours follows: they differ between releases, and each release has a
schema of its own. Waiting runs are found again from their rows.
"""
WAIT_S = 5.0
"""Seconds to wait for a connection."""
_SILENCE = {
    "keepalives_idle": SILENT_S // 3,
    "keepalives_interval": SILENT_S // 3,
    "keepalives_count": 2,
    "tcp_user_timeout": SILENT_S * 1000,
}
"""Parameters for libpq with which a connection over a network that carries nothing is lost."""
QUEUED = """
    SELECT run_id, bool_or(waits) AS waits FROM (
        SELECT queueing_lock AS run_id, true AS waits FROM procrastinate_jobs
        WHERE status = 'todo' AND queueing_lock = ANY (%(run_ids)s::text[])
        UNION ALL
        SELECT queueing_lock, false FROM procrastinate_jobs
        WHERE status = 'doing' AND queueing_lock = ANY (%(run_ids)s::text[])
    ) AS jobs GROUP BY run_id
"""
"""Finds waiting jobs by their index and reads those under way; never all that wait."""
_DIRECT = hint_for("unsupported startup parameter")


@dataclass(frozen=True, slots=True)
class Job:
    """A job for one run of an owner. tries: how often it was put back."""

    id: int
    run_id: str
    owner: str
    tries: int


class Queue:
    """The jobs of one database. Every method raises `StoreError` if it is away, and may be called again."""

    def __init__(self, app: App, name: str) -> None:
        self._app, self._manager, self.name = app, app.job_manager, name
        self._connector: Any = app.connector
        self._worker_id: int | None = None

    @classmethod
    async def open(cls, url: str) -> Queue:
        """Open a queue like `open_queue`; the caller closes it."""
        server = _server(url)
        need("worker", "the queue of runs")
        # An optional extra.
        import procrastinate
        import psycopg
        from procrastinate.schema import SchemaManager
        from procrastinate.sql import queries

        tables = SchemaManager.get_schema() + definitions(queries["fetch_job"])
        schema = f"{SCHEMA}_{hashlib.sha256(tables.encode()).hexdigest()[:8]}"
        parameters = _parameters(server)
        # The last of several settings of the same option applies. A pooler refuses or ignores them.
        parameters["options"] = f"{parameters.get('options', '')} -c search_path={schema}"
        with _store_errors(name := server.name):
            async with await psycopg.AsyncConnection.connect(**parameters) as connection:
                (path,) = await (await connection.execute("SHOW search_path")).fetchone() or ("",)
                if path != schema:
                    raise StoreError(f"the queue in {name}: a pooler ignores its options{_DIRECT}")
                await _create_schema(connection, schema, tables)
            connector = procrastinate.PsycopgConnector(
                kwargs=parameters,
                configure=_commit_each,
                min_size=1,
                max_size=4,
                timeout=WAIT_S,
                # Try again at every use, instead of with waits that grow to minutes.
                reconnect_timeout=2.0,
            )
            app = procrastinate.App(connector=connector)
            await app.open_async()
        return cls(app, name)

    async def close(self) -> None:
        """Unregister this process; the jobs that it still holds go to others."""
        with suppress(StoreError), _store_errors(self.name):
            if self._worker_id is not None:
                await self._manager.unregister_worker(self._worker_id)
        with suppress(StoreError), _store_errors(self.name):
            await self._app.close_async()

    async def defer(self, run_id: str, owner: str) -> None:
        """Add a job for a run of an owner, unless one is waiting."""
        # Only an installed extra can have made this queue.
        from procrastinate.exceptions import AlreadyEnqueued

        queue = queue_of(owner)
        task = self._app.configure_task(TASK, allow_unknown=True, queue=queue, queueing_lock=run_id)
        async with _limited(self.name):
            with suppress(AlreadyEnqueued):
                await task.defer_async(run_id=run_id)

    async def fetch(self, declined: bool = True, shares: Mapping[str, Share] | None = None) -> Job | None:
        """Take the next due job for this process, or return None if none may start.

        declined: also consider jobs that a worker declined. shares: of owners, see `queue_shares`.
        """
        kinds = [WAITING, DECLINED] if declined else [WAITING]
        async with _limited(self.name):
            try:
                if self._worker_id is None:
                    self._worker_id = await self._manager.register_worker()
                arguments = fetch_arguments(shares or {}) | {"kinds": kinds, "worker_id": self._worker_id}
                rows = await self._connector.execute_query_all_async(query=FETCH, **arguments)
            except Exception as exc:
                # Pruned after a long silence: register as a new worker.
                if type(exc.__cause__).__name__ == "ForeignKeyViolation":
                    self._worker_id = None
                raise
        return next((_job_of(row) for row in rows), None)

    async def finish(self, job: Job) -> None:
        """Delete a job that is done, by itself or by another job."""
        # Only an installed extra can have made this queue.
        from procrastinate.jobs import Status

        async with _limited(self.name), _ignore_missing_job():
            await self._manager.finish_job_by_id_async(job.id, Status.SUCCEEDED, delete_job=True)

    async def put_back(self, job: Job, after_s: float = 0.0, declined: bool = False) -> None:
        """Put the job back, due in `after_s` seconds. declined: leave it to other workers, see `fetch`."""
        # Only an installed extra can have made this queue.
        from procrastinate.exceptions import UniqueViolation

        queue = queue_of(job.owner, DECLINED) if declined else None
        try:
            async with _limited(self.name, UniqueViolation), _ignore_missing_job():
                # By the clock of the database, which decides what is due.
                row = await self._connector.execute_query_one_async(query="SELECT clock_timestamp() AS now")
                due = row["now"] + timedelta(seconds=after_s)
                await self._manager.retry_job_by_id_async(job.id, due, queue=queue)
        except UniqueViolation:
            await self.finish(job)  # another job for the run is waiting

    async def owns(self, job: Job) -> bool:
        """Whether this process still holds the job."""
        async with _limited(self.name):
            found = await self._manager.list_jobs_async(id=job.id, worker_id=self._worker_id, status="doing")
            return self._worker_id is not None and bool(list(found))

    async def beat(self, lease_s: float) -> None:
        """Send this process's heartbeat, and put back the jobs of processes silent for `lease_s` seconds."""
        async with _limited(self.name):
            if self._worker_id is not None:
                await self._manager.update_heartbeat(self._worker_id)
            stalled = await self._manager.get_stalled_jobs(task_name=TASK, seconds_since_heartbeat=lease_s)
        for job in stalled:
            await self.put_back(_job(job))
        async with _limited(self.name):
            await self._manager.prune_stalled_workers(10 * lease_s)

    async def put_back_strays(self, known: Set[int]) -> None:
        """Put back this process's jobs that are not in `known`: fetched, but the response was lost."""
        if self._worker_id is None:
            return
        async with _limited(self.name):
            jobs = await self._manager.list_jobs_async(task=TASK, worker_id=self._worker_id, status="doing")
        for job in jobs:
            if job.id not in known:
                await self.put_back(_job(job))

    async def queued_runs(self, run_ids: Sequence[str]) -> dict[str, bool]:
        """Return those of the runs that have a job: whether it waits (True) or a worker holds it (False)."""
        async with _limited(self.name):
            found = await self._connector.execute_query_all_async(query=QUEUED, run_ids=list(run_ids))
        return {row["run_id"]: row["waits"] for row in found}

    async def listen(self, on_job: Callable[[], None]) -> None:
        """Call `on_job` for every new job, until the connection fails or the task is cancelled."""

        async def on_notification(**_: Any) -> None:
            on_job()

        with _store_errors(self.name):
            await self._manager.listen_for_jobs(on_notification=on_notification, queues=None)


@asynccontextmanager
async def open_queue(url: str) -> AsyncIterator[Queue]:
    """Open the queue of the database at a URL, and create it if it does not exist.

    Raises `ConfigError` if the database is not PostgreSQL or procrastinate is not installed.
    """
    # They log to stderr what is raised here or tried again.
    for name in ("procrastinate", "psycopg"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    queue = await Queue.open(url)
    try:
        yield queue
    finally:
        await queue.close()


def _server(url: str) -> Server:
    """Return the server of a URL. Raises `ConfigError` if the database cannot hold a queue."""
    try:
        where = parse_database_url(url)
    except ValueError as exc:
        raise ConfigError(f"the URL of the database {exc}") from exc
    if not isinstance(where, Server):
        raise ConfigError(
            "the queue of workers needs PostgreSQL: set [storage] url = "
            '"postgresql://USER@HOST/NAME", or PNYX_DATABASE'
        )
    return where


def _job(job: Any) -> Job:
    return Job(job.id, str(job.task_kwargs["run_id"]), owner_of(job.queue), job.attempts)


def _job_of(row: Mapping[str, Any]) -> Job:
    return Job(row["id"], str(row["args"]["run_id"]), owner_of(row["queue_name"]), row["attempts"])


def _parameters(server: Server) -> dict[str, Any]:
    """Return the parameters for libpq: all except SQLAlchemy's own."""
    parameters = {k: v for k, v in server.parameters.items() if k != "prepared_statement_cache_size"}
    return _SILENCE | parameters | {"connect_timeout": round(WAIT_S), "client_encoding": "utf8"}


async def _commit_each(connection: Any) -> None:
    """Configure a connection: each statement of the queue is a transaction, and one answer of the server."""
    await connection.set_autocommit(True)


async def _create_schema(connection: Any, schema: str, tables: str) -> None:
    """Create the schema with its tables if they do not exist; only one of several processes does."""
    # Only an installed extra gets here.
    from psycopg.sql import SQL, Identifier

    await connection.execute(f"SELECT pg_advisory_xact_lock({AdvisoryLock.QUEUE_SCHEMA})")
    query = (
        "SELECT to_regnamespace(%(s)s) IS NOT NULL, to_regclass(%(s)s || '.procrastinate_jobs') IS NOT NULL"
    )
    has_schema, has_tables = await (await connection.execute(query, {"s": schema})).fetchone()
    if has_tables:
        return
    name = Identifier(schema)
    if not has_schema:
        await connection.execute(SQL("CREATE SCHEMA {}").format(name))
    await connection.execute(SQL("SET LOCAL search_path TO {}").format(name))
    await connection.execute(tables)


@asynccontextmanager
async def _limited(name: str, *except_for: type[Exception]) -> AsyncIterator[None]:
    """Turn exceptions as `_store_errors` does, and raise one if the server does not answer."""
    with _store_errors(name, *except_for):
        try:
            async with asyncio.timeout(SILENT_S) as limit:
                yield
        except Exception as exc:
            # What is interrupted raises errors of its own.
            if limit.expired():
                raise NoAnswerError(SILENT_S) from exc
            raise


@contextmanager
def _store_errors(name: str, *except_for: type[Exception]) -> Iterator[None]:
    """Turn exceptions of the drivers into a `StoreError` with the name of the database."""
    # Only an installed extra gets here.
    import psycopg
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except except_for:
        raise
    # An impossible host name raises a UnicodeError.
    except (ConnectorException, psycopg.Error, OSError, UnicodeError) as exc:
        cause = exc.__cause__ if isinstance(exc, ConnectorException) else None
        reason = str(cause or exc).partition("\n")[0]
        hint = hint_for(reason)
        if isinstance(exc, psycopg.errors.InsufficientPrivilege):
            hint = (
                "; the queue needs a schema of its own: allow this user to create it "
                "(GRANT CREATE ON DATABASE)"
            )
        raise StoreError(f"the queue in {name}: {reason}{hint}") from exc


@asynccontextmanager
async def _ignore_missing_job() -> AsyncIterator[None]:
    """Ignore that a job no longer exists, or no longer belongs to this process."""
    # Only an installed extra gets here.
    from procrastinate.exceptions import ConnectorException
    from psycopg.errors import RaiseException

    try:
        yield
    except ConnectorException as exc:
        if not isinstance(exc.__cause__, RaiseException):
            raise
