"""`pnyx runs`, `status`, `show`, `export`, `cancel`: their flags."""

from __future__ import annotations

from typing import Any

import click

from .options import json_option, run_id

__all__ = ["cancel", "export", "runs", "show", "status"]

DECIDED = ("consensus", "majority", "plurality", "decided", "deadlock", "single")
STATUSES = (*DECIDED, "failed", "cancelled", "paused", "running")
HELP = f"Only runs that are {', '.join(STATUSES)}."


@click.command()
@click.option("--status", type=click.Choice(STATUSES), metavar="STATUS", help=HELP)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="At most N."
)
@click.option("--evaluations", is_flag=True, help="Also those that evaluations asked for.")
@json_option
def runs(**given: Any) -> int:
    """List the runs, newest first; with --json, a list of result objects."""
    # Help and completion need not wait for the database's libraries.
    from .recorded import runs

    return runs(**given)


@click.command()
@run_id
@json_option
def status(**given: Any) -> int:
    """Say in a line how the run ID stands; with --json, print its result object."""
    # Help and completion need not wait for the database's libraries.
    from .recorded import status

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
    from .recorded import show

    return show(**given)


@click.command()
@run_id
@click.option(
    "--format", "form", type=click.Choice(("json", "md", "folder")), required=True, help="What to write."
)
@click.option(
    "--out", type=click.Path(), metavar="PATH", help="Where to; else stdout, and for a folder ./pnyx-ID."
)
def export(**given: Any) -> int:
    """Write the run ID as JSON (its result and its events), as a Markdown document or as a folder.

    The folder is the one that `pnyx ask --artifacts` keeps; docs/protocols/council.md
    names its files. The same run gives the same bytes. Keys and passwords in force are masked.
    """
    # Help and completion need not wait for the database's libraries.
    from .recorded import export

    return export(**given)


@click.command()
@run_id
def cancel(**given: Any) -> int:
    """End the run ID for good, also where another process runs it. One that is over stays as it is."""
    # Help and completion need not wait for the database's libraries.
    from .recorded import cancel

    return cancel(**given)
