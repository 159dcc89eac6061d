"""JSON out of what a model wrote, and whether it has the shape that was asked for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..regex import regex
from ..steps import Schema

__all__ = ["Located", "conform", "field", "find_objects", "object_schema", "read_object"]

DEEPEST = 100
"""Levels of nesting: what is deeper is nobody's answer, and would exhaust the stack of whoever walks it."""

TOKENS = 50_000
"""Tokens of one text that are read leniently, which is slower than `json` reads what is valid."""

LONGEST = 100_000
"""Characters of an object that is read leniently."""

_FENCE = regex(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)^[ \t]*\1", re.DOTALL | re.MULTILINE)
_OPENING = regex(r"\{(?=\s*(?:[\"'“”„}]|//|/\*|[A-Za-z_]\w{0,63}\s*:))")
_TOKEN = regex(
    r"""(?P<space>\s+|//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)
    |(?P<mark>[{}\[\]:,])
    |(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"
        |[“”„][^“”\\]*(?:\\.[^“”\\]*)*[“”]
        |'[^'\\\n]*(?:\\.[^'\\\n]*)*'(?=\s*[,:}\]]))
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<word>[A-Za-z_]\w*)""",
    re.DOTALL | re.VERBOSE,
)
_COLON = regex(r"\s*:")
_OPENERS = tuple("\"'“”„/")
_ESCAPE = regex(r"""\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\'|\\|\"""")
_REPAIRED = {r"\'": "'", "\\": r"\\", '"': r"\""}
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class Located:
    """An object and the characters of the text that it was read from, `text[start:end]`."""

    start: int
    end: int
    value: dict[str, Any]


def read_object(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`: all of it, the first in a fenced block, or the first bare one; else None."""
    found = list(find_objects(text))
    blocks = [match.span(2) for match in _FENCE.finditer(text)] if len(found) > 1 else []
    for one in found:
        if any(start <= one.start and one.end <= end for start, end in blocks):
            return one.value
    return found[0].value if found else None


def find_objects(text: str) -> Iterator[Located]:
    """The JSON objects in `text` that no other one holds, in order.

    Where an object is not valid JSON it is still read when only its notation is off: comments, commas
    before a closing bracket, quotes of another kind, keys without quotes, Python's constants. An object
    that says two things under one key, that holds a number which is not finite, or that is nested too
    deep is not read. Takes time linear in the text, whatever is in it.
    """
    bare = text.strip().removeprefix("\ufeff")
    if bare.startswith("{") and (whole := _decode(bare)) is not None:
        yield Located(0, len(text), whole)
        return
    left, match = TOKENS, _OPENING.search(text)
    while match and left > 0:
        source, end, used = _relaxed(text, match.start(), left)
        left -= used
        value = _decode(source) if source else None
        if value is not None:
            yield Located(match.start(), end, value)
        match = _OPENING.search(text, end if value is not None else match.start() + 1)


def field(document: Mapping[str, Any], *names: str) -> Any:
    """The value of the first of `names` under which `document` holds one; its own may be in any case."""
    found = {re.sub(r"[\W_]+", "_", key.strip()).casefold(): value for key, value in document.items()}
    return next((found[name] for name in names if found.get(name) is not None), None)


def _relaxed(text: str, start: int, most: int) -> tuple[str, int, int]:
    """The object at `start` in strict notation ("" where there is none), its end, and the tokens read."""
    out: list[str] = []
    depth, pos = 0, start
    for used in range(1, most + 1):
        token = _TOKEN.match(text, pos, start + LONGEST)
        if token is None:
            # Only what opens a string or a comment was looked for beyond its first characters.
            return "", start, used + (2_000 if text[pos : pos + 1] in _OPENERS else 0)
        pos = token.end()
        piece = token[0]
        match token.lastgroup:
            case "space":
                continue
            case "string":
                piece = '"' + _ESCAPE.sub(lambda m: _REPAIRED.get(m[0], m[0]), piece[1:-1]) + '"'
            case "word":
                piece = _WORDS.get(piece) or json.dumps(piece)
                if piece.startswith('"') and not _COLON.match(text, pos):
                    return "", start, used
        if piece in ("}", "]") and out[-1] == ",":
            out.pop()
        depth += (piece in ("{", "[")) - (piece in ("}", "]"))
        out.append(piece)
        if depth == 0:
            return " ".join(out), pos, used
        if depth > DEEPEST:
            break
    return "", start, most


def _decode(source: str) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(source)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _depth(value) <= DEEPEST else None


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"{literal} is not a finite number")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if out.setdefault(key, value) != value:
            raise ValueError(f"{key!r} says two things")
    return out


_DECODER = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite, strict=False
)


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [v for v in level if isinstance(v, dict | list)]:
        depth += 1
        level = [inner for v in level for inner in (v.values() if isinstance(v, dict) else v)]
    return depth


def object_schema(name: str, properties: Mapping[str, Any]) -> Schema:
    """The schema of an object with these properties, all of them required."""
    required = {"required": list(properties), "additionalProperties": False}
    return Schema.of(name, {"type": "object", "properties": properties} | required)


def conform(document: Any, schema: Schema) -> str | None:
    """The first thing in which `document` is not what `schema` describes, in words; None when it is.

    Knows of JSON Schema: type (one name), enum, properties, required, items, minItems, maxItems, minimum,
    maximum. Properties that the schema does not name are let pass.
    """
    return _problem(document, schema.document, "")


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int, float),
}
_ARTICLES = {"object": "an object", "array": "an array", "integer": "a whole number"}


def _problem(value: Any, schema: dict[str, Any], path: str) -> str | None:
    name = f"`{path}`" if path else "the reply"
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        return f"{name} must be {_ARTICLES.get(kind, f'a {kind}')}, not {_told(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} must be one of {', '.join(map(str, schema['enum']))}, not {_told(value)}"
    if kind in ("number", "integer"):
        return _beyond(f"{name} must be", value, schema.get("minimum"), schema.get("maximum"))
    if kind == "array":
        inner = (_problem(v, schema.get("items", {}), f"{path}[{n}]") for n, v in enumerate(value))
        bounds = schema.get("minItems"), schema.get("maxItems")
        return _beyond(f"{name} must hold", len(value), *bounds) or next(filter(None, inner), None)
    if kind == "object":
        known, prefix = schema.get("properties", {}), f"{path}." if path else ""
        for key in schema.get("required", ()):
            if key not in value:
                return f"`{prefix}{key}` is missing"
        inner = (_problem(value[key], known[key], prefix + key) for key in known if key in value)
        return next(filter(None, inner), None)
    return None


def _beyond(what: str, amount: float, low: float | None, high: float | None) -> str | None:
    if low is not None and amount < low:
        return f"{what} at least {low}, not {amount}"
    if high is not None and amount > high:
        return f"{what} at most {high}, not {amount}"
    return None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    whole = kind != "integer" or value == value // 1 if isinstance(value, int | float) else True
    return isinstance(value, _TYPES[kind]) and whole


def _told(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
