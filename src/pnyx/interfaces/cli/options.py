"""Options that several commands have, and the types of their values. Imports nothing heavy."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ...core.models import MOST
from ...run.options.request import OPTIONS, Kind, RequestOption, RunRequest
from ...times import UNITS, parse_duration
from .terminal.output import streams

__all__ = [
    "AMOUNT",
    "DURATION",
    "PAIR",
    "PROTOCOL",
    "RUN_OPTIONS",
    "complete",
    "concurrency",
    "file_options",
    "json_option",
    "output_options",
    "request_options",
    "run_id",
    "to_request",
]


class _Amount(click.ParamType[float]):
    """A number above zero, at most the largest that the ledger stores."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            self.fail(f"{value!r} is not a number above zero{_plain_number(str(value), param)}", param, ctx)
        if number > MOST:
            self.fail(f"{value!r} is more than {MOST:,.0f}", param, ctx)
        return number


def _plain_number(typed: str, param: click.Parameter | None) -> str:
    """Return "; write …" for an amount with a currency, a decimal comma or a unit of time, else nothing."""
    text = re.sub(r"\s|[$€£]|usd|eur", "", typed.lower())
    text = re.sub(r"(?<=\d),(?=\d{1,2}$)", ".", text)
    found = re.fullmatch(r"(\d*\.?\d+)(s|sec|m|min|h|d)?", text)
    if found is None or not float(found[1]):
        return ""
    if found[2] is None:
        return f"; write {found[1]}"
    seconds = param is not None and getattr(param, "metavar", None) == "SECONDS"
    return f"; write {float(found[1]) * UNITS[found[2][0]]:.12g}" if seconds else ""


class _Pair(click.ParamType[tuple[str, str]]):
    """NAME=VALUE."""

    name = "pair"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not (name.strip() and equals):
            self.fail(f"{value!r} must have the form {param.metavar if param else 'NAME=VALUE'}", param, ctx)
        return name.strip(), text


class _Duration(click.ParamType[float]):
    """A number of seconds, minutes, hours, days or weeks, such as 7d; in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            seconds = parse_duration(str(value))
        except ValueError as exc:
            self.fail(str(exc), param, ctx)
        if not seconds:
            self.fail(f"{value!r} is not above zero", param, ctx)
        return seconds


class _JsonFile(click.ParamType[dict[str, Any]]):
    """A file with a JSON object."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        return value if isinstance(value, dict) else dict(_read_json(self, value, dict, param, ctx))


class _ToolsFile(click.ParamType[tuple[Any, ...]]):
    """A file with a JSON list of tools."""

    name = "file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        return value if isinstance(value, tuple) else tuple(_read_json(self, value, list, param, ctx))


