"""The options of `pnyx verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..options import RUN_OPTIONS, file_options, output_options, request_options

__all__ = ["verify"]

OWN = ("instructions", "answer_schema", "client_tools", "tool_choice", "parallel_tool_calls")
"""Options of a run that the command sets itself."""


@click.command()
@click.option(
    "--file",
    "files",
    type=click.Path(path_type=Path),
    metavar="PATH",
    multiple=True,
    help="What is checked: text, code, a diff, PDF, Word or Excel; - is stdin, the default. Repeatable.",
)
@file_options
@click.option(
    "--rubric",
    type=click.Path(path_type=Path),
    metavar="PATH",
    required=True,
    help="The points to check, as a text.",
)
@click.option("--require", type=click.Choice(["pass"]), help="Exit with 3 unless this is the verdict.")
@click.option("--format", type=click.Choice(["sarif", "junit"]), help="Also write a report in this format.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write the report here; default: stdout.",
)
@request_options(*(name for name in RUN_OPTIONS if name not in OWN), "budget_usd")
@output_options
def verify(**options: Any) -> int:
    """Check files against a rubric, and print the panel's verdict with its reasons.

    The verdict is pass or fail, with a finding for each point that is violated. For checks in CI: see
    docs/verify.md.
    """
    # Imported here so that help and completion start without what a run needs.
    from ..actions.verify import verify

    return verify(**options)
