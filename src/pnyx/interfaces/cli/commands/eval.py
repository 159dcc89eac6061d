"""The options of `pnyx eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, MODELS, concurrency, json_option

__all__ = ["eval_"]

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("eval")
@click.argument("dataset", required=False)
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="REF",
    shell_complete=MODELS,
    help="A model of the panel. Repeatable.",
)
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="PROTOCOL[:OPTIONS]",
    help="A protocol to compare with single models, such as voting, council:quick or consensus:rounds=2. "
    "Repeatable. Default: voting and the configured protocol.",
)
@click.option(
    "--self-consistency/--no-self-consistency",
    "samples",
    default=True,
    show_default=True,
    help="Also compare with the best model, sampled for the same cost as the panel.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="REF",
    shell_complete=MODELS,
    help="A model to compare with that joins no panel. Repeatable.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Random seed for labels, folds and halves.",
)
@click.option("--budget", type=AMOUNT, metavar="USD", help="Cap for the whole evaluation.")
@concurrency
@click.option(
    "--judge",
    metavar="REF",
    shell_complete=MODELS,
    help="The model that grades free text. Default: the first model.",
)
@click.option("--log", type=FILE, metavar="FILE", help="Write every answer as a JSON line.")
@click.option("--html", type=FILE, metavar="FILE", help="Write the report as an HTML page with plots.")
@click.option("--replay", type=FILE, metavar="FILE", help="Print the report of a --log file; calls no model.")
@click.option("--answers", type=FILE, metavar="FILE", help="Vote on recorded answers; calls no model.")
@click.option(
    "--where", multiple=True, metavar="COLUMN=VALUE", help="With --answers: only these rows. Repeatable."
)
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="With --answers: number of random halves.",
)
@click.option(
    "--labels",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --answers: questions of a half whose right answer the rules know. Default: all.",
)
@click.option(
    "--learn/--no-learn",
    default=True,
    show_default=True,
    help="Use the grades to weigh votes and calibrate confidence in later runs.",
)
@click.option("--dry-run", is_flag=True, help="Estimate calls and cost; send nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the report and errors.")
@json_option
def eval_(**options: Any) -> int:
    """Ask single models and panels the same questions, grade the answers, and report what a panel gains.

    DATASET is a .csv or .jsonl file of {question, target, choices?, category?}, a built-in set (small,
    traps, hard), or an installed Inspect task. Run the same command again to continue where it stopped.
    """
    # Imported here so that help and completion start without what an evaluation needs.
    from ..actions.eval import evaluate

    return evaluate(**options)
