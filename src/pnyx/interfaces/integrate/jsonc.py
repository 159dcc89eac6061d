"""Change one place of a JSON file with comments, and leave every other byte as it is.

Editors and assistants keep their settings as JSON with comments and trailing commas. A parser that returns
values alone would lose both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["JsoncError", "parse", "put"]

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]++|\\.)*+"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null'
)
_INDENT = re.compile(r"\n([ \t]+)\S")
DEEPEST = 100
"""Most levels: no settings are nested as deep."""


class JsoncError(ValueError):
    """The text is not JSON. The message has its line and column."""


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_PLAIN = json.JSONDecoder(parse_constant=_no_number)


@dataclass(frozen=True, slots=True)
class _Node:
    """A value. start, end: its characters. members: of an object, in their order."""

    value: Any
    start: int
    end: int
    members: Mapping[str, _Node] = field(default_factory=dict)


def parse(text: str) -> Any:
    """Return the value of a text; an empty one is an empty object. Raises `JsoncError`."""
    root = _root(text)
    return {} if root is None else root.value


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with `value` at `path`. Objects on both sides are merged, any other value replaced.

    Raises `JsoncError` if the text is not JSON, or if a value on the way is not an object.
    """
    root = _root(text)
    if root is None:
        head = text.rstrip()
        text = f"{head}{_newline(text) if head else ''}{{}}{_newline(text)}"
        root = _root(text)
        assert root is not None
    return _put(text, root, path, value)


def _put(text: str, node: _Node, path: Sequence[str], value: Any) -> str:
    if not isinstance(node.value, dict):
        raise JsoncError(f"{_place(text, node.start)} is not an object")
    if not path:
        for key, part in value.items():
            # Each change moves what follows, so that places are looked up again.
            text = _put(text, _at(text, node), [key], part)
        return text
    key, *rest = path
    member = node.members.get(key)
    if member is None:
        for outer in reversed(rest):
            value = {outer: value}
        return _insert(text, node, key, value)
    if rest or (isinstance(value, dict) and isinstance(member.value, dict)):
        return _put(text, member, rest, value)
    if member.value == value and type(member.value) is type(value):
        return text
    return text[: member.start] + _shown(value, text, _column(text, member.start)) + text[member.end :]


def _at(text: str, node: _Node) -> _Node:
    """The value that begins where `node` did: changes within a value do not move its start."""
    return _value(text, node.start, 0)


def _insert(text: str, node: _Node, key: str, value: Any) -> str:
    """Add a member after all others, and after the comments behind them."""
    end, newline = node.end - 1, _newline(text)
    outside = _column(text, node.start)
    inside = outside + _unit(text)
    if node.members:
        first = _key_start(text, node)
        before = text[text.rfind("\n", 0, first) + 1 : first]
        inside = before if not before.strip() else inside
        last = max(member.end for member in node.members.values())
        if not _comma_after(text, last):
            text, end = f"{text[:last]},{text[last:]}", end + 1
    head = text[:end].rstrip(" \t\r\n")
    tail = text[end:]
    entry = f"{inside}{json.dumps(key, ensure_ascii=False)}: {_shown(value, text, inside)}"
    return f"{head}{newline}{entry}{newline}{outside}{tail}"


def _key_start(text: str, node: _Node) -> int:
    return _skip(text, node.start + 1)


def _comma_after(text: str, position: int) -> bool:
    return text.startswith(",", _skip(text, position))


def _shown(value: Any, text: str, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{_newline(text)}{indent}".join(lines)


def _column(text: str, position: int) -> str:
    """The white space at the start of the line of `position`."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _root(text: str) -> _Node | None:
    start = _skip(text, 0)
    if start == len(text):
        return None
    node = _value(text, start, 0)
    if (rest := _skip(text, node.end)) < len(text):
        raise JsoncError(f"{_place(text, rest)}: the end was expected")
    return node


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None  # it matches nothing, too
    return found.end()


def _value(text: str, start: int, depth: int, is_plain: bool = True) -> _Node:
    """The value that begins at `start`. is_plain: False within an array that has comments."""
    if depth > DEEPEST:
        raise JsoncError(f"{_place(text, start)} is nested too deep")
    if text.startswith("{", start):
        return _object(text, start, depth)
    if text.startswith("[", start):
        # Nothing is put into an array, and a long one takes a tenth of the time this way.
        return (_plain(text, start) if is_plain else None) or _array(text, start, depth)
    if found := _SCALAR.match(text, start):
        try:
            return _Node(json.loads(found[0]), start, found.end())
        except ValueError:  # an escape that is none, or a number that is too long
            pass
    raise JsoncError(f"{_place(text, start)}: a value was expected")


def _plain(text: str, start: int) -> _Node | None:
    """The value that begins at `start`, if it is JSON without comments."""
    try:
        value, end = _PLAIN.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return _Node(value, start, end)


def _object(text: str, start: int, depth: int) -> _Node:
    members: dict[str, _Node] = {}
    position = _skip(text, start + 1)
    while not text.startswith("}", position):
        key = _value(text, position, depth + 1)
        if not isinstance(key.value, str):
            raise JsoncError(f"{_place(text, position)}: a name in quotes was expected")
        position = _skip(text, key.end)
        if not text.startswith(":", position):
            raise JsoncError(f"{_place(text, position)}: a colon was expected")
        member = members[key.value] = _value(text, _skip(text, position + 1), depth + 1)
        position = _next(text, member.end, "}")
    return _Node({name: member.value for name, member in members.items()}, start, position + 1, members)


def _array(text: str, start: int, depth: int) -> _Node:
    values: list[Any] = []
    position = _skip(text, start + 1)
    while not text.startswith("]", position):
        one = _value(text, position, depth + 1, is_plain=False)
        values.append(one.value)
        position = _next(text, one.end, "]")
    return _Node(values, start, position + 1)


def _next(text: str, position: int, end: str) -> int:
    """Where the next member begins, or the end; a comma before the end is allowed."""
    position = _skip(text, position)
    if text.startswith(",", position):
        return _skip(text, position + 1)
    if not text.startswith(end, position):
        raise JsoncError(f"{_place(text, position)}: a comma or {end} was expected")
    return position


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}"
