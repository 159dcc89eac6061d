"""The options of `pnyx batch`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, RUN_OPTIONS, concurrency, request_options

__all__ = ["batch"]

PATH = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command()
@click.argument("file", type=PATH, metavar="FILE|-")
@click.option("--out", type=PATH, metavar="FILE", help="Write results to FILE instead of stdout.")
@concurrency
@request_options(*RUN_OPTIONS)
@click.option("--budget", type=AMOUNT, metavar="USD", help="Stop before the whole batch costs more.")
@click.option("--require-consensus", is_flag=True, help="Exit with 3 unless every panel agrees.")
@click.option("--dry-run", is_flag=True, help="Estimate calls, tokens and cost; send nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Print only results and errors.")
def batch(**options: Any) -> int:
    """Ask the panel every question in FILE, several in parallel, and write each result as a JSON line.

    A line of FILE is a question as a JSON string, or an object such as {"id": "q1", "question": "…",
    "protocol": "voting", "models": ["lab:alpha*3"], "options": {"rounds": 2}}. Options that it leaves out
    come from the command line. Run the same command again to continue where it stopped; nothing is paid
    twice.
    """
    # Imported here so that help and completion start without what a run needs.
    from ..actions.batch import batch

    return batch(**options)
