"""The options of `pnyx init`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import AMOUNT, MODELS
from ..styles import STYLES
from ..terminal.output import streams

__all__ = ["init"]


@click.command()
@click.option(
    "--provider",
    "providers",
    multiple=True,
    metavar="NAME|URL",
    help="Where models run: openai, anthropic, …, ollama, embedded, or the URL of a host that speaks "
    "OpenAI's API. Repeatable. Default: whose key is set.",
)
@click.option(
    "--base-url",
    metavar="URL",
    help="A host that speaks OpenAI's API, such as vLLM; the same as --provider URL.",
)
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="REF[*N]",
    shell_complete=MODELS,
    help="Seats. Repeatable.",
)
@click.option("--style", type=click.Choice(list(STYLES)), help="What matters. Default: balanced.")
@click.option("--budget", type=AMOUNT, metavar="USD", help="Cap of one question. Default: 1.")
@click.option("--file", type=click.Path(path_type=Path), metavar="PATH", help="Default: the user file.")
@click.option("--test/--no-test", default=True, help="Ask hosts for their models, to test the keys.")
@click.option("--no-input", is_flag=True, help="Ask nothing: use the options and the defaults.")
def init(**options: Any) -> int:
    """Write a first settings file: asks where your models run, what matters, and what a question may cost.

    It tests the keys, proposes a panel with its price, and writes the file. It never overwrites one. Without
    a terminal, options answer the questions.
    """
    # Imported here so that help and completion start without the settings.
    from ..actions.init import init

    return init(streams(), **options)
