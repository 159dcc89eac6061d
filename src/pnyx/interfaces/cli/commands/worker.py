"""The options of `pnyx worker`."""

from __future__ import annotations

from typing import Any

import click

from ..options import json_option

__all__ = ["worker"]


@click.group(invoke_without_command=True)
@click.option(
    "--concurrency", type=click.IntRange(1, 10_000), metavar="N", help="Runs in parallel. Default: 16."
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="What stderr has: text, or one JSON object a line. Default: text.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.pass_context
def worker(context: click.Context, /, **options: Any) -> int | None:
    """Carry out the runs that `pnyx serve --queue` queues in a PostgreSQL database.

    Any number of workers on any number of machines can share one database; all need the same settings and
    API keys. Ctrl-C or SIGTERM stops the worker within 10 seconds and returns its runs to the queue. If a
    worker is killed, another one continues its runs. After three killed workers, a run is held back: no
    worker takes it again by itself. Requires the extra `worker`.
    """
    if context.invoked_subcommand is not None:
        return None
    # Imported here so that help and completion start without what a worker needs.
    from ..actions.worker import work

    return work(**options)


@worker.command()
@json_option
def status(as_json: bool) -> int:
    """Show what waits, what runs where, and which runs are held back, and why."""
    # Imported here so that help and completion start without the database.
    from ..actions.worker import status

    return status(as_json)


@worker.command()
@click.argument("run_ids", metavar="ID", nargs=-1, required=True)
def retry(run_ids: tuple[str, ...]) -> int:
    """Put runs that are held back into the queue again."""
    # Imported here so that help and completion start without what a worker needs.
    from ..actions.worker import retry

    return retry(run_ids)


@worker.command()
@click.argument("run_ids", metavar="ID", nargs=-1, required=True)
def drop(run_ids: tuple[str, ...]) -> int:
    """End runs that are held back for good."""
    # Imported here so that help and completion start without what a worker needs.
    from ..actions.worker import drop

    return drop(run_ids)
