"""Literals of programming languages and exact tokens: strings, lists, versions, paths, flags, identifiers."""

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ...caching.regex import regex
from .literal_values import NotLiteralError, literal_key

__all__ = ["MAX_CHARS", "Code", "is_credibly_code", "read_literal", "unfenced"]

MAX_CHARS = 4000
"""Characters of a literal."""


@dataclass(frozen=True, slots=True)
class Code:
    """A literal. kind: string, value (a list, a dict, None, …), token (compared character by character) or
    calls of tools.

    key: equal for equal literals. text: the content of a string or the token. quoted: whether marks stand
    around it, which the same content without marks may lack.
    """

    kind: Literal["string", "value", "token", "calls"]
    key: str
    text: str
    quoted: bool = False

    def same(self, other: Code) -> bool:
        if self.kind == other.kind:
            return self.key == other.key
        if "value" in (self.kind, other.kind) or _CONSTANT.fullmatch(self.text):
            return False  # `True` is no 'True'
        return self.text == other.text

    def same_text(self, written: str) -> bool:
        """Whether text that is no literal is the content of this one, character by character."""
        return self.kind != "value" and self.text == written


_CONSTANT = regex(r"[Tt]rue|[Ff]alse|None|null|nil|undefined")


def read_literal(text: str) -> Code | None:
    """The literal that `text` is as a whole, with the marks around it; None if it is none."""
    text = text.strip()
    if not 0 < len(text) <= MAX_CHARS:
        return None
    if inner := unfenced(text):
        return read_literal(inner) or _in_backticks(inner)
    if _MAYBE_VALUE.match(text):
        try:
            key, content = literal_key(text)
        except NotLiteralError:
            pass
        else:
            if content is not None:
                return Code("string", content, content, True)
            # (5) is a number in brackets.
            if key[0] in "[({bN" or _CALLED.match(key):
                return Code("value", key, "none" if key == "None" else text)
    if _BASED.fullmatch(text):
        with suppress(NotLiteralError):
            return Code("value", literal_key(text)[0], text)
    if (match := _VERSION.fullmatch(text)) and not _GROUPED.fullmatch(text):
        version = (match[1] or match[2]).lower()
        return Code("token", version, version)
    if _IN_BASE.fullmatch(text):
        return None
    if _MODEL.fullmatch(text):
        return Code("token", text.casefold(), text)
    if _FLAG.fullmatch(text):
        # --depth=3 and --depth 3 are one flag.
        return Code("token", text.replace(" ", "=", 1), text)
    return Code("token", text, text) if _is_token(text) else None


def unfenced(text: str) -> str:
    """The content of backticks around the whole text."""
    if fenced := _FENCED.fullmatch(text):
        return fenced[1].strip()
    if len(text) > 2 and text[0] == text[-1] == "`":
        inner = text.strip("`")
        return inner.strip() if "`" not in inner else ""
    return ""


_FENCED = regex(r"```[a-zA-Z]*\s([^`]+)```")


def _in_backticks(inner: str) -> Code | None:
    # A number in backticks is a number, unless its zeros say that it is a code.
    if _NUMBER.fullmatch(inner) and not _ZEROS.match(inner):
        return None
    return Code("token", inner, inner, True)


