"""The lease of a process on its runs: renewed while they go on, given back where one cannot.

A process may continue a run until `LEASE_S` after the last renewal that succeeded, by its monotonic clock.
Whatever keeps it from renewing the lease, it then interrupts the run itself: it sends nothing more. Should
another process have taken the run over already, the run's epoch refuses every write of this one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from sqlalchemy import Connection

from ..errors import StoreError
from ..store import Database
from ..store import runs as store
from .handle import RunHandle
from .lease import BEAT_S, LEASE_S

__all__ = ["LeaseKeeper"]

LOG = logging.getLogger("pnyx.run")

POLL_S = 0.5
"""How often other processes' requests to stop are looked for, in seconds."""


class LeaseKeeper:
    """Renews the lease of the runs in `handles`, and hears when another process wants one stopped.

    name: of this process. released: the status of a run that this process had to let go of.
    """

    def __init__(
        self, database: Database, name: str, handles: Mapping[str, RunHandle], released: str
    ) -> None:
        self._database, self._name, self._handles, self._released = database, name, handles, released
        self._stranded: list[tuple[str, Sequence[int]]] = []
        self._task: asyncio.Task[None] | None = None
        self._renewed_at = time.monotonic()
        self._failure = ""

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    @contextmanager
    def ours(self, run_id: str) -> Iterator[list[int]]:
        """Where a run becomes ours: given back if it is not launched then, or not ended.

        What is given is for its epoch, in the transaction that takes it: who only tried has nothing to give.
        """
        taken: list[int] = []
        try:
            yield taken
        except BaseException:
            self.let_go(run_id, taken)
            raise

    async def take(self, taken: list[int], take: Callable[[Connection], int]) -> None:
        """Have a run taken in one commit: what fails within would leave one that nobody is running.

        taken: see `ours`. take: gives its new epoch; raises `Running` where somebody else was faster.
        """

        def work(connection: Connection) -> None:
            taken.clear()  # of a try that was rolled back
            taken.append(take(connection))

        await self._database.write(work)

    def let_go(self, run_id: str, taken: Sequence[int]) -> None:
        """Give back, as soon as the database can be written, a run that is ours and that nobody runs.

        taken: its epoch, once it is ours; looked at only then, since what was queued to take it may still be.
        """
        self._stranded.append((run_id, taken))
        self.start()

    def _release(self, connection: Connection, run_id: str, taken: Sequence[int]) -> None:
        for epoch in taken:
            store.release(connection, run_id, epoch, self._released, self._name)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            try:
                # A write that hangs is a failure too: the lease runs out all the same.
                async with asyncio.timeout(LEASE_S / 2):
                    await self._round()
                self._failure = ""
            except Exception as exc:
                self._note(exc)
            self._stop_lapsed()

    async def _round(self) -> None:
        while self._stranded:
            run_id, taken = self._stranded[0]
            await self._database.write(partial(self._release, run_id=run_id, taken=taken))
            del self._stranded[0]
        if not self._handles:
            self._renewed_at = time.monotonic()
            return
        if (started := time.monotonic()) - self._renewed_at > BEAT_S:
            await self._database.write(lambda c: store.beat(c, self._name, time.time()))
            self._renewed_at = started
        stopped = await self._database.read(lambda c: store.stop_requests(c, self._name))
        for run_id, how in stopped.items():
            if run_id in self._handles:
                self._handles[run_id].context.stop_requests.request(how)

    def _note(self, exc: Exception) -> None:
        """Remember why this round failed. A database that is away comes back; anything else is a bug."""
        known = isinstance(exc, StoreError | TimeoutError)
        failure = str(exc) if isinstance(exc, StoreError) else type(exc).__name__
        if not known and failure != self._failure:
            LOG.error("the lease of this process's runs could not be renewed: %s", failure, exc_info=exc)
        self._failure = failure

    def _stop_lapsed(self) -> None:
        """Interrupt the runs whose lease may have run out: another process may take them over now.

        Calls in flight are still recorded if nobody has; the epoch decides. They are paid for.
        """
        lapsed = time.monotonic() - LEASE_S
        for handle in list(self._handles.values()):
            if max(self._renewed_at, handle.began_at) < lapsed:
                why = self._failure or "no reason known"
                handle.interrupt(f"its lease could not be renewed for {LEASE_S:g} s ({why})")
