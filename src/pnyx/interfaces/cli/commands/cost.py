"""`pnyx cost`: its flags."""

from __future__ import annotations

from typing import Any

import click

from ..options import json_option

__all__ = ["cost"]

BY = ("model", "provider", "protocol", "day", "run", "key")


@click.command()
@click.option("--by", type=click.Choice(BY), default="model", show_default=True, help="What a line is for.")
@click.option("--days", type=click.IntRange(1, 36_500), metavar="N", help="Only the last N days (UTC).")
@json_option
def cost(**given: Any) -> int:
    """Show what was asked and paid, all doors and evaluations together.

    Calls are requests, with those that failed. Where the price of some is unknown, so is the sum, and what is
    known of it is told.
    """
    # Help and completion need not wait for the database's libraries.
    from ..actions.cost import cost

    return cost(**given)
