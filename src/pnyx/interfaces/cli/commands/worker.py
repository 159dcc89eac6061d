"""The options of `pnyx worker`."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["worker"]


@click.command()
@click.option(
    "--concurrency", type=click.IntRange(1, 10_000), metavar="N", help="Runs in parallel. Default: 16."
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="What stderr has: text, or one JSON object a line. Default: text.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
def worker(**options: Any) -> int:
    """Carry out the runs that `pnyx serve --queue` queues in a PostgreSQL database.

    Any number of workers on any number of machines can share one database; all need the same settings and
    API keys. Ctrl-C or SIGTERM stops the worker within 10 seconds and returns its runs to the queue. If a
    worker is killed, another one continues its runs. Requires the extra `worker`.
    """
    # Imported here so that help and completion start without what a worker needs.
    from ..actions.worker import work

    return work(**options)
