"""The options of `pnyx share`."""

from __future__ import annotations

from typing import Any

import click

from ..options import DURATION, complete, json_option

__all__ = ["share"]


@click.command()
@click.argument("run_id", metavar="[ID]", required=False, shell_complete=complete("complete_runs"))
@click.option(
    "--expires",
    "expires_s",
    type=DURATION,
    default="30d",
    show_default=True,
    metavar="TIME",
    help="How long the link is valid, such as 12h, 7d or 2w; at most 366d.",
)
@click.option("--list", "list_links", is_flag=True, help="List the links to the run ID, or to all runs.")
@click.option("--revoke", is_flag=True, help="Revoke the links to the run ID.")
@click.option("--link", metavar="LINK", help="With --revoke: only this link, by its id from --list.")
@click.option("--url", metavar="URL", help="The server's address for those who open the link.")
@json_option
def share(**options: Any) -> int:
    """Make a link to the page of the run ID that needs no key, and print it.

    Anyone with the link can read this run, also while it runs: question, debate and answer, without
    prompts, files and other runs. They can change nothing. The link opens while `pnyx serve` runs. It ends
    when it expires, with --revoke, or with the key of the run's owner. It is printed only once.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.share import share

    return share(**options)
