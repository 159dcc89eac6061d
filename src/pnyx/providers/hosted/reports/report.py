"""A failure in a host's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from ....core.caching.regex import regex
from ..failure_codes import status_of_code, status_of_codes
from ..failure_phrases import in_english, in_one_sentence

__all__ = ["Report"]

MAX_WORDS = 4_000
"""Characters of a message that are read; a host may send much more."""
MAX_CODES = 20
MAX_NAMES = 8


@dataclass(frozen=True, slots=True)
class Report:
    """A failure in a host's own words.

    status: HTTP, 0 if unknown. code: the host's names of it. param: the part of the request that it names, as
    a path. items: a report for each part, if it names several. details: names in a longer report. waits: the
    fields of a reply that say how long to wait. is_page: the words are the title of a web page. may_be_note:
    they come without a sign of a failure, so that in a stream they may only say what the host does.
    """

    status: int
    message: str
    code: str = ""
    param: str = ""
    items: tuple[Report, ...] = ()
    details: str = field(default="", repr=False)
    waits: str = field(default="", repr=False)
    is_page: bool = False
    may_be_note: bool = False

    def __post_init__(self) -> None:
        for name in ("message", "code", "param", "details"):
            object.__setattr__(self, name, getattr(self, name)[:MAX_WORDS])

    @property
    def words(self) -> str:
        """All that the kind can be read from."""
        return _ADDRESS.sub("", f"{self.code} {self.details} {self.code_words} {self.english}")

    def has(self, stems: tuple[re.Pattern[str], ...]) -> bool:
        """Whether a sentence of the message has a word of each kind, in any order."""
        return in_one_sentence(stems, _ADDRESS.sub("", f"{self.english}\n{self.code_words}"))

    @property
    def code_words(self) -> str:
        """The words of codes that no table has: "credits exhausted" of `credits_exhausted`."""
        return _code_words(self.code)

    @property
    def english(self) -> str:
        """The message as the tables of failures can read it."""
        return _english(self.message)

    @property
    def is_of_rpc(self) -> bool:
        """Whether the words have the code of a failure of gRPC."""
        return any(map(status_of_code, _RPC.findall(self.message)))

    @property
    def named_status(self) -> int:
        """The HTTP status that the codes amount to, 0 if they name none; the most telling one."""
        parts = [*re.split(r"[\s#]+", f"{self.code} {self.details}"), *_RPC.findall(self.message)]
        named = status_of_codes([self.code, *parts[:MAX_CODES]])
        if not named and (found := _STATUS.search(self.message)):
            return int(found[1] or found[2])
        return named


@lru_cache(maxsize=64)
def _english(message: str) -> str:
    names = dict.fromkeys(_IDENTIFIER.findall(message)[:MAX_NAMES])
    return in_english("\n".join([message, *(_HUMP.sub(" ", name) for name in names)]))


@lru_cache(maxsize=64)
def _code_words(code: str) -> str:
    codes = dict.fromkeys(_CODE.findall(code)[:MAX_NAMES])
    return "\n".join(_HUMP.sub(" ", code).lower() for code in codes if not status_of_codes([code]))


_IDENTIFIER = regex(
    r"(?<![\w.])(?=\w{0,80}(?i:exceed|too_?(?:long|large|many)|overflow|error|exception))"
    r"(?:[A-Za-z]{1,40}_\w{1,80}|(?:[A-Z][a-z]{1,20}){2,8})(?!\w)"
)
"""A name of a failure among its words, or in their place: "InputTooLargeException"."""
_HUMP = regex(r"_|(?<=[a-z])(?=[A-Z])")
_CODE = regex(r"(?<![\w.])(?=\w{0,80}(?:_|[a-z][A-Z]))[A-Za-z]\w{1,80}(?![\w.])")
"""A code of several words."""
_ONE_STATUS = r"(4(?!00|22)\d\d|5\d\d)\b(?![,.]\d)"
_STATUS = regex(
    rf"\A(?:\[4(?:00|22)\])?\W{{0,2}}{_ONE_STATUS}|\b(?:HTTP|error|status)(?:\W{{1,3}}(?:code|status))?\W{{1,4}}{_ONE_STATUS}",
    re.IGNORECASE,
)
"""A status among the words, as clients write it; 400 and 422 say nothing beside them."""
_RPC = regex(r"\brpc error: code = (\w+)")
"""How gRPC's library for Go writes the code of a failure."""
_ADDRESS = regex(r"(?:https?:)?//\S+")
"""Addresses of documentation, and Google's of a resource, contain words of other failures."""
