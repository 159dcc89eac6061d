"""The `pnyx` command: its commands with their summaries, error messages and exit codes.

The module of a command is imported when that command runs, so that `pnyx --help` and completion start
quickly.
"""

from __future__ import annotations

import atexit
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import click

from ..._version import __version__
from ...errors import PnyxError, UsageError
from ...extras import explain
from ...gc_pause import delay_collection
from ..process.closed_streams import fill_closed_streams
from ..process.stop_signals import stop_signals
from ..render.terminal import ClosedPipe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from .terminal.output import Output

__all__ = ["COMMANDS", "cli", "main"]

INTERRUPTED = 130
COMMANDS = {
    "Ask": {
        "ask": ("ask", "ask the panel one question"),
        "chat": ("chat", "ask follow-up questions that build on earlier decisions"),
        "batch": ("batch", "ask many questions from a file"),
        "verify": ("verify", "check files against a rubric, for people and for CI"),
        "resume": ("ask", "continue a run that was stopped"),
        "cancel": ("runs", "end a run for good"),
    },
    "Runs": {
        "runs": ("runs", "list runs, newest first"),
        "recall": ("runs", "search earlier runs"),
        "status": ("runs", "show the status of a run in one line"),
        "show": ("runs", "print the full transcript of a run"),
        "tag": ("label", "give a run a title and tags, or pin it"),
        "delete": ("label", "delete runs for good"),
        "export": ("runs", "write a run as JSON, Markdown, HTML or a folder"),
        "share": ("share", "make a link that shows one run, and revoke it"),
        "cost": ("cost", "show calls, tokens and cost by model, protocol or day"),
    },
    "Judge": {
        "feedback": ("judge", "record whether an answer was right"),
        "calibration": ("judge", "compare confidence with how often answers were right"),
        "eval": ("eval", "measure what a panel gains over its best model"),
    },
    "Serve": {
        "serve": ("serve", "start the web page and the HTTP API"),
        "worker": ("worker", "carry out the runs that a server queues"),
        "mcp": ("mcp", "offer the panel to an assistant over MCP"),
        "integrate": ("integrate", "set up an assistant or editor to ask the panel"),
    },
    "Set up": {
        "init": ("init", "write a first settings file: three questions"),
        "demo": ("demo", "show what a vote gains, with no key"),
        "models": ("models", "list models; install embedded ones"),
        "panel": ("panel", "list saved panels; suggest one from recorded answers"),
        "keys": ("keys", "store API keys in the keyring of the system"),
        "protocols": ("setup", "list the protocols and their options"),
        "config": ("setup", "show and check the settings"),
        "trust": ("setup", "trust the pnyx.toml of this folder"),
        "doctor": ("setup", "check the setup and print a fix for each problem"),
        "completion": ("completion", "print the completion script of a shell"),
        "prune": ("prune", "delete old runs, and give their space back"),
        "backup": ("backup", "write the whole database to one file"),
        "restore": ("backup", "load a backup into an empty database"),
    },
}
"""Section -> command -> (module in commands/, summary)."""
ALIASES = {"list": ("runs", "runs"), "debate": ("ask", "debate")}
"""Other names of commands, which help does not list -> (module, command in it)."""


