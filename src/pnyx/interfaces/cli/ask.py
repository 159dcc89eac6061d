"""`pnyx ask` and `pnyx resume`: their flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import AMOUNT, PAIR, output_options, panel_options, run_id
from .output import Output

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
@panel_options
@click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="At most N rounds.")
@click.option(
    "--option",
    "options",
    type=PAIR,
    multiple=True,
    metavar="KEY=VALUE",
    help="Any option of the protocol; repeat it for more.",
)
@click.option("--quick", "preset", flag_value="quick", help="The protocol's options for a fast answer.")
@click.option("--deep", "preset", flag_value="deep", help="The protocol's options for a thorough answer.")
@click.option(
    "--roles",
    "cast",
    metavar="NAME",
    help="A role for every seat: diverse (skeptic, advocate, pragmatist in turn) or redteam.",
)
@click.option(
    "--role",
    "roles",
    type=PAIR,
    multiple=True,
    metavar="SEAT=TEXT",
    help="A role for a seat, by number or letter; repeat it for more.",
)
@click.option("--budget", type=AMOUNT, metavar="USD", help="Pause before the run costs more.")
@click.option("--deadline", type=AMOUNT, metavar="SECONDS", help="Pause when the run has taken this long.")
@click.option("--stall-timeout", type=AMOUNT, metavar="SECONDS", help="Give up on a call after this long.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Draw alike; models are told too."
)
@click.option("--tools/--no-tools", default=None, help="Let seats use tools, or not; see docs/tools.md.")
@click.option("--ground", is_flag=True, help="Search the web first; seats cite the same numbered sources.")
@click.option(
    "--responses",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answers that exist, for aggregate, deliberate, moa, voting: JSON Lines of answer and reasoning.",
)
@artifacts
@click.option("--allow-unknown-price", is_flag=True, help="With a budget, ask models without a known price.")
@click.option("--require-consensus", is_flag=True, help="Exit 3 unless the panel came to agree.")
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and cost; send and store nothing.")
@output_options
def ask(**given: Any) -> int:
    # Help and completion need not wait for what a run imports.
    from .asking import ask

    return ask(**given)


@click.command()
@run_id
@click.option("--budget", type=AMOUNT, metavar="USD", help="The new cap of the whole run.")
@click.option("--deadline", type=AMOUNT, metavar="SECONDS", help="The new deadline, from now on.")
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
    from .asking import resume

    return resume(output, **given)
