"""JSON objects in the text of a model, and whether they satisfy a schema."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..caching.regex import regex
from ..steps import Schema

__all__ = [
    "Located",
    "field",
    "find_objects",
    "find_violation",
    "object_schema",
    "read_object",
    "read_structured",
]

MAX_DEPTH = 100
"""Levels of nesting. A deeper object is not an answer, and would exhaust the stack of code that walks it."""

MAX_TOKENS = 50_000
"""Tokens of one text that are parsed leniently, which is slower than `json` on valid text."""

MAX_CHARS = 100_000
"""The longest object in characters that is parsed leniently."""

_FENCE = regex(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)^[ \t]*\1", re.DOTALL | re.MULTILINE)
_FENCE_ALONE = regex(r"\s*(?:(```|~~~)[ \t]*(?:json)?\s*\1)?\s*", re.IGNORECASE)
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
    """An object and its place in the text, `text[start:end]`."""

    start: int
    end: int
    value: dict[str, Any]


def read_object(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`: the whole text, the first in a fenced block, or the first bare one; else
    None."""
    found = list(find_objects(text))
    blocks = [match.span(2) for match in _FENCE.finditer(text)] if len(found) > 1 else []
    for one in found:
        if any(start <= one.start and one.end <= end for start, end in blocks):
            return one.value
    return found[0].value if found else None


def read_structured(text: str, schema: Schema) -> tuple[dict[str, Any] | None, Literal["json", "prose"]]:
    """The JSON object in `text`, as `read_object` finds it, and how the reply is to be read.

    "json": the reply is one object that satisfies `schema`, alone or in a fence. "prose": any other reply; an
    object in it may be an example, a quotation, or one of several.
    """
    found = list(find_objects(text))
    if len(found) == 1:
        around = text[: found[0].start] + text[found[0].end :]
        if _FENCE_ALONE.fullmatch(around) and find_violation(found[0].value, schema) is None:
            return found[0].value, "json"
    return read_object(text), "prose"


def find_objects(text: str) -> Iterator[Located]:
    """Yield the outermost JSON objects in `text`, in order.

    Invalid JSON is accepted if only its notation is wrong: comments, commas before a closing bracket, other
    quotes, keys without quotes, Python's constants. An object is skipped if it has two values under one key,
    a number that is not finite, or too many levels. The time is linear in the length of any text.
    """
    bare = text.strip().removeprefix("\ufeff")
    if bare.startswith("{") and (whole := _decode(bare)) is not None:
        yield Located(0, len(text), whole)
        return
    left, match = MAX_TOKENS, _OPENING.search(text)
    while match and left > 0:
        source, end, used = _to_strict(text, match.start(), left)
        left -= used
        value = _decode(source) if source else None
        if value is not None:
            yield Located(match.start(), end, value)
        match = _OPENING.search(text, end if value is not None else match.start() + 1)


def field(document: Mapping[str, Any], *names: str) -> Any:
    """The first value in `document` under one of `names`, in any case; None without one."""
    found = {re.sub(r"[\W_]+", "_", key.strip()).casefold(): value for key, value in document.items()}
    return next((found[name] for name in names if found.get(name) is not None), None)


def _to_strict(text: str, start: int, most: int) -> tuple[str, int, int]:
    """The object at `start` in strict JSON ("" if there is none), its end, and the number of tokens read."""
    out: list[str] = []
    depth, pos = 0, start
    for used in range(1, most + 1):
        token = _TOKEN.match(text, pos, start + MAX_CHARS)
        if token is None:
            # Only a string or a comment is searched beyond its first characters, which counts as more work.
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
        if depth > MAX_DEPTH:
            break
    return "", start, most


def _decode(source: str) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(source)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _depth(value) <= MAX_DEPTH else None


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"{literal} is not a finite number")
    return number


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if out.setdefault(key, value) != value:
            raise ValueError(f"{key!r} says two things")
    return out


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_finite, strict=False
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


def find_violation(document: Any, schema: Schema) -> str | None:
    """The first violation of `schema` in `document`, in words; None if there is none.

    Supports of JSON Schema: type (one name), enum, properties, required, items, minItems, maxItems, minimum,
    maximum. Additional properties are allowed, and whatever else a schema asks for counts as satisfied.
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


def _problem(value: Any, schema: Any, path: str) -> str | None:
    if not isinstance(schema, dict):
        return None
    name = f"`{path}`" if path else "the reply"
    found = schema.get("type")
    kind = found if isinstance(found, str) and found in _TYPES else None
    if kind is not None and not _has_type(value, kind):
        return f"{name} must be {_ARTICLES.get(kind, f'a {kind}')}, not {_abbreviate(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} must be one of {', '.join(map(str, schema['enum']))}, not {_abbreviate(value)}"
    if kind in ("number", "integer"):
        return _bounds_violation(f"{name} must be", value, schema.get("minimum"), schema.get("maximum"))
    if kind == "array":
        inner = (_problem(v, schema.get("items", {}), f"{path}[{n}]") for n, v in enumerate(value))
        bounds = schema.get("minItems"), schema.get("maxItems")
        return _bounds_violation(f"{name} must hold", len(value), *bounds) or next(filter(None, inner), None)
    if kind == "object":
        known, prefix = schema.get("properties", {}), f"{path}." if path else ""
        for key in schema.get("required", ()):
            if key not in value:
                return f"`{prefix}{key}` is missing"
        inner = (_problem(value[key], known[key], prefix + key) for key in known if key in value)
        return next(filter(None, inner), None)
    return None


def _bounds_violation(what: str, amount: float, low: float | None, high: float | None) -> str | None:
    if low is not None and amount < low:
        return f"{what} at least {low}, not {amount}"
    if high is not None and amount > high:
        return f"{what} at most {high}, not {amount}"
    return None


def _has_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    whole = kind != "integer" or value == value // 1 if isinstance(value, int | float) else True
    return isinstance(value, _TYPES[kind]) and whole


def _abbreviate(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
