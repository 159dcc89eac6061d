"""The options of `pnyx runs`, `recall`, `status`, `show`, `export` and `cancel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ....core.decision import STATUSES
from ..options import json_option, run_id

__all__ = ["cancel", "export", "recall", "runs", "show", "status"]

FORMATS = ("json", "md", "html", "folder")
HELP = f"Only runs with this status: {', '.join(STATUSES)}."
evaluations = click.option("--evaluations", is_flag=True, help="Include runs of evaluations.")


def _limit(default: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    most = click.IntRange(1, 1_000_000)
    return click.option(
        "--limit", type=most, default=default, show_default=True, metavar="N", help="At most N runs."
    )


@click.command()
@click.option("--status", type=click.Choice(STATUSES), metavar="STATUS", help=HELP)
@click.option("--tag", metavar="TAG", help="Only runs with this tag.")
@click.option("--pinned", is_flag=True, help="Only pinned runs.")
@_limit(20)
@evaluations
@json_option
def runs(**options: Any) -> int:
    """List runs, newest first. A run with a title is listed under it.

    --json prints a list of result objects; those of runs with labels have `title`, `tags` and `pinned` too.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.runs import runs

    return runs(**options)


@click.command()
@click.argument("text")
@_limit(10)
@evaluations
@click.option("--plain", is_flag=True, help="Print without colour.")
@json_option
def recall(**options: Any) -> int:
    """Search earlier runs by words in their question, answer or dissent, best match first.

    All words of TEXT must occur, in any form ("debates" finds "debate"), ignoring case and accents. Put a
    phrase in "double quotes". If no run contains all words, runs with some of them are listed. --json
    prints a list of result objects, each with a `snippet` around the matching words.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.runs import recall

    return recall(**options)


@click.command()
@run_id
@json_option
def status(**options: Any) -> int:
    """Print the status of the run ID in one line. --json prints its result object."""
    # Imported here so that help and completion start without the database libraries.
    from ..actions.runs import status

    return status(**options)


@click.command()
@run_id
@click.option("-v", "--verbose", is_flag=True, help="Also print the reasoning before each reply.")
@click.option("--all", "whole", is_flag=True, help="Print all events of a long run, not only the last 2,000.")
@click.option("--plain", is_flag=True, help="Print without colour.")
@json_option
def show(**options: Any) -> int:
    """Print the full transcript of the run ID: question, every reply with its seat and model, decision.

    Of a run of more than 2,000 events, it prints the last 2,000, or all with --all. --json prints its result
    object with the list of all its events.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.runs import show

    return show(**options)


@click.command()
@run_id
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="The format. Default: by the end of --out."
)
@click.option(
    "--out",
    type=click.Path(),
    metavar="PATH",
    help="The file or folder to write. Default: stdout, or ./pnyx-ID for a folder.",
)
def export(**options: Any) -> int:
    """Write the run ID as JSON (result and events), as Markdown, as an HTML page or as a folder.

    The page is one file without scripts or external resources. The folder is the one that
    `pnyx ask --artifacts` writes; docs/protocols/council.md lists its files. The same run always produces
    the same bytes. Configured API keys and passwords are masked.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.runs import export

    return export(**options)


@click.command()
@run_id
def cancel(**options: Any) -> int:
    """End the run ID for good, even if another process is running it. A finished run does not change."""
    # Imported here so that help and completion start without the database libraries.
    from ..actions.runs import cancel

    return cancel(**options)
