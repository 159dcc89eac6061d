"""Renews the lease of a process on its runs, and releases runs that cannot continue.

A process may continue a run until `LEASE_S` after the last successful renewal, by its monotonic clock. Then
it interrupts the run itself, for whatever reason the renewal fails. If another process has taken over the
run, the run's epoch refuses every write of this one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from sqlalchemy import Connection

from ...errors import StoreError
from ...store import Database
from ...store.records import leases
from ..handle import RunHandle
from .lease import BEAT_S, LEASE_S

__all__ = ["LeaseKeeper"]

LOG = logging.getLogger("pnyx.run")

POLL_S = 0.5
"""Seconds between checks for stop requests of other processes."""


class LeaseKeeper:
    """Renews the lease of the runs in `handles`, and passes stop requests of other processes to them.

    name: of this process. release_status: the status of a run that this process releases.
    """

    def __init__(
        self, database: Database, name: str, handles: Mapping[str, RunHandle], release_status: str
    ) -> None:
        self._database, self._name, self._handles, self._release_status = (
            database,
            name,
            handles,
            release_status,
        )
        self._unreleased: list[tuple[str, Sequence[int]]] = []
        self._task: asyncio.Task[None] | None = None
        self._renewed_at = time.monotonic()
        self._failure = ""

    def start(self) -> None:
        """Start the task that renews the lease, if it is not running."""
        if self._task is None:
            self._task = asyncio.create_task(self._loop())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        # Else they would seem to run until this process ends.
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(POLL_S):
                await self._release_all()

    @contextmanager
    def ownership(self, run_id: str) -> Iterator[list[int]]:
        """Release the run if the block that takes it raises.

        Yields a list for its epoch, which is added in the transaction that takes the run; if that fails there
        is nothing to release.
        """
        epochs: list[int] = []
        try:
            yield epochs
        except BaseException:
            self.release_later(run_id, epochs)
            raise

    async def take(self, epochs: list[int], take: Callable[[Connection], int]) -> None:
        """Take a run in one commit, since a partial one would leave a run that no process runs.

        epochs: see `ownership`. take: returns the new epoch; raises `Running` if another process was faster.
        """

        def work(connection: Connection) -> None:
            epochs.clear()  # from an attempt that was rolled back
            epochs.append(take(connection))

        await self._database.write(work)

    def release_later(self, run_id: str, epochs: Sequence[int]) -> None:
        """Release a run that is ours and does not run, as soon as the database can be written.

        epochs: its epoch, once it is ours. Read only at the release, since taking it may still be queued.
        """
        self._unreleased.append((run_id, epochs))
        self.start()

    def _release(self, connection: Connection, run_id: str, epochs: Sequence[int]) -> None:
        for epoch in epochs:
            leases.release(connection, run_id, epoch, self._release_status, self._name)

    async def _loop(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            try:
                # A write that hangs is a failure too: the lease expires all the same.
                async with asyncio.timeout(LEASE_S / 2):
                    await self._renew()
                self._failure = ""
            except Exception as exc:
                self._record_failure(exc)
            self._interrupt_expired()

    async def _release_all(self) -> None:
        while self._unreleased:
            run_id, epochs = self._unreleased[0]
            await self._database.write(partial(self._release, run_id=run_id, epochs=epochs))
            del self._unreleased[0]

    async def _renew(self) -> None:
        await self._release_all()
        if not self._handles:
            self._renewed_at = time.monotonic()
            return
        if (started := time.monotonic()) - self._renewed_at > BEAT_S:
            await self._database.write(lambda c: leases.beat(c, self._name))
            self._renewed_at = started
            await self._database.compare_clocks()
        requests = await self._database.read(lambda c: leases.stop_requests(c, self._name))
        for run_id, how in requests.items():
            if run_id in self._handles:
                self._handles[run_id].context.stop_requests.request(how)

    def _record_failure(self, exc: Exception) -> None:
        """Remember why the renewal failed. Log it unless the database is unavailable: it is a bug then."""
        is_outage = isinstance(exc, StoreError | TimeoutError)
        failure = str(exc) if isinstance(exc, StoreError) else type(exc).__name__
        if not is_outage and failure != self._failure:
            LOG.error("the lease of this process's runs could not be renewed: %s", failure, exc_info=exc)
        self._failure = failure

    def _interrupt_expired(self) -> None:
        """Interrupt the runs whose lease may have expired: another process may take them over now.

        Replies in flight cost money, and are still recorded unless another process took over; the epoch
        decides.
        """
        expired = time.monotonic() - LEASE_S
        for handle in list(self._handles.values()):
            if max(self._renewed_at, handle.started_at) < expired:
                why = self._failure or "for an unknown reason"
                handle.interrupt(f"its lease could not be renewed for {LEASE_S:g} s ({why})")