class _Commands(click.Group):
    """Lists commands from `COMMANDS` and imports the module of one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for section in COMMANDS.values():
            if cmd_name in section:
                module, summary = section[cmd_name]
                loaded = importlib.import_module(f"{__name__}.commands.{module}")
                # `eval_`, because `eval` is a Python built-in.
                command: click.Command = getattr(loaded, cmd_name, None) or getattr(loaded, f"{cmd_name}_")
                command.short_help = summary
                return command
        if cmd_name in ALIASES:
            module, name = ALIASES[cmd_name]
            found: click.Command = getattr(importlib.import_module(f"{__name__}.commands.{module}"), name)
            return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            # For errors only.
            from .mistakes import no_command

            raise click.UsageError(no_command(args, self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:11}", summary) for name, (_, summary) in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Used by shell completion only; a normal start does without it.
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
    """Ask a panel of language models one question and have them critique each other. You get one answer
    and the remaining objections, the cost and a full record.

    The answer goes to stdout, everything else to stderr. Exit codes: 0 answered, 1 error, 2 usage or
    configuration, 3 no quorum, or no consensus with --require-consensus, 4 budget or deadline,
    5 answered, but degraded, 130 interrupted.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command in `args` (default: `sys.argv`) and end the process with its exit code."""
    arguments = _as_options(list(sys.argv[1:] if args is None else args))
    delay_collection()
    fill_closed_streams()
    code = INTERRUPTED
    with suppress(KeyboardInterrupt):  # a second one, while the first is reported
        code = _exit_code(arguments)
    with suppress(KeyboardInterrupt):
        _end_on_signals(code)
    _end_on_signals(code)
    atexit.unregister(_ignore_signals)
    atexit.register(_ignore_signals)
    sys.exit(code)


def _exit_code(arguments: list[str]) -> int:
    """Run a command, report its error, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot encode is replaced instead of failing the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_encoding_errors(stream.encoding))
    try:
        _check_text(arguments)
        code = _run(arguments)
    except PnyxError as exc:
        code = _report(str(exc), exc.exit_code)
    except click.exceptions.NoArgsIsHelpError as exc:
        code = exc.exit_code
        _output().err.line(exc.format_message())
    except click.UsageError as exc:
        # For errors only.
        from .mistakes import explain_usage

        code = _report(explain_usage(exc, cli, arguments), exc.exit_code)
    except click.ClickException as exc:
        code = _report(exc.format_message(), exc.exit_code)
    except (click.Abort, KeyboardInterrupt):
        code = _report("interrupted", INTERRUPTED)
    except ClosedPipe:
        code = 0
    except Exception as exc:
        if isinstance(exc, ImportError) and (extra := explain(exc)):
            return _report(str(extra), extra.exit_code)
        if {"-v", "--verbose"} & set(arguments):
            sys.excepthook(type(exc), exc, exc.__traceback__)
        code = _report(f"this is a bug in pnyx: {type(exc).__name__}: {exc} (-v shows the traceback)", 1)
    return code if isinstance(code, int) else 0


def _encoding_errors(encoding: str) -> str:
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        return "backslashreplace"  # of unpaired surrogates
    # Few terminals have another encoding.
    from .terminal.narrow_encodings import ERRORS

    return ERRORS


def _end_on_signals(code: int) -> None:
    """Let a signal that comes now end the process at once, with the exit code that it would have had."""
    if threading.current_thread() is not threading.main_thread():
        return  # no signal comes here, and none can be handled
    for number in stop_signals():
        signal.signal(number, lambda *_: os._exit(code))


def _as_options(args: list[str]) -> list[str]:
    """`help` and `version` as other programs have them: commands that are options here."""
    if args[:1] == ["help"]:
        return [*args[1:], "--help"]
    return ["--version"] if args in (["version"], ["-V"]) else args


def _ignore_signals() -> None:
    # A signal that comes now would only change the exit code.
    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN)


def _check_text(args: Sequence[str]) -> None:
    for arg in args:
        try:
            arg.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the argument {arg[:80]!r} is not UTF-8") from None


def _run(args: list[str]) -> object:
    """Run a command and return its exit code. Raises `PnyxError` if help or the version cannot be written."""
    try:
        return cli.main(args, prog_name="pnyx", standalone_mode=False)
    except OSError:
        # click's text is still in the buffer: writing raises the error that commands raise.
        _output().out.write("")
        raise


def _report(message: str, code: int) -> int:
    # For errors only.
    from ..requests.option_names import with_flags

    _output().error(with_flags(message))
    return code


def _output() -> Output:
    # Imported for errors only, to keep the start short.
    from .terminal.output import streams

    return streams()
