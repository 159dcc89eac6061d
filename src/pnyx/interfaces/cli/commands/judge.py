"""The options of `pnyx feedback` and `pnyx calibration`."""

from __future__ import annotations

from typing import Any

import click

from ..options import json_option, run_id

__all__ = ["calibration", "feedback"]

RESULTS = ("success", "partial", "failure")


@click.command()
@run_id
@click.option("--result", "verdict", type=click.Choice(RESULTS), required=True, help="Was the answer right?")
@click.option("--answer", "truth", metavar="TEXT", help="The right answer, if it is short.")
@json_option
def feedback(**options: Any) -> int:
    """Record whether the answer of the run ID was right.

    Feedback calibrates confidence, and weighs the votes of models by how often they were right. New
    feedback on a run replaces the old.
    """
    # Imported here so that help and completion start without the database libraries.
    from ..actions.judge import feedback

    return feedback(**options)


@click.command()
@json_option
def calibration(**options: Any) -> int:
    """Show how often answers were right at each level of confidence, and the weight of each model's vote."""
    # Imported here so that help and completion start without the database libraries.
    from ..actions.judge import calibration

    return calibration(**options)
