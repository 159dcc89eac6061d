"""Status codes of HTTP, where the question asks for one: `404 Not Found` is `404`."""

from __future__ import annotations

from functools import lru_cache

from ...caching.regex import regex
from ..words import table

__all__ = ["asks_for_status", "same_status"]

_ASKED = regex(
    r"\b(?:http[- ](?:status|response|error|code)|status[- ]?codes?|response codes?)\b|\bstatuscodes?\b"
    r"|\bcodes? d['\u2019]état\b|\bcódigos? de (?:estado|status)\b|\bcodic[ei] di stato\b"
    r"|状态码|ステータスコード|код\w* (?:состояния|ответа)|상태 코드",
    2,
)
_WRITTEN = regex(
    r"(?:http(?:/\d(?:\.\d)?)?\s*)?(?:status\s*)?(?:code\s*)?(?P<code>[1-5]\d\d)\b[\s:(\u2013\u2014-]*"
    r"(?P<phrase>[^\n]{0,40}?)\W{0,3}",
    2,
)
_SIGNS = regex(r"[\W_]+")


@lru_cache(maxsize=64)
def asks_for_status(question: str | None) -> bool:
    """Whether `question` asks for a status code of HTTP."""
    return bool(question and _ASKED.search(question))


def same_status(a: str, b: str) -> bool:
    """Whether both are one code, alone or with its own phrase."""
    mine = _code(a)
    return mine is not None and mine == _code(b)


def _code(written: str) -> int | None:
    found = _WRITTEN.fullmatch(written.strip())
    if found is None:
        return None
    phrase = _SIGNS.sub(" ", found["phrase"].casefold()).strip()
    return (
        int(found["code"]) if not phrase or phrase in table("status_codes").get(found["code"], ()) else None
    )
