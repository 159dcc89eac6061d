"""Write docs/reference/ from the code: `python -m tests.docs.reference`.

http.md is the OpenAPI document of the server, library.md the public names of `pnyx`, events.md the events
with their fields.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args
from unittest import mock

import pnyx
from pnyx.core.events import Event
from tests.support.serving import open_server
from tests.support.sources import ROOT

__all__ = ["FOLDER", "openapi", "pages"]

FOLDER = ROOT / "docs" / "reference"
GENERATED = (
    "This page is generated from the code by `python -m tests.docs.reference`; a test compares the two."
)
COMMON = {"run_id", "seq", "time", "round", "phase", "seat", "key"}
"""The fields that every event has."""


def pages(document: Mapping[str, Any]) -> dict[str, str]:
    """Name of a file in docs/reference -> its text. document: the OpenAPI document of the server."""
    writers: dict[str, Iterator[str]] = {
        "http.md": _http(document),
        "library.md": _library(),
        "events.md": _events(),
    }
    return {name: "\n\n".join(parts) + "\n" for name, parts in writers.items()}


async def openapi() -> Mapping[str, Any]:
    """The OpenAPI document of a server with the present settings."""
    async with open_server() as server:
        return server.app.openapi()


def _http(document: Mapping[str, Any]) -> Iterator[str]:
    yield "# HTTP: every route"
    yield (
        "What `GET /openapi.json` of a server says, as a page. How to use it, keys, streams and retries: "
        "[The server](../http.md). Names in the tables lead to the [shapes](#shapes) below."
    )
    yield GENERATED
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            # Braces at the end of a heading would be attributes of it.
            place = re.sub(r"{(\w+)}", lambda name: name[1].upper(), path)
            yield f"## {method.upper()} {place}"
            yield from _paragraphs(route.get("description", ""))
            parameters = route.get("parameters", [])
            if parameters:
                yield _table(
                    ("parameter", "in", "type", "meaning"),
                    [
                        (f"`{one['name']}`", one["in"], _type(one["schema"]), one.get("description", ""))
                        for one in parameters
                    ],
                )
            for content in route.get("requestBody", {}).get("content", {}).values():
                yield f"Body: {_type(content['schema'])}"
            replies = [
                f"{status}: {_type(content.get('schema', {})) or kind}"
                for status, reply in route["responses"].items()
                if status.startswith("2")
                for kind, content in reply.get("content", {"no content": {}}).items()
            ]
            yield "Reply: " + "; ".join(replies)
    yield "## Shapes"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"### {name}"
        yield from _paragraphs(schema.get("description", ""))
        required = schema.get("required", [])
        rows = [
            (f"`{key}`", _type(one), _default(key in required, one), one.get("description", ""))
            for key, one in schema.get("properties", {}).items()
        ]
        yield _table(("field", "type", "default", "meaning"), rows) if rows else _type(schema)


def _default(required: bool, schema: Mapping[str, Any]) -> str:
    if required:
        return "required"
    return f"`{schema['default']!r}`" if schema.get("default") is not None else ""


def _type(schema: Mapping[str, Any]) -> str:
    """The type of a JSON schema in words."""
    match schema:
        case {"$ref": ref}:
            name = ref.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": options} | {"oneOf": options}:
            return " or ".join(dict.fromkeys(map(_type, options)))
        case {"const": value}:
            return f"`{value}`"
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": "array"}:
            return f"list of {_type(schema.get('items', {})) or 'values'}"
        case {"type": "string", "format": form}:
            return f"string ({form})"
        case {"type": str(name)}:
            return name
    return ""


def _library() -> Iterator[str]:
    yield "# Python: every public name"
    yield (
        "The names of `import pnyx`, with their signatures and what they promise. Examples and the result: "
        "[From Python](../library.md); events: [Events](events.md); tests: [Testing](../testing.md)."
    )
    yield GENERATED
    events = {one.__name__ for one in get_args(Event)}
    names = [name for name in pnyx.__all__ if name not in events]
    functions = [name for name in names if callable(getattr(pnyx, name)) and name.islower()]
    for title, chosen in (
        ("Functions", functions),
        ("Classes", [name for name in names if inspect.isclass(getattr(pnyx, name))]),
    ):
        yield f"## {title}"
        for name in chosen:
            value = getattr(pnyx, name)
            yield f"### {name}"
            yield f"```python\n{_signature(name, value)}\n```"
            yield from _paragraphs(inspect.getdoc(value) or "")
            if inspect.isclass(value) and not is_dataclass(value):
                yield from _methods(value)


def _methods(owner: type) -> Iterator[str]:
    rows = [
        (f"`{name}`", " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split()))
        for name, method in vars(owner).items()
        if not name.startswith("_")
        and (inspect.isfunction(method) or isinstance(method, property | classmethod))
        and inspect.getdoc(method)
    ]
    if rows:
        yield _table(("member", ""), rows)


def _signature(name: str, value: Callable[..., Any]) -> str:
    """The call of a name, in lines of at most 100 characters where that is possible."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    result = (
        "" if signature.return_annotation in (inspect.Parameter.empty, None) else signature.return_annotation
    )
    parameters = list(map(_parameter, signature.parameters.values()))
    kinds = [one.kind for one in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    before = "async def " if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value) else ""
    end = f") -> {result}" if isinstance(result, str) and result and not inspect.isclass(value) else ")"
    line = f"{before}{name}({', '.join(parameters)}{end}"
    return line if len(line) <= 100 else f"{before}{name}(\n    " + ",\n    ".join(parameters) + f",\n{end}"


