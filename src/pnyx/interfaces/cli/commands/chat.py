"""The options of `pnyx chat`."""

from __future__ import annotations

from typing import Any

import click

from ..options import complete, request_options
from ..terminal.output import streams

__all__ = ["chat"]


@click.command()
@request_options("protocol", "models", "panel", "judge", "rounds", "preset", "budget_usd", "tools")
@click.option(
    "--resume",
    metavar="ID",
    shell_complete=complete("complete_runs"),
    help="Continue a conversation, by its id or a run's.",
)
@click.option("--plain", is_flag=True, help="Print plain lines: no colour, no live view.")
@click.option("-q", "--quiet", is_flag=True, help="Print only answers and errors.")
@click.option("-v", "--verbose", is_flag=True, help="Print replies in full.")
def chat(plain: bool, quiet: bool, verbose: bool, **options: Any) -> int:
    """Ask follow-up questions: the panel sees the earlier questions and decisions.

    Type a question, or a command: /help lists them. Ctrl-C stops a debate but not the conversation; Ctrl-D
    exits. Without a terminal, every line of stdin is a question or a command. Every question is a run, like
    those of `pnyx ask`: see docs/chat.md.
    """
    # Imported here so that help and completion start without what a run needs.
    from ..actions.chat import chat

    return chat(streams("text", plain, quiet, verbose), **options)
