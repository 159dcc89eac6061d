"""Deletes old runs, once on command, or again and again in a server or worker with `[storage] retention`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from ...config.schema import StorageSettings
from ...errors import PnyxError
from ...store.records.pruning import Rule
from ...times import parse_duration, stamp
from ..views.transcript import quantity
from .runs import RunRecords

__all__ = ["prune", "retention", "rule_of"]

BATCH = 20
"""Runs that one transaction looks at."""
PAUSE_S = 0.02
"""Seconds between two transactions, in which others write."""
EVERY_S = 3600.0
"""Seconds between two looks of a server or worker for old runs."""


def rule_of(age_s: float, keep: Collection[str], now: str) -> Rule:
    """Return the rule for runs older than `age_s` seconds. keep: as in `Rule`. now: of the database."""
    return Rule(stamp(datetime.fromisoformat(now) - timedelta(seconds=age_s)), tuple(keep))


async def prune(
    stored: RunRecords, rule: Rule, progress: Callable[[int], None] = lambda deleted: None
) -> int:
    """Delete the runs of a rule, in small transactions, and return their number. Raises `StoreError`.

    progress: called with the number of those that are deleted. What is deleted stays so if it is interrupted.
    """
    deleted, after = 0, None
    while True:
        pruned = await stored.prune_some(rule, BATCH, after)
        deleted, after = deleted + pruned.runs, pruned.after
        progress(deleted)
        if after is None:
            return deleted
        await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def retention(
    stored: RunRecords, settings: StorageSettings, note: Callable[[str], None], problem: Callable[[str], None]
) -> AsyncIterator[None]:
    """Delete runs that are older than `[storage] retention` for as long as the context is open, if it is set.

    note, problem: print a line for the operator.
    """
    if settings.retention is None:
        yield
        return
    task = asyncio.create_task(_repeat(stored, settings, note, problem))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _repeat(
    stored: RunRecords, settings: StorageSettings, note: Callable[[str], None], problem: Callable[[str], None]
) -> None:
    assert settings.retention is not None, "the caller looks"
    while True:
        try:
            rule = rule_of(parse_duration(settings.retention), settings.keep, stored.now())
            if deleted := await prune(stored, rule):
                await stored.give_back_space(rewrite=False)
                what = f"{quantity(deleted, 'run')} older than {settings.retention}"
                note(f"deleted {what} ([storage] retention)")
        except PnyxError as exc:
            problem(f"old runs are not deleted: {exc}")
        await asyncio.sleep(EVERY_S)
