"""Whether the run of an external request may start: room of the server, and limits of its key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from ...config.tables.server import KeyLimits
from ...errors import Full, OverLimit
from ...run.leases.runs_at_once import RETRY_S, check_runs_at_once, too_many_runs
from ...run.runner import Runner
from ...run.spec import Spec
from ..records.runs import RunRecords
from .fair_slots import FairSlots
from .key_quota import KeyQuota

__all__ = ["Capacity"]

MOST_WAITING = 1000
"""Runs of one owner that wait for their turn."""
STOPPING = "the server is stopping; try again when it is back"


class Capacity:
    """The room for runs in one process. queued: its runs wait for workers, which have the room."""

    def __init__(self, runner: Runner, records: RunRecords, *, queued: bool) -> None:
        self._runner, self._queued, self._serve = runner, queued, runner.settings.serve
        self.quota = KeyQuota(records)
        self.slots = FairSlots(self._serve.runs, runner.local.by_owner)
        runner.local.on_ended = self.slots.pass_on

    @asynccontextmanager
    async def hold(self, limits: KeyLimits, spec: Spec, resumed: str | None = None) -> AsyncIterator[None]:
        """Hold one of the runs that `[serve] runs` allows while a run starts, after waiting for a turn.

        limits: of its owner's key. spec, resumed: as for `KeyQuota.check`. Raises `Full`, and `OverLimit` for
        the limits of the key.
        """
        if self._runner.stopping:
            raise Full(STOPPING)
        owner = spec.owner
        if not self._queued:
            # Before the quota, which counts what the run brings.
            self._check_runs(owner, limits.runs_at_once)
        await self.quota.check(owner, limits, spec, resumed)
        if self._queued:
            # A worker runs it, and has the limits on running ones.
            yield
            return
        if limits.runs_at_once is not None:
            # Checked once more in the transaction that starts the run; a refusal there delays other writes.
            check = partial(check_runs_at_once, settings=self._runner.settings, owner=owner, alone=False)
            await self._runner.database.read(check)
        self._check_runs(owner, limits.runs_at_once)
        try:
            await self.slots.acquire(owner, self._serve.wait_s)
        except TimeoutError:
            raise self._no_turn(owner) from None
        try:
            if self._runner.stopping:
                raise Full(STOPPING)
            yield
        finally:
            self.slots.release(owner)

    def _check_runs(self, owner: str, most: int | None) -> None:
        held, waiting = self.slots.held(owner), self.slots.waiting(owner)
        if most is not None and held + waiting >= most:
            raise too_many_runs(owner, held + waiting, most)
        if waiting >= MOST_WAITING:
            raise OverLimit(
                f"this key has {held} runs under way and {waiting} waiting for their turn; try again later",
                RETRY_S,
            )

    def _no_turn(self, owner: str) -> OverLimit:
        """The error for a run whose turn has not come. An owner without runs has its turn at once."""
        return OverLimit(
            f"{self._serve.runs} runs are under way, the limit of [serve] runs, {self.slots.held(owner)} of "
            f"them this key's, and none ended within {self._serve.wait_s:g} s; try again later",
            RETRY_S,
        )
