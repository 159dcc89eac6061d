"""What messages call the options of a request: each interface has its own names for them.

Below the interfaces, a message names an option as JSON does: `use "panel": "fast"`. HTTP, MCP and batch lines
show that unchanged; the command line shows `-P fast`, Python `saved_panel="fast"`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

from ...run.options.request import OPTIONS, RequestOption

__all__ = ["with_flags", "with_keywords"]

_OPTION = re.compile(rf'"({"|".join(OPTIONS)})"(?:: (\[[^\]]*\]|"[^"]*"))?')


def with_flags(message: str) -> str:
    """The message with the flags of the command line: "add models with -m 'lab:alpha*3'"."""
    return _renamed(message, _flag)


def with_keywords(message: str) -> str:
    """The message with the keyword arguments of the library: 'add models with panel=["lab:alpha*3"]'."""
    return _renamed(message, _keyword)


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