_NUMBER = regex(r"[+-]?(?:\d[\d,_ ]*)?\.?\d+(?:[eE][+-]?\d+)?\s?[%°]?")
_ZEROS = regex(r"[+-]?0\d")
_MAYBE_VALUE = regex(
    r"""[bBrRuU]{0,2}["']|[\[{(]|(?:None|none|null)$|set\(\)$"""
    r"""|(?:set|frozenset|range|Counter|deque|OrderedDict|array|dict_(?:keys|values|items))\("""
)
_FLAG = regex(r"--[A-Za-z][\w-]* [^\s-]\S*")
_CALLED = regex(r"[A-Za-z_]+[({]")
_BASED = regex(r"([+-]?0[xXoObB])([0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)")
_VERSION = regex(
    r"(?:[vV](?:ersion)?\s*)?(?<!\d)(\d{1,5}(?:\.\d{1,6}){2,5}(?:[-+.]?(?:a|b|rc|alpha|beta|dev|post|pre)[-.]?\d*|[-+][\w.-]+)?)"
    r"|(?<![\w])[vV](\d{1,5}(?:\.\d{1,6})*)"
)
_GROUPED = regex(r"\d{1,3}(?:\.\d{3})+")
"""A number with dots between its thousands."""
_IN_BASE = regex(r"[0-9A-F]+_\d{1,2}")
"""Digits with their base, as in FF_16."""
_MODEL = regex(r"[A-Za-z]{3,}\w*-\d[\w.]*(?:-[\w.]+)*")
"""A name with a number, as in `llama-3.1-70b`, in letters of any case."""
_EXTENSIONS = (
    "py pyi ipynb js mjs ts tsx jsx html htm css scss json jsonl txt md rst csv tsv xml yml yaml toml ini cfg"
    " conf env lock log c h cc cpp hpp cs java kt rs go rb php sh bash zsh ps1 bat exe dll so pdf png jpg"
    " jpeg gif svg"
    " zip tar gz sql db sqlite swift scala lua pl"
).replace(" ", "|")
_TOKEN = regex(
    "|".join(
        f"(?:{form})"
        for form in (
            r"--[A-Za-z][\w-]*(?:[= ]\S+)?",  # --workers=4
            r"-[A-Za-z]{2,}[\w-]*=\S+",
            r"-[A-Za-z]\d",  # -O2
            r"[A-Z][A-Z0-9_]{2,}=\S+",  # DEBUG=1, and AB=12 is a length
            r"[A-Z]{2}=(?![\d\\√(-])\S+",
            # pip install -U pip
            r"(?!\S* (?:and|or|\\text))[a-z][\w.-]*(?: [^ ]+)*(?: --?[A-Za-z][\w-]*)(?:[ =][^ ]+)*",
            r"<[A-Z]-[A-Za-z]>\w*",
            r"[0-9a-fA-F:]*::[0-9a-fA-F:.]*",  # an address of IPv6
            r"[a-z_][\w-]*: ?(?:'[^']*'|\"[^\"]*\")",  # a line of YAML
            r"[a-z]{3,}\*+ ?\w+",  # int* p
            r"![A-Za-z_]\w+|!![A-Za-z_]\w+",
            r"[A-Za-z_]\w*(?:\[[^\[\]]*\])+",  # a[0]
            r"\*+[A-Za-z_]\w*",  # *p
            r"-[A-Za-z] \d+",  # -j 8
            r"[a-z]+[A-Z]\w*_?",  # camelCase
            r"\{?:[a-z_]\w*[?!]?(?:, \S.*)?\}?",  # :ok, {:ok, 1}
            r"\([^\s()]+ \. [^\s()]+\)",  # (1 . 2)
            r"__\w+__(?:\(.*\))?",  # __init__
            r"[A-Za-z][A-Za-z0-9]+(?:_[A-Za-z0-9]+)+(?:\(.*\))?",  # snake_case
            r"_[A-Za-z]\w+",
            r"[A-Za-z]\w*(?:\.[A-Za-z_]\w*)*\(\s*\)",  # close()
            r"[A-Za-z_]\w{2,}(?:\.[A-Za-z_]\w*)+\(.*\)",
            rf"(?:[\w.@-]+/)*[\w.@-]*\w\.(?:{_EXTENSIONS})",  # main.py
            r"\.[a-z][\w.-]+",  # .gitignore
            r"\S*\\[dDwWsSbB](?![A-Za-z])\S*",  # \d+
            r"(?:~|\.{1,2})?/(?:[\w.@*?+~-]+/?)*",  # /etc/hosts
            r"[A-Za-z]:\\\S*",
            r"(?:[\w.@+-]*[A-Za-z][\w.@+-]+/){2,}[\w.@*?+-]*",  # usr/local/bin
            r"(?:\*\*?/)*[\w.\-\[\]/]*\*+\.[\w*]+",  # *.py
            r"(?:\*\*/)+\S*",
            r"(?=\S*(?:\*/|/\*))(?=\S*[a-z]{2})[\w.@*?+/{}\[\],-]+",  # src/**/test_*.py
            r"(?:\^|\(\?[a-z]+\))?(?:\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9])+[^\s\[\]]*\]"
            r"(?:[*+?]|\{\d+,?\d*\})?)+\$?",  # [a-z]+
            r"[a-z][a-z0-9+.-]*://\S+",
            r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+(?:\(.*\))?",
            r"[\w.+-]+@[\w-]+\.[\w.-]+",
            r"[$@#][A-Za-z_]\w+",
            r"<[A-Za-z]\w*(?:\s[^<>]*=[^<>]*|\s*/)>|</[A-Za-z]\w*>",
        )
    )
)


def _is_token(text: str) -> bool:
    return len(text) <= 200 and bool(_TOKEN.fullmatch(text))


@functools.lru_cache(maxsize=1024)
def is_credibly_code(text: str) -> bool:
    """Whether `text` is a literal or an exact token."""
    return read_literal(text) is not None
