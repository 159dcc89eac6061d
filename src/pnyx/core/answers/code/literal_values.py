"""A reader of literal values as Python and JSON write them: strings, lists, tuples, sets, dicts, constants.

It evaluates nothing, and reads the same on every version of Python.
"""

from __future__ import annotations

import json
from fractions import Fraction

from ...caching.regex import regex

__all__ = ["CONSTANTS", "NotLiteralError", "literal_key"]

MAX_NESTING = 30
"""Brackets inside each other."""

_SPACE = regex(r"\s*")
_NUMBER = regex(
    r"[+-]?\s*(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?[jJ]?)(?![\w.])"
)
_PREFIX = regex(r"(?:[rRuUbB]|[rR][bB]|[bB][rR])?(?=[\"'])")
_CONSTANTS = {
    "True": "True", "true": "True", "False": "False", "false": "False",
    "None": "None", "none": "None", "null": "None", "set()": "{}", "frozenset()": "frozenset{}",
}  # fmt: skip
_CONSTANT = regex(
    "|".join(
        map(r"{}(?!\w)".format, (r"set\(\)", r"frozenset\(\)", *filter(str.isalpha, _CONSTANTS)))
    ).replace(r"\)(?!\w)", r"\)")
)
_CALL = regex(r"(set|frozenset|range|Counter|deque|OrderedDict|array|dict_(?:keys|values|items))\(")
"""Calls that Python prints for values which have no literal."""
_OPAQUE = regex(
    r"\([+-]?\d[\d.e]*[+-]\d[\d.e]*j\)|-?(?:inf|Infinity|nan|NaN)\b|Ellipsis\b|\.\.\.|<[A-Za-z][^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|(?!OrderedDict|Counter)[A-Z]\w*(?=\()|defaultdict(?=\()"
)
"""Values inside brackets that have no literal, and complex numbers: `inf`, `Color.RED`, `Decimal('1')`."""
CONSTANTS = frozenset(("true", "false", "none", "infinity", "-infinity", "inf", "-inf", "nan", "ellipsis"))
"""Values in lower case that are no strings, `None` and not `'None'`."""
_KEYWORD = regex(r"\s*([A-Za-z_]\w*)\s*=(?!=)")
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "\n": "", "/": "/",
}  # fmt: skip
_CODE = regex(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
_BRACKETS = {"[": "]", "(": ")", "{": "}"}


class NotLiteralError(Exception):
    """The text is no literal value."""


def literal_key(text: str) -> tuple[str, str | None]:
    """A text that is equal for equal values, and the content if the value is a string.

    1 equals 1.0, and neither equals "1" or True; sets and dicts have no order. Raises `NotLiteralError`.
    """
    reader = _Reader(text)
    key = reader.value(0)
    reader.skip()
    if reader.at != len(text):
        raise NotLiteralError
    return key, reader.string


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.string: str | None = None

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def take(self, mark: str) -> bool:
        self.skip()
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) * found
        return found

    def value(self, depth: int) -> str:
        self.skip()
        self.string = None
        if depth > MAX_NESTING or self.at >= len(self.text):
            raise NotLiteralError
        if depth and (opaque := _OPAQUE.match(self.text, self.at)):
            self.at = opaque.end()
            return f"={opaque[0]}{self._arguments(depth)}"
        if self.text[self.at] in _BRACKETS:
            return self._container(depth)
        if (call := _CALL.match(self.text, self.at)) and not self.text.startswith(")", call.end()):
            return self._call(call[1], call.end(), depth)
        if prefix := _PREFIX.match(self.text, self.at):
            return self._string(prefix[0].lower(), prefix.end())
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return _number(number[0].replace("_", "").replace(" ", ""))
        if constant := _CONSTANT.match(self.text, self.at):
            self.at = constant.end()
            return _CONSTANTS[constant[0]]
        raise NotLiteralError

    def _arguments(self, depth: int) -> str:
        """The arguments of a call that is printed for a value, `(x=1, y=2)`; empty without one."""
        if not self.text.startswith("(", self.at):
            return ""
        self.at += 1
        items = list[str]()
        while not self.take(")"):
            keyword = _KEYWORD.match(self.text, self.at)
            self.at = keyword.end() if keyword else self.at
            items.append(f"{keyword[1] if keyword else ''}={self.value(depth + 1)}")
            if not self.take(",") and not self.text.startswith(")", self.at):
                raise NotLiteralError
        self.string = None
        return f"({','.join(items)})"

    def _call(self, name: str, start: int, depth: int) -> str:
        """The value of `frozenset({1, 2})`, `range(5)` and their kin, as Python compares them."""
        self.at = start
        items = [self.value(depth + 1)]
        while self.take(","):
            items.append(self.value(depth + 1))
        self.string = None
        if not self.take(")"):
            raise NotLiteralError
        if name == "range":
            if not 1 <= len(items) <= 3 or not all(item.startswith("n") for item in items):
                raise NotLiteralError
            items = ["n0", *items] if len(items) == 1 else items
            return f"range({','.join([*items, 'n1'][:3])})"
        if len(items) != 1 or items[0][:1] not in "[({":
            raise NotLiteralError
        inner = items[0]
        if name not in ("set", "frozenset"):
            return f"{name}({inner})"
        if inner[0] != "{" or inner.endswith(":"):
            raise NotLiteralError
        return inner if name == "set" else f"frozenset{inner}"

    def _container(self, depth: int) -> str:
        opens = self.text[self.at]
        self.at += 1
        items, pairs = list[str](), 0
        held = dict[str, str]()
        closed = self.take(_BRACKETS[opens])
        comma = False
        while not closed:
            item = self.value(depth + 1)
            if opens == "{" and self.take(":"):
                held[item], pairs = self.value(depth + 1), pairs + 1
            items.append(item)
            comma = self.take(",")
            closed = self.take(_BRACKETS[opens])
            if not closed and not comma:
                raise NotLiteralError
        self.string = None
        if opens == "[":
            return f"[{','.join(items)}]"
        if opens == "(":
            # Brackets around one value only group it.
            return items[0] if len(items) == 1 and not comma else f"({','.join(items)})"
        if pairs not in (0, len(items)):
            raise NotLiteralError
        if pairs or not items:
            # Of two values for one key, the last one counts.
            return f"{{{','.join(sorted(f'{key}:{value}' for key, value in held.items()))}}}:"
        return f"{{{','.join(sorted(set(items)))}}}"

    def _string(self, prefix: str, start: int) -> str:
        quote = self.text[start : start + 3]
        quote = quote if quote in ('"""', "'''") else quote[0]
        out, at, text = list[str](), start + len(quote), self.text
        while not text.startswith(quote, at):
            if at >= len(text):
                raise NotLiteralError
            if text[at] == "\\" and "r" not in prefix:
                piece, at = _escaped(text, at + 1)
                out.append(piece)
            else:
                out.append(text[at])
                at += 1
        self.at = at + len(quote)
        self.string = "".join(out) if "b" not in prefix else None
        return ("b" if "b" in prefix else "") + json.dumps("".join(out))


def _escaped(text: str, at: int) -> tuple[str, int]:
    """The character of the escape at `at`, after its backslash, and the place after it."""
    if code := _CODE.match(text, at):
        number = int(next(filter(None, code.groups())), 16)
        if number > 0x10FFFF:
            raise NotLiteralError
        return chr(number), code.end()
    if at >= len(text):
        raise NotLiteralError
    return _ESCAPES.get(text[at], "\\" + text[at]), at + 1


def _number(text: str) -> str:
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text.lstrip("+"))
    if digits[:2].lower() in ("0x", "0o", "0b"):
        return f"{sign}n{int(digits, 0)}"
    if digits[-1] in "jJ":
        return f"{sign}j{Fraction(digits[:-1])}"
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit() and digits.strip("0"):
        raise NotLiteralError
    value = Fraction(digits.rstrip(".") if not digits.startswith(".") else digits)
    return f"n{-value if sign else value}"
