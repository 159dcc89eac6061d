"""The options of `pnyx cost`."""

from __future__ import annotations

from typing import Any

import click

from ..options import json_option

__all__ = ["cost"]

BY = ("model", "provider", "protocol", "panel", "day", "run", "key")


@click.command()
@click.option("--by", type=click.Choice(BY), default="model", show_default=True, help="Group by this.")
@click.option("--days", type=click.IntRange(1, 36_500), metavar="N", help="Only the last N days (UTC).")
@json_option
def cost(**options: Any) -> int:
    """Show runs, calls, tokens and cost of all runs: of the command line, the server's keys and evaluations.

    Requests that failed count as calls, and runs that were deleted still count. If a price is unknown, the
    cost is shown as "at least" the known part.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.cost import cost

    return cost(**options)