def _read_json(
    of: click.ParamType[Any],
    path: str,
    kind: type[Any],
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Any:
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except OSError as exc:
        if path.lstrip().startswith(("{", "[")):
            of.fail("it takes the name of a file: write this JSON to one", param, ctx)
        of.fail(f"{path}: {exc.strerror}", param, ctx)
    except (ValueError, RecursionError) as exc:
        of.fail(f"{path} is not JSON: {exc}", param, ctx)
    if not isinstance(document, kind):
        of.fail(f"{path} must hold a JSON {'object' if kind is dict else 'list'}", param, ctx)
    return document


class _Protocol(click.ParamType[str]):
    """The name of a protocol. `resolve` refuses an unknown one and lists the known ones."""

    name = "protocol"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # Used by shell completion only; a normal start does without it.
        from ...protocols import names

        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


def complete(name: str) -> Callable[..., list[CompletionItem]]:
    """The function of that name in `completing`, imported when it is used."""

    def found(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        # Used by shell completion only; a normal start does without it.
        from . import completing

        items: list[CompletionItem] = getattr(completing, name)(ctx, param, incomplete)
        return items

    return found


COMPLETED = {"models": "complete_models", "judge": "complete_models", "panel": "complete_panels"}
"""Option of a request -> what completes it; the type of a protocol does so itself."""
AMOUNT, DURATION, PAIR, PROTOCOL = _Amount(), _Duration(), _Pair(), _Protocol()
JSON_FILE, TOOLS_FILE = _JsonFile(), _ToolsFile()

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
concurrency = click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    metavar="N",
    help="Questions in parallel.",
)
MODELS = complete("complete_models")
run_id = click.argument("run_id", metavar="ID", shell_complete=complete("complete_runs"))
RUN_OPTIONS = (
    *("protocol", "models", "panel", "judge", "rounds", "options", "preset", "cast", "roles"),
    *("deadline_s", "call_deadline_s"),
    *("seed", "effort", "thinking_tokens", "efforts", "language", "instructions", "answer_schema"),
    *("client_tools", "tool_choice", "parallel_tool_calls"),
    *("tools", "ground", "allow_unknown_price"),
)
"""The options of `RunRequest` that both `ask` and `batch` have."""

DIR_HELP = (
    "A folder whose files the question is about, without hidden, ignored (.gitignore) and binary ones. "
    "Repeatable."
)
GLOB_HELP = "Of the files of --dir, only those that match, such as '*.py' or 'src/**'. Repeatable."
DIFF_HELP = "The diff of the git repository here: uncommitted changes, or those since REV."
URL_HELP = "A page, document or image of the public web that the question is about. Repeatable."


def request_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that adds the flags of these fields of `RunRequest`; see `to_request`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            command = _request_option(command, name, OPTIONS[name])
        return command

    return add


def _request_option(command: Callable[..., Any], name: str, option: RequestOption) -> Callable[..., Any]:
    values: dict[str, Any]
    if len(option.flags) > 1 and option.choices:
        # click lists the option that was added last first.
        for flag, choice in reversed([*zip(option.flags, option.choices, strict=True)]):
            callback = functools.partial(_choose, name=name, choice=choice, flags=option.flags)
            values = {"is_flag": True, "expose_value": False, "callback": callback}
            command = click.option(flag, help=option.choices[choice], **values)(command)
        return command
    repeated = option.kind in (Kind.TEXTS, Kind.TEXT_BY_NAME, Kind.VALUE_BY_NAME, Kind.FILES)
    values = {"metavar": option.metavar, "multiple": repeated}
    match option.kind:
        case Kind.FLAG:
            values = {"is_flag": True}
        case Kind.SWITCH:
            values = {"default": None}
        case Kind.WHOLE:
            values["type"] = click.IntRange(option.low, option.high)
        case Kind.AMOUNT:
            values["type"] = AMOUNT
        case Kind.TEXT_BY_NAME | Kind.VALUE_BY_NAME:
            values["type"] = PAIR
        case Kind.SCHEMA:
            values["type"] = JSON_FILE
        case Kind.TOOLS:
            values |= {"type": TOOLS_FILE, "default": ()}
        case Kind.RESPONSES | Kind.FILES:
            values["type"] = click.Path(path_type=Path)
        case _ if option.choices:
            values["type"] = click.Choice(list(option.choices))
        case _ if name == "protocol":
            values["type"] = PROTOCOL
    if name in COMPLETED:
        values["shell_complete"] = complete(COMPLETED[name])
    help = (option.flag_help or option.help) + (" Repeatable." if repeated else "")
    return click.option(*option.flags, name, help=help, **values)(command)


def _choose(
    context: click.Context,
    _: click.Parameter,
    on: bool,
    *,
    name: str,
    choice: str,
    flags: tuple[str, ...],
) -> None:
    # With two flags for one parameter, the last one would win silently.
    if on and context.params.get(name):
        raise click.UsageError(f"{' and '.join(flags)} exclude each other; use one of them")
    context.params[name] = choice if on else context.params.get(name)


def to_request(question: str, **options: Any) -> RunRequest:
    """The request that the flags of `request_options` describe."""
    pairs = (Kind.TEXT_BY_NAME, Kind.VALUE_BY_NAME)
    values: dict[str, Any]
    values = {name: dict(value) if OPTIONS[name].kind in pairs else value for name, value in options.items()}
    return RunRequest(question=question, **values)


def file_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add --dir, --glob, --diff and --url, which the command gets with --file as one `flags`."""

    @functools.wraps(command)
    def with_files(
        files: tuple[Path, ...],
        folders: tuple[Path, ...],
        globs: tuple[str, ...],
        diff: str | None,
        urls: tuple[str, ...],
        **options: Any,
    ) -> int:
        # Imported here so that help and completion start without what reads files.
        from .files import FileFlags

        return command(flags=FileFlags(files, folders, globs, diff, urls), **options)

    for option in (
        click.option("--url", "urls", metavar="URL", multiple=True, help=URL_HELP),
        click.option("--diff", is_flag=False, flag_value="", metavar="[REV]", help=DIFF_HELP),
        click.option("--glob", "globs", metavar="PATTERN", multiple=True, help=GLOB_HELP),
        click.option(
            "--dir",
            "folders",
            type=click.Path(path_type=Path),
            metavar="PATH",
            multiple=True,
            help=DIR_HELP,
        ),
    ):
        with_files = option(with_files)
    return with_files


def output_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add --json, --jsonl, --plain, -q, -v and --no-input, which the command gets as one `output`."""

    @functools.wraps(command)
    def with_output(
        as_json: bool, as_jsonl: bool, plain: bool, quiet: bool, verbose: bool, no_input: bool, **options: Any
    ) -> int:
        if as_json and as_jsonl:
            raise click.UsageError("--json and --jsonl exclude each other; use one of them")
        form = "json" if as_json else "jsonl" if as_jsonl else "text"
        return command(output=streams(form, plain, quiet, verbose, no_input), **options)

    for option in (
        click.option("--no-input", is_flag=True, help="Never prompt for input."),
        click.option(
            "-v", "--verbose", is_flag=True, help="Print replies in full; with --jsonl, tokens too."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print only the answer and errors."),
        click.option("--plain", is_flag=True, help="Print plain lines: no colour, no live view."),
        click.option("--jsonl", "as_jsonl", is_flag=True, help="Print each event as a JSON line."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
    ):
        with_output = option(with_output)
    return with_output
