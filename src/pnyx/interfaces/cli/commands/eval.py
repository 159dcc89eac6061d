"""The command `pnyx eval`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, concurrency, json_option

__all__ = ["eval_"]

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("eval")
@click.argument("dataset", required=False)
@click.option("-m", "--model", "models", multiple=True, metavar="REF", help="Model of the panel; repeatable.")
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="PROTOCOL[:OPTIONS]",
    help="An arm to compare with single models: voting, council:quick, consensus:rounds=2; repeatable. "
    "Default: voting and the configured protocol.",
)
@click.option(
    "--self-consistency/--no-self-consistency",
    "samples",
    default=True,
    show_default=True,
    help="Add an arm that samples the best single model at the panel's cost.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of labels, folds and splits.",
)
@click.option("--budget", type=AMOUNT, metavar="USD", help="Spending cap of the whole evaluation.")
@concurrency
@click.option("--judge", metavar="REF", help="Model that grades free text. Default: the first model.")
@click.option("--log", type=FILE, metavar="FILE", help="Write every answer as a line of JSON.")
@click.option("--html", type=FILE, metavar="FILE", help="Write the report as an HTML page with plots.")
@click.option("--replay", type=FILE, metavar="FILE", help="Build the report from a log; no calls.")
@click.option("--answers", type=FILE, metavar="FILE", help="Replay votes on recorded answers; no calls.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Select recorded answers; repeatable.")
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Random splits of recorded answers in halves.",
)
@click.option(
    "--labels",
    type=click.IntRange(min=1),
    metavar="N",
    help="Recorded questions of a half whose right answer the rules see. Default: all.",
)
@click.option(
    "--learn/--no-learn",
    default=True,
    show_default=True,
    help="Let later runs weight votes and calibrate confidence by the grades.",
)
@click.option("--dry-run", is_flag=True, help="Print calls and cost, and send nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the report and errors.")
@json_option
def eval_(**given: Any) -> int:
    """Measure what a panel gains over single models on questions with known answers.

    DATASET is a .csv or .jsonl file of {question, target, choices?, category?}, one of small, traps and
    hard, or an Inspect task. The same command continues after an interruption.
    """
    # Imported late: only this command needs the evaluation.
    from ..actions.eval import evaluate

    return evaluate(**given)
