"""Layers of settings: the keys of a file, of the environment or of the flags, each with its origin.

Does not know which keys exist. A layer is flat, so that merging tables and replacing lists is one
loop, and deep nesting in a hostile file does no harm.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import ConfigError
from .key_lines import key_lines

__all__ = ["Key", "Layer", "Tree", "Value", "dotted", "flatten", "merge", "place", "read", "to_tables"]

Key: TypeAlias = tuple[str, ...]
MAX_DEPTH = 8
"""Parts of a key; no known key has more than four."""
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its origin: a file's name, `$VARIABLE`, or "flags". line: where it is in the file."""

    value: Any
    origin: str
    line: int | None = None

    @property
    def place(self) -> str:
        """The origin with its line, for messages: "pnyx.toml:4"."""
        return self.origin if self.line is None else f"{self.origin}:{self.line}"


Layer: TypeAlias = dict[Key, Value]
Tree: TypeAlias = "dict[str, Value | Tree]"


def dotted(key: Iterable[str | int]) -> str:
    """Return the key in TOML's notation: `models."lab:alpha".context`, `panel.seats[0]`. Always ASCII."""
    out = ""
    for part in key:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            out += f".{part if re.fullmatch('[A-Za-z0-9_-]+', part) else json.dumps(part)}"
    return out.removeprefix(".")


def read(path: Path, shown: str) -> Layer:
    """Read the keys of a TOML file. shown: its name in messages. Raises `ConfigError`."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise ConfigError(f"cannot read {shown}: {exc.strerror or exc}") from exc
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{shown} is larger than {MAX_BYTES >> 20} MiB")
    try:
        # Editors on some systems write a byte order mark, which TOML does not allow.
        text = raw.decode("utf-8-sig")
        if _LONG_KEY.search(text):
            raise ConfigError(f"{shown} is nested too deeply")
        document = tomllib.loads(text)
        # Messages show values, and Python can read hexadecimal numbers that are too long for it to write.
        repr(document)
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"{shown} is not UTF-8 (line {line})") from exc
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{shown} is not valid TOML: {exc}{_unquoted(raw)}") from exc
    except RecursionError as exc:
        raise ConfigError(f"{shown} is nested too deeply") from exc
    except ValueError as exc:
        raise ConfigError(f"{shown} contains a number with too many digits") from exc
    lines = key_lines(text)
    layer = flatten(document, shown)
    for key, value in layer.items():
        near = (lines.get(key[:length]) for length in range(len(key), 0, -1))
        layer[key] = replace(value, line=next(filter(None, near), None))
    return layer


_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{64}}")
"""A key of so many parts that tomllib, which compares each with all before, would read it for minutes."""


def _unquoted(raw: bytes) -> str:
    """Return how to write the first table whose name needs quotes and has none, as in [models.lab:alpha]."""
    found = re.search(rb"^\s*\[\s*(models|providers|panels)\.([\w-]+[:/][\w.:/-]+)\s*\]", raw, re.MULTILINE)
    if found is None:
        return ""
    table, name = (part.decode() for part in found.groups())
    return f'; write [{table}."{name}"]'


def flatten(document: Mapping[str, Any], origin: str) -> Layer:
    """Return nested tables as one flat layer. An empty table is a value; None is left out.

    Keys stay in the order of the file, and so do the problems that are found in them. Raises `ConfigError`
    for a key with more than `MAX_DEPTH` parts.
    """
    layer: Layer = {}
    waiting: list[tuple[Key, Any]] = [((name,), document[name]) for name in reversed([*document])]
    while waiting:
        key, value = waiting.pop()
        if len(key) > MAX_DEPTH:
            raise ConfigError(f"unknown key {dotted(key)} in {origin}")
        if isinstance(value, Mapping) and value:
            waiting += [((*key, str(name)), value[name]) for name in reversed([*value])]
        elif value is not None:
            layer[key] = Value(value, origin)
    return layer


def merge(layers: Iterable[Layer]) -> Tree:
    """Merge layers into one tree. Tables are merged; other values of later layers replace earlier ones."""
    tree: Tree = {}
    for layer in layers:
        for key, value in layer.items():
            node = tree
            for part in key[:-1]:
                inner = node.get(part)
                if not isinstance(inner, dict):
                    inner = node[part] = {}
                node = inner
            if value.value != {} or not isinstance(node.get(key[-1]), dict):
                node[key[-1]] = value
    return tree


def to_tables(tree: Tree) -> dict[str, Any]:
    """Return the values of a tree as nested tables."""
    return {name: to_tables(v) if isinstance(v, dict) else v.value for name, v in tree.items()}


def place(tree: Tree, key: Iterable[str | int]) -> str:
    """Return the place of `key`, of the first value in its table, or of the nearest table around it."""
    node: Value | Tree = tree
    for part in key:
        inner = node.get(str(part)) if isinstance(node, dict) else None
        if inner is None:
            break
        node = inner
    while isinstance(node, dict) and node:
        node = next(iter(node.values()))
    return node.place if isinstance(node, Value) else "default"
