"""`pnyx feedback`, `calibration` and `eval`: their flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import json_option, run_id

__all__ = ["calibration", "eval_", "feedback"]

RESULTS = ("success", "partial", "failure")


@click.command()
@run_id
@click.option("--result", "verdict", type=click.Choice(RESULTS), required=True, help="What became of it.")
@click.option("--answer", "truth", metavar="TEXT", help="The right answer, where it is short.")
@json_option
def feedback(**given: Any) -> int:
    """Say what became of the decision of the run ID.

    Confidence is calibrated on it, and the votes of models are weighed by how often they were right. Said
    again, it takes the place of what was said before.
    """
    # Help and completion need not wait for the database's libraries.
    from .judging import feedback

    return feedback(**given)


@click.command()
@json_option
def calibration(**given: Any) -> int:
    """Show how often decisions came true, by how sure they were, and what models' votes are worth."""
    # Help and completion need not wait for the database's libraries.
    from .judging import calibration

    return calibration(**given)


@click.command("eval")
@click.option(
    "--answers",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Recorded answers, CSV or JSON Lines; see docs/evaluation.md.",
)
@click.option("-m", "--model", "models", multiple=True, metavar="NAME", help="Only these columns.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only these rows.")
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Halvings.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of their draw.")
@click.option("--labels", type=click.IntRange(min=1), metavar="N", help="Truths to learn from; else a half.")
@json_option
def eval_(**given: Any) -> int:
    """Compare ways to combine the answers of models on recorded answers; asks no model.

    Each rule learns on one half of the questions and is judged on the other.
    """
    # Only evaluation needs what is learned there.
    from .judging import evaluate

    return evaluate(**given)
