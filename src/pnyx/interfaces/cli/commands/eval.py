"""`pnyx eval`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, concurrency, json_option

__all__ = ["eval_"]

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("eval")
@click.argument("dataset", required=False)
@click.option("-m", "--model", "models", multiple=True, metavar="REF", help="A model of the panel; repeat.")
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="PROTOCOL[:OPTIONS]",
    help="What to compare with single models: voting, council:quick, consensus:rounds=2; repeat. "
    "Default: voting and the configured protocol.",
)
@click.option(
    "--self-consistency/--no-self-consistency",
    "samples",
    default=True,
    show_default=True,
    help="Also the best single model, asked as often as the panel costs.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Of labels, folds, halves.",
)
@click.option("--budget", type=AMOUNT, metavar="USD", help="Cap of the whole evaluation.")
@concurrency
@click.option("--judge", metavar="REF", help="Who grades free text. Default: the first model.")
@click.option("--log", type=FILE, metavar="FILE", help="Write every answer, a JSON line each.")
@click.option("--html", type=FILE, metavar="FILE", help="Write the report as one page with plots.")
@click.option("--replay", type=FILE, metavar="FILE", help="Report on such a log again; asks no model.")
@click.option("--answers", type=FILE, metavar="FILE", help="Vote on recorded answers instead; asks no model.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Of recorded answers, only these.")
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Of recorded answers: halvings.",
)
@click.option("--labels", type=click.IntRange(min=1), metavar="N", help="Of recorded answers: truths known.")
@click.option(
    "--learn/--no-learn",
    default=True,
    show_default=True,
    help="Weigh votes and calibrate confidence of later runs by what was graded.",
)
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and cost, and send nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Only the report and errors.")
@json_option
def eval_(**given: Any) -> int:
    """Ask models alone and panels the same questions, grade them, and say honestly what a panel gains.

    DATASET is a .csv or .jsonl file of {question, target, choices?, category?}, one of small, traps and
    hard, or a task that is installed with Inspect. The same command, run again, goes on where it stopped.
    """
    # Only evaluation needs what is learned there.
    from ..actions.eval import evaluate

    return evaluate(**given)
