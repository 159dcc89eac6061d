"""The options of `pnyx prune`."""

from __future__ import annotations

from typing import Any

import click

from ..options import json_option

__all__ = ["prune"]


@click.command()
@click.option("--older-than", metavar="AGE", help="Age, such as 90d or 12h. Default: [storage] retention.")
@click.option(
    "--keep",
    metavar="WHAT",
    help="Keep these old runs: tagged, pinned, feedback, separated by commas; none keeps no old run. "
    "Default: [storage] keep, which is all three.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation on a terminal.")
@json_option
def prune(**options: Any) -> int:
    """Delete old runs of all owners, evaluations included, and give their space back.

    A run is old if it began and last changed before AGE. What runs cost stays in `pnyx cost`, and what
    they taught stays too. Runs under way are kept. Others can use the database meanwhile.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.prune import prune

    return prune(**options)
