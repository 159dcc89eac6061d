"""The command `pnyx completion`."""

from __future__ import annotations

import click

from ..terminal.output import streams

__all__ = ["completion"]

SHELLS = ("bash", "zsh", "fish")
HELP = """Print the script that completes commands, options, runs, models, panels and protocols in SHELL.

\b
bash:  pnyx completion bash > ~/.local/share/bash-completion/completions/pnyx
zsh:   pnyx completion zsh > ~/.zfunc/_pnyx     (with fpath+=~/.zfunc before compinit in .zshrc)
fish:  pnyx completion fish > ~/.config/fish/completions/pnyx.fish
"""
CHANGES = {
    # Descriptions have commas, and runs come newest first.
    "fish": {
        'string split "," $completion': 'string split --max 1 "," $completion',
        "complete --no-files": "complete --keep-order --no-files",
    }
}
"""What differs from click's script of a shell."""
# bash ends a word at a colon, which every model reference has.
APPENDED = {"bash": "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"}


@click.command(help=HELP)
@click.argument("shell", type=click.Choice(SHELLS), metavar="bash|zsh|fish")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    # For this command only.
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click has the three shells"
    script = kind(ctx.find_root().command, {}, "pnyx", "_PNYX_COMPLETE").source()
    for theirs, ours in CHANGES.get(shell, {}).items():
        script = script.replace(theirs, ours)
    streams().out.write(script + APPENDED.get(shell, ""))
    return 0
