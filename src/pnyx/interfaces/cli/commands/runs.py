"""`pnyx runs`, `recall`, `status`, `show`, `export`, `cancel`: their flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ....core.decision import STATUSES
from ..options import json_option, run_id

__all__ = ["cancel", "export", "recall", "runs", "show", "status"]

FORMATS = ("json", "md", "html", "folder")
HELP = f"Only runs that are {', '.join(STATUSES)}."
evaluations = click.option("--evaluations", is_flag=True, help="Also those that evaluations asked for.")


def _limit(default: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    most = click.IntRange(1, 1_000_000)
    return click.option(
        "--limit", type=most, default=default, show_default=True, metavar="N", help="At most N."
    )


@click.command()
@click.option("--status", type=click.Choice(STATUSES), metavar="STATUS", help=HELP)
@_limit(20)
@evaluations
@json_option
def runs(**given: Any) -> int:
    """List the runs, newest first; with --json, a list of result objects."""
    # Help and completion need not wait for the database's libraries.
    from ..actions.runs import runs

    return runs(**given)


@click.command()
@click.argument("text")
@_limit(10)
@evaluations
@click.option("--plain", is_flag=True, help="No colour.")
@json_option
def recall(**given: Any) -> int:
    """Find earlier runs by words of their question, answer or dissent, best first.

    All the words of TEXT must occur, in any form ("debates" finds "debate") and without regard to case and
    accents; "double quotes" keep words together. Where no run has all of them, those that have some are
    told. With --json, a list of result objects, each with the `snippet` where the words stand.
    """
    # Help and completion need not wait for the database's libraries.
    from ..actions.runs import recall

    return recall(**given)


@click.command()
@run_id
@json_option
def status(**given: Any) -> int:
    """Say in a line how the run ID stands; with --json, print its result object."""
    # Help and completion need not wait for the database's libraries.
    from ..actions.runs import status

    return status(**given)


@click.command()
@run_id
@click.option("--plain", is_flag=True, help="No colour.")
@json_option
def show(**given: Any) -> int:
    """Print all of the run ID: the question, every reply under its seat and model, how it was decided.

    With --json, its result object with the list of its events.
    """
    # Help and completion need not wait for the database's libraries.
    from ..actions.runs import show

    return show(**given)


@click.command()
@run_id
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option(
    "--out", type=click.Path(), metavar="PATH", help="Where to; else stdout, and for a folder ./pnyx-ID."
)
def export(**given: Any) -> int:
    """Write the run ID as JSON (its result and its events), as a Markdown document, as a web page or as a
    folder.

    The page is one file, with no script and nothing from elsewhere. The folder is the one that
    `pnyx ask --artifacts` keeps; docs/protocols/council.md names its files. The same run gives the same
    bytes. Keys and passwords in force are masked.
    """
    # Help and completion need not wait for the database's libraries.
    from ..actions.runs import export

    return export(**given)


@click.command()
@run_id
def cancel(**given: Any) -> int:
    """End the run ID for good, also where another process runs it. One that is over stays as it is."""
    # Help and completion need not wait for the database's libraries.
    from ..actions.runs import cancel

    return cancel(**given)
