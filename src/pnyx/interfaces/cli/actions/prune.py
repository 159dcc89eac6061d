"""The action of `pnyx prune`."""

from __future__ import annotations

import sys

import click

from ....config.schema import KEEP, Settings
from ....errors import StoreError, UsageError
from ....store.records.pruning import Prunable, Rule
from ....times import parse_duration
from ...process.open_settings import open_settings
from ...records import retention
from ...records.existing_database import require_database
from ...records.runs import RunRecords
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import Output, streams

__all__ = ["prune"]

NONE = "no run is old enough"
WORTH_SAYING = 50_000
"""Bytes that show in a size."""


def prune(older_than: str | None, keep: str | None, dry_run: bool, yes: bool, as_json: bool) -> int:
    output, settings = streams(), open_settings()
    require_database(settings)
    age_s, names = _age(settings, older_than), _kept(settings, keep)

    async def look(stored: RunRecords) -> tuple[Rule, Prunable]:
        rule = retention.rule_of(age_s, names, stored.now())
        return rule, await stored.prunable(rule)

    rule, found = with_records(settings, look)
    if dry_run:
        if as_json:
            output.json(_document(rule, found, dry_run, 0, 0))
        else:
            output.out.line(f"would delete {_describe(found)}" if found.runs else NONE)
        return 0
    if found.runs and not yes and sys.stdin is not None and sys.stdin.isatty():
        output.note(_describe(found))
        if not click.confirm("Delete them for good?", err=True):
            raise click.Abort
    deleted, freed = with_records(settings, lambda stored: _prune(stored, rule, output))
    if as_json:
        output.json(_document(rule, found, dry_run, deleted, freed))
    else:
        what = f"deleted {quantity(deleted, 'run')}" if found.runs else NONE
        smaller = f"; the database is {_size(freed)} smaller" if found.runs or freed > WORTH_SAYING else ""
        output.out.line(f"{what}{smaller}")
    return 0


async def _prune(stored: RunRecords, rule: Rule, output: Output) -> tuple[int, int]:
    shown = 0

    def progress(deleted: int) -> None:
        nonlocal shown
        if deleted - shown >= 1000:
            shown = deleted
            output.note(f"{quantity(deleted, 'run')} deleted so far")

    deleted = await retention.prune(stored, rule, progress)
    try:
        # Also of runs that were deleted before, and what a conversion has freed.
        return deleted, await stored.give_back_space(rewrite=True)
    except StoreError:
        if deleted:
            raise
        return 0, 0  # nothing was asked for but old runs


def _age(settings: Settings, older_than: str | None) -> float:
    age = older_than or settings.storage.retention
    if age is None:
        raise UsageError("how old? Pass --older-than AGE, such as 90d, or set retention in [storage]")
    try:
        return parse_duration(age)
    except ValueError as exc:
        raise UsageError(f"--older-than: {exc}") from None


def _kept(settings: Settings, keep: str | None) -> tuple[str, ...]:
    names = settings.storage.keep if keep is None else tuple(filter(None, map(str.strip, keep.split(","))))
    if not names and keep is not None:
        # As of a variable of a script that is not set.
        raise UsageError(f"--keep names nothing; it can name {', '.join(KEEP)}, or be none")
    if names == ("none",):
        names = ()
    if unknown := [name for name in names if name not in KEEP]:
        raise UsageError(f"--keep: unknown {unknown[0][:40]!r}; it can name {', '.join(KEEP)}, or be none")
    return names


def _describe(found: Prunable) -> str:
    first, last = (found.first or "")[:10], (found.last or "")[:10]
    days = first if first == last else f"{first} to {last}"
    what = f"{quantity(found.runs, 'run')} ({days}) with {quantity(found.events, 'event')}"
    return f"{what}, about {_size(found.size)}"


def _size(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _document(rule: Rule, found: Prunable, dry_run: bool, deleted: int, freed: int) -> dict[str, object]:
    return {
        "before": rule.before,
        "keep": list(rule.keep),
        "dry_run": dry_run,
        "runs": found.runs,
        "events": found.events,
        "bytes": found.size,
        "deleted_runs": deleted,
        "freed_bytes": freed,
    }
