"""Generate docs/cli.md from the commands: `python -m tests.interfaces.reference`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pnyx.interfaces.cli import COMMANDS, cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
INTRODUCTION = """\
# Commands

The answer goes to stdout, progress and everything else to stderr. On a screen a live view shows where
every seat stands; elsewhere, with `--plain`, and where `TERM` is `dumb`, plain lines do. `NO_COLOR` is
honoured. Ctrl-C lets calls in flight finish (for ten seconds), saves the run and prints the command that
resumes it; a second Ctrl-C stops at once.

| exit code | meaning |
|--:|---|
| 0 | answered |
| 1 | error |
| 2 | usage or configuration |
| 3 | no quorum; with `--require-consensus`, also where neither all seats nor a majority agreed |
| 4 | paused at the budget or the deadline |
| 5 | answered, but degraded: a seat was dropped |
| 130 | interrupted |

Completion: put `eval "$(_PNYX_COMPLETE=bash_source pnyx)"` into `~/.bashrc`,
`eval "$(_PNYX_COMPLETE=zsh_source pnyx)"` into `~/.zshrc`, or `_PNYX_COMPLETE=fish_source pnyx | source` into
`~/.config/fish/config.fish`.

This page is written by `python -m tests.interfaces.reference`, and a test holds it against the commands.
"""


def page() -> str:
    """Return the expected page."""
    return "\n".join([INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    root = click.Context(cli, info_name="pnyx", terminal_width=100, **cli.context_settings)
    for section in COMMANDS.values():
        for name, (_, summary) in section.items():
            command = cli.get_command(root, name)
            assert command is not None
            yield f"## pnyx {name}: {summary}\n"
            yield from _help(command, name, root)


def _help(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100)
    yield f"```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _help(found, inner, context)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
