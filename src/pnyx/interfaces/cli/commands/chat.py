"""`pnyx chat`: its flags."""

from __future__ import annotations

from typing import Any

import click

from ..options import request_options
from ..terminal.output import streams

__all__ = ["chat"]


@click.command()
@request_options("protocol", "models", "rounds", "preset", "budget_usd", "tools")
@click.option("--resume", metavar="ID", help="Go on with a conversation, by its id or that of a run of it.")
@click.option("--plain", is_flag=True, help="Lines without colour, and no live view.")
@click.option("-q", "--quiet", is_flag=True, help="Only answers and errors.")
@click.option("-v", "--verbose", is_flag=True, help="Replies in full.")
def chat(plain: bool, quiet: bool, verbose: bool, **given: Any) -> int:
    """Ask one question after another; each is told what was decided before.

    Type a question, or a command: /help lists them. Ctrl-C ends a debate and not the conversation; Ctrl-D
    leaves. Without a terminal, every line of stdin is a question or a command. Every question is a run, as
    `pnyx ask` makes one: see docs/chat.md.
    """
    # Help and completion need not wait for what a run imports.
    from ..actions.chat import chat

    return chat(streams("text", plain, quiet, verbose), **given)
