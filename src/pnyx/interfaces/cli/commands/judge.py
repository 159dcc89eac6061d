"""`pnyx feedback` and `calibration`: their flags."""

from __future__ import annotations

from typing import Any

import click

from ..options import json_option, run_id

__all__ = ["calibration", "feedback"]

RESULTS = ("success", "partial", "failure")


@click.command()
@run_id
@click.option(
    "--result", "verdict", type=click.Choice(RESULTS), required=True, help="Whether the decision was right."
)
@click.option("--answer", "truth", metavar="TEXT", help="The right answer, where it is short.")
@json_option
def feedback(**given: Any) -> int:
    """Say what became of the decision of the run ID.

    Confidence is calibrated on it, and the votes of models are weighed by how often they were right. Said
    again, it takes the place of what was said before.
    """
    # Help and completion need not wait for the database's libraries.
    from ..actions.judge import feedback

    return feedback(**given)


@click.command()
@json_option
def calibration(**given: Any) -> int:
    """Show how often decisions came true, by how sure they were, and what models' votes are worth."""
    # Help and completion need not wait for the database's libraries.
    from ..actions.judge import calibration

    return calibration(**given)
