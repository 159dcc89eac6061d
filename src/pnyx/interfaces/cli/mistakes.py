"""What to type instead of a command line that is wrong, in one line. Imported for errors only."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence

import click
from click.core import iter_params_for_processing

from ...errors import listed
from ...similar import closest, nearest

__all__ = ["explain_usage", "no_command"]

_PLAIN = {
    f"a valid {kind}{suffix}": plain
    for kind, plain in {"integer": "a whole number", "float": "a number"}.items()
    for suffix in (" range", "")
}
"""click's words for numbers -> plain ones."""
_RANGE = re.compile(r"in the range (?:(\S+)<=)?x(?:<=(\S+)|>=(\S+))?")
_ELSEWHERE = {
    "budget": ("cost", "max-cost", "limit-usd", "usd", "price"),
    "deadline": ("timeout", "time-limit", "max-time"),
    "deep": ("thorough",),
    "diff": ("staged", "cached", "changes"),
    "dry-run": ("estimate", "plan", "cost-only"),
    "effort": ("reasoning", "thinking"),
    "file": ("attach", "attachment", "context", "input"),
    "format": ("type",),
    "instructions": ("system", "system-prompt", "prompt"),
    "json": ("output-json", "as-json"),
    "jsonl": ("stream", "events"),
    "limit": ("max", "count", "last"),
    "model": ("models", "seat", "seats", "llm"),
    "no-input": ("yes", "non-interactive", "batch-mode"),
    "out": ("output", "outfile", "o", "save"),
    "panel": ("profile", "preset", "team"),
    "plain": ("no-color", "no-colour"),
    "protocol": ("mode", "method", "strategy", "pattern"),
    "quick": ("fast",),
    "quiet": ("silent",),
    "rounds": ("turns", "iterations"),
    "tools": ("web", "search", "web-search", "browse"),
    "url": ("link", "page"),
    "verbose": ("debug",),
}
"""Option -> its names in other programs."""
_COMMANDS_ELSEWHERE = {
    "ask": ("run", "query", "prompt", "question"),
    "cancel": ("stop", "kill", "abort"),
    "chat": ("repl", "talk", "interactive"),
    "cost": ("usage", "costs", "billing", "stats"),
    "delete": ("rm", "remove"),
    "doctor": ("diagnose", "health", "test"),
    "eval": ("bench", "benchmark", "compare", "evaluate"),
    "export": ("save", "dump"),
    "feedback": ("rate", "label"),
    "init": ("setup", "configure"),
    "keys": ("login", "auth", "logout"),
    "prune": ("clean", "cleanup", "gc"),
    "recall": ("search", "find", "grep"),
    "resume": ("continue", "retry"),
    "runs": ("history", "ls", "log", "logs"),
    "serve": ("server", "web", "ui", "start", "api"),
    "show": ("view", "cat", "transcript"),
    "verify": ("judge", "review", "check", "grade"),
}
"""Command -> its names in other programs."""
_NOWHERE = click.Context(click.Command("pnyx"))


def explain_usage(exc: click.UsageError, cli: click.Group, args: Sequence[str]) -> str:
    """The message for a wrong use of a command, with the help that has more. args: the command line."""
    command, path = _command(exc, cli, args)
    found = [exc, *_further(exc, command, args[len(path.split()) - 1 :])]
    messages = list(dict.fromkeys(_plain(_message(one, command, path, args)) for one in found))
    if len(messages) == 1:
        return f"{messages[0]} (see {path} --help)"
    return listed(f"several things are wrong (see {path} --help)", messages)


def _further(
    first: click.UsageError, command: click.Command | None, words: Sequence[str]
) -> Iterator[click.UsageError]:
    """What else is wrong on the command line of `command`: options that it does not have, and values."""
    if command is None or not isinstance(first, click.BadParameter | click.NoSuchOption):
        return
    context, left = click.Context(command), list(words)
    while True:
        try:
            values, _, order = command.make_parser(context).parse_args(list(left))
            break
        except click.NoSuchOption as exc:
            if exc.option_name != getattr(first, "option_name", None):
                yield exc
            # Its value, if it has one, is one argument too many, which is not reported beside this.
            known = [word for word in left if word.partition("=")[0] != exc.option_name]
            if len(known) == len(left):  # a letter in a word such as -json
                return
            left = known
        except click.UsageError as exc:
            yield exc
            return
    for param in iter_params_for_processing(order, command.get_params(context)):
        if param.is_eager:  # it would print the help
            continue
        try:
            param.handle_parse_result(context, values, [])
        except click.UsageError as exc:
            if exc.format_message() != first.format_message():
                yield exc


def _plain(message: str) -> str:
    for term, plain in _PLAIN.items():
        message = message.replace(term, plain)
    return _RANGE.sub(_bounds, re.sub(r"\s*\n\s*", " ", message)).removesuffix(".")


def no_command(
    args: Sequence[str], known: Sequence[str], path: str = "pnyx", does_alone: bool = False
) -> str:
    """What to type instead of an unknown command: a similar one, or the question that it seems to be.

    args: from the unknown command on. path: the command that it would belong to. does_alone: whether that is
    a whole command too.
    """
    words = [word for word in args if not word.startswith("-")]
    like = next((name for name, others in _COMMANDS_ELSEWHERE.items() if args[0] in others), None)
    if like not in known or (len(words) > 2 and like != "ask"):
        like = closest(args[0], known, 0.8 if len(words) > 2 else 0.6)
    if like:
        return f"no command {args[0]!r}; did you mean: {path} {shlex.join([like, *args[1:]])}"
    if path == "pnyx" and (len(words) > 1 or " " in args[0] or args[0].endswith("?")):
        return f"no command {args[0][:80]!r}; to ask a question: pnyx ask {shlex.quote(' '.join(words))}"
    if does_alone:
        *first, last = (path, *(f"{path} {name}" for name in known))
        return f"no command {args[0]!r}; type {', '.join(first)} or {last}"
    ways = f"the commands are {', '.join(known)}" if len(known) > 1 else f"the only command is {known[0]}"
    return f"no command {args[0]!r}; {ways}"


