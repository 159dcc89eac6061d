"""`pnyx worker`: its flags."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["worker"]


@click.command()
@click.option("--concurrency", type=click.IntRange(1, 10_000), metavar="N", help="Runs at once. Default: 16.")
@click.option("-q", "--quiet", is_flag=True, help="Only what is wrong.")
def worker(**given: Any) -> int:
    """Carry out the runs that `pnyx serve --queue` puts into the queue of a PostgreSQL database.

    Any number of workers share one database, on any number of machines; give all of them the same settings
    and keys. Ctrl-C or SIGTERM stops within 10 seconds, and its runs wait for another worker; those of one
    that is killed are taken up by another. Needs `pip install 'pnyx[worker]'`.
    """
    # Help and completion need not wait for what a worker imports.
    from ..actions.worker import work

    return work(**given)
