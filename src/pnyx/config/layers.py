"""Layers of settings: what a file, the environment or flags give, each key with where it came from.

Knows nothing of which keys exist. A layer is flat, so that merging tables and replacing lists is
one loop, and a hostile file cannot nest deep enough to hurt.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import ConfigError

__all__ = ["Given", "Key", "Layer", "Tree", "dotted", "flatten", "nested", "origin", "read", "stack"]

Key: TypeAlias = tuple[str, ...]
MAX_DEPTH = 8
"""Parts of a key; no known key has more than four."""
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Given:
    """A value and where it was given: a file's name, `$VARIABLE`, or "flags"."""

    value: Any
    origin: str


Layer: TypeAlias = dict[Key, Given]
Tree: TypeAlias = "dict[str, Given | Tree]"


def dotted(key: Iterable[str | int]) -> str:
    """The key as TOML writes it: `models."lab:alpha".context`, `panel.seats[0]`. Always plain ASCII."""
    out = ""
    for part in key:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            out += f".{part if re.fullmatch('[A-Za-z0-9_-]+', part) else json.dumps(part)}"
    return out.removeprefix(".")


def read(path: Path, shown: str) -> Layer:
    """The keys of a TOML file, called `shown` in messages. Raises `ConfigError`."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise ConfigError(f"cannot read {shown}: {exc.strerror or exc}") from exc
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{shown} is larger than {MAX_BYTES >> 20} MiB")
    try:
        # Editors on some systems write a byte order mark, which TOML does not know.
        document = tomllib.loads(raw.decode("utf-8-sig"))
        # Python reads hexadecimal numbers that it does not write, and what is wrong is told by its value.
        repr(document)
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"{shown} is not UTF-8 (line {line})") from exc
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{shown} is not valid TOML: {exc}") from exc
    except RecursionError as exc:
        raise ConfigError(f"{shown} is nested too deeply") from exc
    except ValueError as exc:
        raise ConfigError(f"{shown} holds a number of too many digits") from exc
    return flatten(document, shown)


def flatten(document: Mapping[str, Any], origin: str) -> Layer:
    """Nested tables as one flat layer; an empty table stays a value, None counts as not given.

    Raises `ConfigError` for a key of more than `MAX_DEPTH` parts.
    """
    layer: Layer = {}
    waiting: list[tuple[Key, Any]] = [((name,), value) for name, value in document.items()]
    while waiting:
        key, value = waiting.pop()
        if len(key) > MAX_DEPTH:
            raise ConfigError(f"unknown key {dotted(key)} in {origin}")
        if isinstance(value, Mapping) and value:
            waiting += [((*key, str(name)), inner) for name, inner in value.items()]
        elif value is not None:
            layer[key] = Given(value, origin)
    return layer


def stack(layers: Iterable[Layer]) -> Tree:
    """All layers as one tree, later ones over earlier ones: tables merge, everything else replaces."""
    tree: Tree = {}
    for layer in layers:
        for key, given in layer.items():
            node = tree
            for part in key[:-1]:
                inner = node.get(part)
                if not isinstance(inner, dict):
                    inner = node[part] = {}
                node = inner
            if given.value != {} or not isinstance(node.get(key[-1]), dict):
                node[key[-1]] = given
    return tree


def nested(tree: Tree) -> dict[str, Any]:
    """The values of a tree, as nested tables."""
    return {name: nested(v) if isinstance(v, dict) else v.value for name, v in tree.items()}


def origin(tree: Tree, key: Iterable[str | int]) -> str:
    """Where `key` was given, or the first thing in its table, or the nearest table around it."""
    node: Given | Tree = tree
    for part in key:
        inner = node.get(str(part)) if isinstance(node, dict) else None
        if inner is None:
            break
        node = inner
    while isinstance(node, dict) and node:
        node = next(iter(node.values()))
    return node.origin if isinstance(node, Given) else "default"
