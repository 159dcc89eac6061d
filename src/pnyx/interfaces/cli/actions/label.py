"""The actions of `pnyx tag` and `pnyx delete`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ....store.records.labels import LabelChange, Labels
from ....store.records.runs import RunRow
from ...process.open_settings import open_settings
from ...records.existing_database import require_database
from ...records.runs import RunRecords
from ...render.terminal import clip, flat, wrap
from ...views.records import Record
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import streams

__all__ = ["delete", "label_words", "tag"]


def tag(
    run_id: str,
    tags: Sequence[str],
    removed: Sequence[str],
    title: str | None,
    pinned: bool | None,
    as_json: bool,
) -> int:
    output, settings = streams(), open_settings()
    change = LabelChange(title=title, add=tags, remove=removed, pinned=pinned)

    async def work(stored: RunRecords) -> Record:
        if change == LabelChange():
            return await stored.summary(run_id)
        return await stored.summary((await stored.label(run_id, change)).id)

    record = with_records(settings, work)
    if as_json:
        output.json({"run_id": record.row.id, **record.labels.to_json()})
    else:
        line = flat(f"run {record.row.id}: {label_words(record.labels) or 'no labels'}")
        output.out.lines([line] if output.out.width is None else wrap(line, output.out.width))
    return 0


def label_words(labels: Labels) -> str:
    """The labels of a run in words; empty without any."""
    tags = f"tags {', '.join(labels.tags)}" if labels.tags else ""
    return " · ".join(filter(None, (labels.title, tags, "pinned" if labels.pinned else "")))


def delete(run_ids: Sequence[str], yes: bool) -> int:
    output, settings = streams(), open_settings()
    require_database(settings)

    async def find(stored: RunRecords) -> list[RunRow]:
        found = [await stored.find(run_id) for run_id in run_ids]
        return list({row.id: row for row in found}.values())

    async def work(stored: RunRecords) -> None:
        for row in rows:
            await stored.delete(row.id)
            output.err.line(f"run {row.id} is deleted")

    rows = with_records(settings, find)
    if not yes and sys.stdin is not None and sys.stdin.isatty():
        for row in rows:
            output.note(f"{row.id}  {clip(flat(row.question), 60)}")
        if not click.confirm(f"Delete {quantity(len(rows), 'run')} for good?", err=True):
            raise click.Abort
    with_records(settings, work)
    return 0
