"""The options of `pnyx panel list`, `show` and `suggest`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import MODELS, complete, json_option

__all__ = ["panel"]


@click.group()
def panel() -> None:
    """List the saved panels, and choose the models of a panel.

    A panel is saved as [panels.NAME] in the settings, with seats, protocol, judge, roles, effort and budget.
    Ask it with `pnyx ask -P NAME`.
    """


@panel.command("list")
@json_option
def list_(as_json: bool) -> int:
    """List the saved panels, with the price of a question."""
    # Imported here so that help and completion start without the settings.
    from ..actions.saved_panels import list_panels

    return list_panels(as_json)


@panel.command()
@click.argument("name", metavar="NAME", shell_complete=complete("complete_panels"))
@json_option
def show(name: str, as_json: bool) -> int:
    """Print the saved panel NAME: its seats, its options, and what a question costs."""
    # Imported here so that help and completion start without the settings.
    from ..actions.saved_panels import show_panel

    return show_panel(name, as_json)


@panel.command()
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Recorded answers, or the --log of an evaluation. Default: judged runs.",
)
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="REF",
    shell_complete=MODELS,
    help="Only these models. Repeatable.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="With a table: only these rows. Repeatable.",
)
@click.option(
    "--most",
    type=click.IntRange(3, 9),
    default=5,
    show_default=True,
    metavar="N",
    help="The most models of a panel.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Random seed for the halves.",
)
@json_option
def suggest(**options: Any) -> int:
    """Suggest the cheapest panel that does about as well as the best one, from recorded answers.

    One half of the questions chooses panels and weighs their votes; the other half says how often they are
    right. It calls no model.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.panel import suggest

    return suggest(**options)
