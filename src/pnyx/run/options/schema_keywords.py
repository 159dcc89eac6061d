"""Keywords of JSON Schema that an answer must satisfy too: patterns and formats, in bounded time.

Patterns are those of ECMA-262. RE2 matches them in time linear in the text, and always with the same result,
which a resumed run needs. What RE2 does not have (lookaround, back references, `{1,5000}`) is not checked.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ...core.caching.regex import regex

__all__ = ["FORMATS", "is_format", "is_pattern", "matches"]

MOST_PATTERN = 10_000
"""Characters of a pattern that is checked."""
MEMORY = 8 << 20
"""Bytes that a pattern may take, compiled; a larger one is not checked."""

_UNICODE = regex(r"(?<!\\)((?:\\\\)*)\\u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))")
_NAMED = regex(r"\(\?<(?=[A-Za-z_])")
_ONLY_ECMA = regex(r"\\[pP]\{[^}]*\}|\\[kK]<[^>]*>|\\c[A-Za-z]|\[\^?\]|\\u\{[^}]*\}")
_TIME = regex(
    r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[zZ]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_DATE = regex(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DURATION = regex(
    r"P(?:\d+W|(?=.)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)", re.ASCII
)
_LABEL = regex(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_EMAIL = regex(r"[^\s@]+@[^\s@]+")


def is_pattern(text: str) -> bool:
    """Whether a text is a regular expression, as far as RE2 and Python know it."""
    if _compiled(text) is not None:
        return True
    try:
        re.compile(_NAMED.sub("(?P<", _ONLY_ECMA.sub(lambda found: r"\w", text)))
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def matches(pattern: str, text: str) -> bool | None:
    """Whether `pattern` matches anywhere in `text`; None if RE2 does not have such patterns."""
    found = _compiled(pattern)
    return None if found is None else found.search(text.encode("utf-8", "replace")) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any | None:
    # Start-up time: few requests have a pattern.
    import re2

    if len(pattern) > MOST_PATTERN:
        return None
    options = re2.Options()
    options.log_errors, options.max_mem = False, MEMORY
    translated = _UNICODE.sub(lambda found: rf"{found[1]}\x{{{found[2] or found[3]}}}", pattern)
    try:
        return re2.compile(translated.encode("utf-8", "replace"), options)
    except re2.error:
        return None


def is_format(name: str, text: str) -> bool:
    """Whether a text has a format of JSON Schema; true for a format that is not in `FORMATS`."""
    check = FORMATS.get(name)
    return check is None or check(text)


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _parses(datetime.date.fromisoformat, text)


def _is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None


def _is_moment(text: str) -> bool:
    return len(text) > 10 and text[10] in "tT" and _is_date(text[:10]) and _is_time(text[11:])


def _is_host(text: str) -> bool:
    return 0 < len(text) <= 253 and all(map(_LABEL.fullmatch, text.split(".")))


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4 and _parses(uuid.UUID, text)


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date-time": _is_moment,
    "date": _is_date,
    "time": _is_time,
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
    "email": lambda text: len(text) <= 320 and _EMAIL.fullmatch(text) is not None,
    "hostname": _is_host,
    "ipv4": lambda text: _parses(ipaddress.IPv4Address, text),
    "ipv6": lambda text: "%" not in text and _parses(ipaddress.IPv6Address, text),
    "uuid": _is_uuid,
    "regex": is_pattern,
}
"""Those that OpenAI's strict schemas have, and regex."""
