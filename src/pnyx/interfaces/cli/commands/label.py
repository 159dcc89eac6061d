"""The options of `pnyx tag` and `pnyx delete`."""

from __future__ import annotations

from typing import Any

import click

from ..options import complete, json_option, run_id

__all__ = ["delete", "tag"]


@click.command()
@run_id
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--remove", "removed", multiple=True, metavar="TAG", help="Remove this tag. Can be repeated.")
@click.option("--title", metavar="TEXT", help='Show TEXT in place of the question; "" shows the question.')
@click.option("--pin/--unpin", "pinned", default=None, help="Pin the run, or unpin it.")
@json_option
def tag(**options: Any) -> int:
    """Give the run ID tags or a title, or pin it, and print its labels.

    `pnyx runs --tag TAG` and `pnyx runs --pinned` list such runs, and `pnyx prune --keep tagged,pinned`
    keeps them.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.label import tag

    return tag(**options)


@click.command()
@click.argument("run_ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete("complete_runs"))
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation on a terminal.")
def delete(**options: Any) -> int:
    """Delete the runs ID for good: questions, answers, events and words to search.

    What they cost stays in `pnyx cost`, and what they taught with `pnyx feedback` stays too. A run that is
    under way is refused: cancel it first.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.label import delete

    return delete(**options)
