"""What `pnyx backup` and `restore` do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from ....config.load import database_url
from ....store import Database, copying
from ...open_settings import open_settings
from ...views.transcript import quantity
from ..terminal.output import streams

__all__ = ["backup", "restore"]

Copy = Callable[[Database, Path], Awaitable[Mapping[str, int]]]


def backup(file: Path) -> int:
    output = streams()
    rows = asyncio.run(_copied(copying.backup, file))
    output.note(f"{_told(rows)}; `pnyx restore {file}` puts them into an empty database")
    output.out.line(str(file))
    return 0


def restore(file: Path) -> int:
    output = streams()
    output.note(f"{_told(asyncio.run(_copied(copying.restore, file)))} restored")
    return 0


async def _copied(copy: Copy, file: Path) -> Mapping[str, int]:
    database = await Database.open(database_url(open_settings()))
    try:
        return await copy(database, file)
    finally:
        await database.close()


def _told(rows: Mapping[str, int]) -> str:
    return f"{quantity(rows['runs'], 'run')} with {quantity(rows['events'], 'event')}"
