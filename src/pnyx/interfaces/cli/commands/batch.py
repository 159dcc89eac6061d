"""`pnyx batch`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, RUN_OPTIONS, concurrency, request_options

__all__ = ["batch"]

PATH = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command()
@click.argument("file", type=PATH, metavar="FILE|-")
@click.option("--out", type=PATH, metavar="FILE", help="Write results there and not to stdout.")
@concurrency
@request_options(*RUN_OPTIONS)
@click.option("--budget", type=AMOUNT, metavar="USD", help="Pause before the whole batch costs more.")
@click.option("--require-consensus", is_flag=True, help="Exit 3 unless every panel came to agree.")
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and cost; send and store nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Only results and errors.")
def batch(**given: Any) -> int:
    """Put every question of FILE to the panel, several at once, and write a JSON line for each result.

    A line of FILE is the text of a question in quotes, or an object such as {"id": "q1", "question": "…",
    "protocol": "voting", "models": ["lab:alpha*3"], "options": {"rounds": 2}}; what it leaves out is as the
    flags say. The same command, run again, goes on where it stopped, and pays for nothing twice.
    """
    # Help and completion need not wait for what a run imports.
    from ..actions.batch import batch

    return batch(**given)
