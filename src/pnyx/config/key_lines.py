"""The line of each key of a TOML file, for messages: `tomllib` does not give them.

The text is valid TOML, so strings, brackets and line ends are enough to see where each statement ends.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

__all__ = ["key_lines"]

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}'  # up to two quotes may precede the closing ones
    r'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]',
    re.DOTALL,
)
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_NAME = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_TABLE = re.compile(rf"\s*\[\[?[ \t]*({_NAME})[ \t]*\]")
_SETTING = re.compile(rf"\s*({_NAME})[ \t]*=")
_BARE = re.compile(r"[A-Za-z0-9_.-]+")


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the first line of each table and key of a valid TOML text, counted from 1.

    Keys in inline tables are not among them: they are on the line of the key that has the table.
    """
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for line, statement in _statements(text):
        if found := _TABLE.match(statement):
            table = key = _parts(found[1])
        elif found := _SETTING.match(statement):
            key = (*table, *_parts(found[1]))
        else:
            continue
        lines.setdefault(key, line + statement.count("\n", 0, found.start(1)))
    return lines


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The tables and settings of the text, each with the number of its first line."""
    line, start, depth = 1, 0, 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token == "\n" and depth == 0:
            statement = text[start : found.end()]
            yield line, statement
            line, start = line + statement.count("\n"), found.end()
        elif token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
    yield line, text[start:]


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a dotted key, as tomllib reads them."""
    if _BARE.fullmatch(name):
        return tuple(name.split("."))
    parts, inner = [], tomllib.loads(f"{name} = 0")
    while isinstance(inner, dict):
        ((part, inner),) = inner.items()
        parts.append(part)
    return tuple(parts)
