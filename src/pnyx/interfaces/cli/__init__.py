"""The `pnyx` command: what there is, and how every error ends.

A command's module is imported when that command is used, so that `pnyx --help` and completion cost
next to nothing. Summaries stand here, once.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from ..._version import __version__
from ...errors import PnyxError, UsageError
from ..render.terminal import ClosedPipe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from .terminal.output import Output

__all__ = ["COMMANDS", "cli", "main"]

INTERRUPTED = 130
START, YOUNG = 1_500_000, 50_000
"""New objects that call for a look through them for garbage: the first time, and then. Python has 700."""
COMMANDS = {
    "Asking": {
        "ask": ("ask", "put one question to the panel"),
        "chat": ("chat", "keep a conversation: later questions see earlier decisions"),
        "batch": ("batch", "put many questions, several at once"),
        "resume": ("ask", "go on with a run that was stopped"),
        "cancel": ("runs", "end a run for good"),
    },
    "Runs": {
        "runs": ("runs", "list the runs, newest first"),
        "recall": ("runs", "find earlier runs by what was asked and said"),
        "status": ("runs", "how one run stands"),
        "show": ("runs", "read all that was said in a run"),
        "export": ("runs", "write a run as JSON or as a document"),
        "cost": ("cost", "what was asked and paid, by model, protocol or day"),
    },
    "Judging": {
        "feedback": ("judge", "say what became of a decision"),
        "calibration": ("judge", "how sure decisions were, and how often they were right"),
        "eval": ("eval", "measure what a panel gains over its best model"),
    },
    "Serving": {
        "serve": ("serve", "serve runs over HTTP, each key its own"),
        "worker": ("worker", "carry out the runs that a server puts into its queue"),
        "mcp": ("mcp", "give an assistant tools to ask the panel"),
    },
    "Setting up": {
        "models": ("models", "which models there are; fetch embedded ones"),
        "protocols": ("setup", "how a panel can come to an answer"),
        "config": ("setup", "show and check the settings"),
        "trust": ("setup", "allow what this folder's pnyx.toml sets"),
        "doctor": ("setup", "what works, what is missing, and what to do"),
        "backup": ("backup", "write all that is stored to one file"),
        "restore": ("backup", "put a backup into an empty database"),
    },
}
"""Section -> command -> (module in commands/, summary)."""


class _Commands(click.Group):
    """Lists commands from the table, and imports one when it is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for section in COMMANDS.values():
            if cmd_name in section:
                module, summary = section[cmd_name]
                page = importlib.import_module(f"{__name__}.commands.{module}")
                # `eval` is Python's own name.
                command: click.Command = getattr(page, cmd_name, None) or getattr(page, f"{cmd_name}_")
                command.short_help = summary
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:11}", summary) for name, (_, summary) in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Only the shell asks for this.
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=summary)
            for section in COMMANDS.values()
            for name, (_, summary) in section.items()
            if name.startswith(incomplete)
        ]
        return found or click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="pnyx %(version)s")
def cli() -> None:
    """Put one question to a panel of language models, let them disagree in the open, and get one
    answer with its dissent, its cost and its record.

    The answer goes to stdout, everything else to stderr. Exit codes: 0 answered, 1 error, 2 usage or
    configuration, 3 no quorum or no consensus where one was required, 4 budget or deadline, 5 answered
    but degraded, 130 interrupted.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """The console entry: runs a command and ends the process with its exit code."""
    given = list(sys.argv[1:] if args is None else args)
    _leave_garbage()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape; that is no reason to fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _check_text(given)
        code = _done(given)
    except PnyxError as exc:
        code = _complain(str(exc), exc.exit_code)
    except click.exceptions.NoArgsIsHelpError as exc:
        code = exc.exit_code
        _output().err.line(exc.format_message())
    except click.UsageError as exc:
        path = exc.ctx.command_path if exc.ctx is not None else "pnyx"
        code = _complain(f"{exc.format_message()} (see {path} --help)", exc.exit_code)
    except click.ClickException as exc:
        code = _complain(exc.format_message(), exc.exit_code)
    except (click.Abort, KeyboardInterrupt):
        code = _complain("interrupted", INTERRUPTED)
    except ClosedPipe:
        code = 0
    except Exception as exc:
        if {"-v", "--verbose"} & set(given):
            sys.excepthook(type(exc), exc, exc.__traceback__)
        code = _complain(f"this is a bug in pnyx: {type(exc).__name__}: {exc} (-v shows where)", 1)
    # What is left goes with the process; Python would look through it once more.
    gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)


def _leave_garbage() -> None:
    """Look for garbage only once there is more than a start allocates: that is code, and stays."""

    def looked(phase: str, _: object) -> None:
        if phase == "stop":
            gc.callbacks.remove(looked)
            gc.freeze()
            gc.set_threshold(YOUNG)

    gc.callbacks.append(looked)
    gc.set_threshold(START)


def _check_text(args: Sequence[str]) -> None:
    for arg in args:
        try:
            arg.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the argument {arg[:80]!r} is not UTF-8") from None


def _done(args: list[str]) -> object:
    """What the command says of how it ended. Raises `PnyxError` where help or a version cannot be written."""
    try:
        return cli.main(args, prog_name="pnyx", standalone_mode=False)
    except OSError:
        # What click could not write by itself is still there: it is tried once more, as commands write.
        _output().out.write("")
        raise


def _complain(message: str, code: int) -> int:
    _output().error(message)
    return code


def _output() -> Output:
    # Only what goes wrong needs it.
    from .terminal.output import streams

    return streams()
