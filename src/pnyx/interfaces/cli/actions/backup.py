"""The actions of `pnyx backup` and `pnyx restore`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ....errors import ConfigError
from ....phrases import first_of
from ....store.copying import check_backup, keys_in
from ...process.open_settings import open_settings
from ...records.existing_database import missing_database, require_database
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import streams

__all__ = ["backup", "restore"]


def backup(file: Path) -> int:
    output, settings = streams(), open_settings()
    require_database(settings)
    if (missing := missing_database(settings)) is not None:
        raise ConfigError(f"there is nothing to back up: {missing} does not exist yet")
    rows = with_records(settings, lambda stored: stored.backup(file))
    output.note(f"{_describe(rows)} saved. Load them into an empty database with: pnyx restore {file}")
    output.out.line(str(file))
    return 0


def restore(file: Path, with_keys: bool) -> int:
    output = streams()
    check_backup(file)  # before a database is created for it
    rows = with_records(
        open_settings(), lambda stored: stored.restore(file, with_keys=with_keys), create=True
    )
    output.note(f"{_describe(rows)} restored")
    if names := keys_in(file):
        what, shown = quantity(len(names), "API key"), first_of(names, 20)
        output.note(
            f"{what} of the server put in force: {shown}"
            if with_keys
            else f"{what} of the server left out: {shown}. Create new ones with pnyx serve --new-key NAME, "
            "or restore with --with-keys"
        )
    return 0


def _describe(rows: Mapping[str, int]) -> str:
    return f"{quantity(rows['runs'], 'run')} with {quantity(rows['events'], 'event')}"
