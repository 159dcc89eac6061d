"""`pnyx backup` and `restore`: their arguments."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["backup", "restore"]

FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.command()
@FILE
def backup(file: Path) -> int:
    """Write all that is stored to the new FILE, while runs may go on.

    It holds every question and answer, and the hashes of the server's keys: keep it as you keep those.
    """
    # Help and completion need not wait for the database's libraries.
    from ..actions.backup import backup

    return backup(file)


@click.command()
@FILE
def restore(file: Path) -> int:
    """Put what is in the backup FILE into the database in force, which must be empty.

    That may be SQLite or PostgreSQL, whichever the backup is of. A run that was under way is paused; `pnyx
    resume` goes on with it.
    """
    # Help and completion need not wait for the database's libraries.
    from ..actions.backup import restore

    return restore(file)