def _parameter(one: inspect.Parameter) -> str:
    """A parameter as in the code. A default that is no plain value, such as the environment, is only …"""
    stars = "*" * (one.kind is one.VAR_POSITIONAL) or "**" * (one.kind is one.VAR_KEYWORD)
    annotated = "" if one.annotation is one.empty else f": {one.annotation}"
    if one.default is one.empty:
        return f"{stars}{one.name}{annotated}"
    plain = isinstance(one.default, str | int | float | tuple | None)
    return f"{one.name}{annotated} = {repr(one.default) if plain else '…'}"


def _events() -> Iterator[str]:
    yield "# Events: every field"
    yield (
        "All events have the fields of [Events](../events.md), which says how they follow each other and "
        "how to read a stream. In JSON, the name of an event is its `type`. These are the others:"
    )
    yield GENERATED
    for event in get_args(Event):
        yield f"## {event.type if isinstance(getattr(event, 'type', None), str) else event.__name__}"
        yield f"`pnyx.{event.__name__}`"
        yield from _paragraphs(inspect.getdoc(event) or "")
        rows = [
            (f"`{one.name}`", f"`{one.type}`", _stated(one))
            for one in fields(event)
            if one.name not in COMMON | {"type"}
        ]
        if rows:
            yield _table(("field", "type", "default"), rows)


def _stated(field: Any) -> str:
    if field.default is not MISSING:
        return f"`{field.default!r}`"
    return "empty" if field.default_factory is not MISSING else "required"


def _paragraphs(text: str) -> Iterator[str]:
    """A docstring as Markdown: paragraphs, and code where a block is indented."""
    for block in re.split(r"\n\s*\n", text.strip()):
        if not block.strip():
            continue
        if all(line.startswith("    ") for line in block.splitlines()):
            yield "```python\n" + "\n".join(line[4:] for line in block.splitlines()) + "\n```"
        else:
            yield _plain(block)


def _plain(text: str) -> str:
    """A text in one line, in which < begins no HTML; code stays as it is."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table, without the columns in which nothing stands."""
    shown = [n for n in range(len(head)) if any(row[n] for row in rows)]
    lines = ["| " + " | ".join(head[n] for n in shown) + " |", "|" + "---|" * len(shown)]
    for row in rows:
        cells = (_plain(row[n]).replace("|", "\\|") for n in shown)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, {"HOME": home}):
        document = asyncio.run(openapi())
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages(document).items():
        Path(FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
