"""What messages call the options of a request, and the next step: each interface has its own names for them.

Below the interfaces, a message names an option as JSON does: `use "panel": "fast"`. HTTP, MCP and batch lines
show that unchanged; the command line shows `-P fast`, Python `saved_panel="fast"`. The next step is a
command, which HTTP shows as a request, and MCP as a tool.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

from ...run.options.request import OPTIONS, RequestOption

__all__ = ["with_flags", "with_keywords", "with_requests", "with_tools"]

_OPTION = re.compile(rf'"({"|".join(OPTIONS)})"(?:: (\[[^\]]*\]|"[^"]*"))?')

_RESUME = re.compile(r"`?pnyx resume ([a-z0-9]+)(?: --(?:(budget|deadline) ([0-9.]*[0-9]|SECONDS)|fork))?`?")
_STEPS = (
    (re.compile(r"`?pnyx cancel ([a-z0-9]+)`?"), r"POST /v1/runs/\1/cancel", r"`cancel`, run_id \1"),
    (re.compile(r"`?pnyx share ([a-z0-9]+) --list`?"), r"GET /v1/runs/\1/shares", r"\g<0>"),
    (re.compile(r"`pnyx runs`"), "GET /v1/runs", "`runs`"),
    (re.compile(r"`pnyx protocols`"), "GET /v1/protocols", "`protocols`"),
    (re.compile(r"`pnyx models`"), "GET /v1/settings", r"\g<0>"),
)
"""What is typed for the other steps, and its request and tool. MCP has none for links and models."""
_FIELDS = {"budget": "budget_usd", "deadline": "deadline_s"}


def with_flags(message: str) -> str:
    """The message with the flags of the command line: "add models with -m 'lab:alpha*3'"."""
    return _renamed(message, _flag)


def with_keywords(message: str) -> str:
    """The message with the keyword arguments of the library: 'add models with panel=["lab:alpha*3"]'."""
    return _renamed(message, _keyword)


def with_requests(message: str) -> str:
    """The message with the requests of HTTP: 'POST /v1/runs/ID/resume with {"budget_usd": 0.10}'."""
    message = _RESUME.sub(lambda one: f"POST /v1/runs/{one[1]}/resume{_body(one)}", message)
    for command, request, _ in _STEPS:
        message = command.sub(request, message)
    return message


def with_tools(message: str) -> str:
    """The message with the tools of MCP: "`resume`, run_id ID and budget_usd 0.10"."""
    message = _RESUME.sub(lambda one: f"`resume`, run_id {one[1]}{_argument(one)}", message)
    for command, _, tool in _STEPS:
        message = command.sub(tool, message)
    return message


def _body(found: re.Match[str]) -> str:
    name, value = _field(found)
    return f' with {{"{name}": {value}}}' if name else ""


def _argument(found: re.Match[str]) -> str:
    name, value = _field(found)
    return f" and {name} {value}" if name else ""


def _field(found: re.Match[str]) -> tuple[str, str]:
    """The field of a request to resume for a flag of the command, and its value in JSON."""
    if found[0].rstrip("`").endswith("--fork"):
        return "fork", "true"
    return _FIELDS.get(found[2], ""), found[3]


def _renamed(message: str, of: Callable[[RequestOption, str | None], str | None]) -> str:
    return _OPTION.sub(lambda found: of(OPTIONS[found[1]], found[2]) or found[0], message)


def _flag(option: RequestOption, value: str | None) -> str | None:
    if not option.flags:
        return None
    flag = option.flags[0]
    if value is None:
        return flag
    try:
        found = json.loads(value)
    except ValueError:  # words that only look like a value
        return None
    return " ".join(
        f"{flag} {shlex.quote(str(one))}" for one in ([found] if isinstance(found, str) else found)
    )


def _keyword(option: RequestOption, value: str | None) -> str | None:
    if option.keyword is None:
        return None
    return option.keyword if value is None else f"{option.keyword}={value}"
