"""The arguments of `pnyx backup` and `pnyx restore`."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["backup", "restore"]

FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.command()
@FILE
def backup(file: Path) -> int:
    """Write the whole database to the new FILE. Runs may continue meanwhile.

    FILE contains every question and answer, and the hashes of the server's API keys: protect it like the
    database itself.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.backup import backup

    return backup(file)


@click.command()
@FILE
@click.option("--with-keys", is_flag=True, help="Put the server's API keys and links of FILE in force too.")
def restore(file: Path, with_keys: bool) -> int:
    """Load the backup FILE into the configured database, which must be empty.

    A backup of SQLite can be loaded into PostgreSQL, and the reverse. Runs that were running are paused;
    continue them with `pnyx resume ID`. The API keys of the server are left out unless you ask for them.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.backup import restore

    return restore(file, with_keys)
