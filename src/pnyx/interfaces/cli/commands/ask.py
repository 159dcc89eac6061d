"""`pnyx ask` and `pnyx resume`: their flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, RUN_OPTIONS, output_options, request_options, run_id
from ..terminal.output import Output

__all__ = ["ask", "resume"]

HELP = """Put QUESTION to the panel and print its answer.

Without QUESTION, or with "-", the question is read from stdin. What is not given by flags comes from the
settings: see `pnyx config show`. With no settings and no key, embedded models answer.
"""


artifacts = click.option(
    "--artifacts",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep a folder with all that is said, up to date while the run goes on.",
)


@click.command(help=HELP)
@click.argument("question", required=False, metavar="[QUESTION|-]")
@request_options(*RUN_OPTIONS, "budget_usd", "responses")
@artifacts
@click.option("--require-consensus", is_flag=True, help="Exit 3 unless the panel came to agree.")
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and cost; send and store nothing.")
@output_options
def ask(**given: Any) -> int:
    # Help and completion need not wait for what a run imports.
    from ..actions.ask import ask

    return ask(**given)


@click.command()
@run_id
@click.option("--budget", type=AMOUNT, metavar="USD", help="The new cap of the whole run.")
@click.option(
    "--deadline",
    type=AMOUNT,
    metavar="SECONDS",
    help="Pause after this long from now; default: as long as before.",
)
@click.option(
    "--fork", is_flag=True, help="A new run, which keeps every reply whose question is still the same."
)
@artifacts
@click.option("--require-consensus", is_flag=True, help="Exit 3 unless the panel came to agree.")
@output_options
def resume(output: Output, **given: Any) -> int:
    """Go on with the run ID from what it has recorded.

    No call whose reply is recorded is sent again. A run that is over is only shown again. ID may be any
    unique beginning of it.
    """
    # Help and completion need not wait for what a run imports.
    from ..actions.ask import resume

    return resume(output, **given)
