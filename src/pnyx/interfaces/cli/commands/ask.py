"""The options of `pnyx ask` and `pnyx resume`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, RUN_OPTIONS, file_options, output_options, request_options, run_id
from ..terminal.output import Output

__all__ = ["ask", "debate", "resume"]

HELP = """Ask the panel QUESTION and print its answer.

Without QUESTION, or with "-", the question is read from stdin; beside a QUESTION, stdin is a file that it is
about. More files come with --file, --dir, --diff and --url: see docs/context.md. Options that you leave out
come from the settings: see `pnyx config show`. Without settings and API keys, small embedded models answer.
"""
DECOMPOSE = "Split the question into subtasks, answered by --protocol; short for -p decompose."

artifacts = click.option(
    "--artifacts",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the transcript into the folder DIR, updated during the run.",
)


def _ask_options(command: Callable[..., int]) -> Callable[..., int]:
    for option in reversed(
        (
            click.argument("words", nargs=-1, metavar="[QUESTION|-]"),
            request_options(*RUN_OPTIONS, "budget_usd", "responses", "files"),
            file_options,
            click.option("--decompose", is_flag=True, help=DECOMPOSE),
            artifacts,
            click.option("--require-consensus", is_flag=True, help="Exit with 3 unless the panel agrees."),
            click.option("--dry-run", is_flag=True, help="Estimate calls, tokens and cost; send nothing."),
            output_options,
        )
    ):
        command = option(command)
    return command


@click.command(help=HELP)
@_ask_options
def ask(**options: Any) -> int:
    return _ask(**options)


@click.command(help=HELP, hidden=True)
@_ask_options
def debate(**options: Any) -> int:
    if options["protocol"] is None and options["panel"] is None and not options["decompose"]:
        options["protocol"] = "council"
    return _ask(**options)


def _ask(words: tuple[str, ...], decompose: bool, **options: Any) -> int:
    if len(words) > 1 and any(" " in word.strip() for word in words):
        # Imported here so that help and completion start without it.
        from ..files import files_in

        files = [
            f"--file {shlex.quote(name)}" for word in words if " " not in word for name in files_in(word)
        ]
        if files:
            raise click.UsageError(f"one question at a time: name a file with {' '.join(files)}")
        whole = shlex.quote(" ".join(words))
        raise click.UsageError(f"one question at a time: quote it as one argument, such as {whole}")
    if decompose:
        inner = {} if options["protocol"] in (None, "decompose") else {"inner": options["protocol"]}
        options |= {"protocol": "decompose", "options": (*inner.items(), *options["options"])}
    # Imported here so that help and completion start without what a run needs.
    from ..actions.ask import ask

    # An unquoted question arrives as its words.
    return ask(question=" ".join(words) if words else None, **options)


@click.command()
@run_id
@click.option("--budget", type=AMOUNT, metavar="USD", help="New cap for the whole run.")
@click.option(
    "--deadline",
    type=AMOUNT,
    metavar="SECONDS",
    help="Pause after this many seconds from now. Default: the run's own deadline.",
)
@click.option(
    "--fork", is_flag=True, help="Start a new run that reuses every recorded reply whose prompt is unchanged."
)
@artifacts
@click.option("--require-consensus", is_flag=True, help="Exit with 3 unless the panel agrees.")
@output_options
def resume(output: Output, **options: Any) -> int:
    """Continue the run ID from its journal.

    No call whose reply is recorded is sent again. A finished run is only printed. A unique prefix of ID is
    enough.
    """
    # Imported here so that help and completion start without what a run needs.
    from ..actions.ask import resume

    return resume(output, **options)