def _command(
    exc: click.UsageError, cli: click.Group, args: Sequence[str]
) -> tuple[click.Command | None, str]:
    """The command that was used wrongly, and how it is typed. click names it for some errors only."""
    if exc.ctx is not None:
        return exc.ctx.command, exc.ctx.command_path
    # An error of the parser, which knows no command: the names at the front of the command line do.
    found: click.Command = cli
    path = "pnyx"
    for arg in args:
        inner = found.get_command(click.Context(found), arg) if isinstance(found, click.Group) else None
        if inner is None:
            break
        found, path = inner, f"{path} {arg}"
    return found, path


def _message(exc: click.UsageError, command: click.Command | None, path: str, args: Sequence[str]) -> str:
    match exc:
        case click.NoSuchOption():
            return _no_option(exc.option_name, command, args)
        case click.NoSuchCommand() if isinstance(command, click.Group):
            place = args.index(exc.command_name)
            commands = command.list_commands(click.Context(command))
            return no_command(args[place:], commands, path, command.invoke_without_command)
        case click.MissingParameter() if exc.param is not None:
            return _missing(exc.param)
        case click.BadOptionUsage():
            option = next((p for p in _options(command) if exc.option_name in p.opts), None)
            what = f" {option.make_metavar(click.Context(click.Command('')))}" if option else ""
            return (
                f"{exc.option_name} needs a value: {exc.option_name}{what}" if what else exc.format_message()
            )
        case click.BadParameter() if exc.param is not None and isinstance(exc.param.type, click.Choice):
            found = re.search(r"'(.*?)' is not", exc.message)
            typed, known = found[1] if found else "", map(str, exc.param.type.choices)
            one = f"{exc.param.opts[0]}-for"  # --effort-for voting=low
            of_one = "=" in typed and any(one in option.opts for option in _options(command))
            hint = f"; did you mean {one} {typed}?" if of_one else nearest(typed, known)
            return exc.format_message().removesuffix(".") + hint
        case _ if exc.message.startswith("Got unexpected extra argument") and path.endswith("keys set"):
            # The argument may be the key, which is not repeated.
            return f"too many arguments: type {path} NAME, and the key is asked for"
        case _ if exc.message.startswith("Got unexpected extra argument"):
            extra = re.search(r"\((.*)\)", exc.message, re.DOTALL)
            words = extra[1] if extra else ""
            return f"too many arguments: {words}{_place_of(words.split(), command)}"
        case _:
            return exc.format_message()


def _place_of(words: Sequence[str], command: click.Command | None) -> str:
    """Where arguments belong that are too many."""
    if _takes_text(command):
        return "; quote a text of several words"
    file = next((word for word in words if os.path.isfile(word)), None)
    takes_files = any("--file" in option.opts for option in _options(command))
    return f"; name a file with --file {shlex.quote(file)}" if file and takes_files else ""


def _no_option(name: str, command: click.Command | None, args: Sequence[str]) -> str:
    texts = [text for option in _options(command) for text in (*option.opts, *option.secondary_opts)]
    known = {text.lstrip("-"): text for text in texts}
    typed = name.lstrip("-")
    if not name.startswith("--"):
        # click reads `-json` as `-j -s -o -n`, and names the first.
        word = next((arg for arg in args if re.fullmatch(re.escape(name) + r"[a-z][a-z-]*(=.*)?", arg)), "")
        typed = word.lstrip("-").partition("=")[0] or typed
        name = f"-{typed}"
    here = next(
        (known[option] for option, others in _ELSEWHERE.items() if typed in others and option in known), ""
    )
    long = [one for one in known if len(one) > 1]
    like = known.get(typed) if len(typed) > 1 else None
    like = like or here or (known.get(closest(typed, long) or "") if len(typed) > 1 else None)
    return f"no option {name}" + (f"; did you mean {like}?" if like else "")


def _bounds(found: re.Match[str]) -> str:
    """click's words for a range of numbers, as plain ones."""
    least, most, from_here = found.groups()
    if least and most:
        return f"between {least} and {most}"
    return f"at most {most}" if most else f"at least {from_here}"


def _missing(param: click.Parameter) -> str:
    """What is missing, with the values that it may have."""
    named = param.opts[0] if isinstance(param, click.Option) else param.make_metavar(_NOWHERE).rstrip(".")
    if isinstance(param.type, click.Choice):
        named = f"{named}, one of {', '.join(map(str, param.type.choices))}," if named[0] == "-" else named
    return f"{named} is missing" + ("; `pnyx runs` lists runs" if named.startswith("ID") else "")


def _takes_text(command: click.Command | None) -> bool:
    params = command.params if command is not None else ()
    return any(isinstance(one, click.Argument) and one.make_metavar(_NOWHERE) == "TEXT" for one in params)


def _options(command: click.Command | None) -> list[click.Option]:
    if command is None:
        return []
    params = command.get_params(click.Context(command))
    return [param for param in params if isinstance(param, click.Option) and not param.hidden]
