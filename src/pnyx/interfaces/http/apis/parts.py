"""What the APIs' messages have in common: texts, parts of other kinds, calls of tools and their results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ....core.context.files import Source
from ....run.options.answer_schema import check_schema
from ...requests.bounds import Document, Part, Text
from .conversation import Turn, joined, refuse
from .files import file_of

__all__ = [
    "MOST_TURNS",
    "Definitions",
    "Lenient",
    "LenientRequest",
    "MostTokens",
    "Names",
    "Parts",
    "Stop",
    "StopText",
    "answer_schema",
    "call_text",
    "content_of",
    "effort_of",
    "result_turn",
    "sequences",
    "turn",
]

MOST_TURNS = 10_000
"""Messages or items of a conversation; an agent adds two or three with each step."""
TEXTS = ("text", "input_text", "output_text")
SILENT = ("thinking", "redacted_thinking", "reasoning", "reasoning_text", "summary_text", "item_reference")
"""Parts that say nothing to others: what an assistant thought."""

MostTokens = Annotated[int, Field(ge=1, le=100_000_000)]
Parts = Text | Annotated[list[Part], Field(max_length=1000, fail_fast=True)] | None
StopText = Annotated[str, Field(max_length=1000)]
Stop = StopText | Annotated[list[StopText], Field(max_length=16)] | None
Definitions = Annotated[list[Document], Field(max_length=1000)] | None
"""Definitions of tools."""


class Lenient(BaseModel):
    """An object of an API: fields that say nothing to a panel are accepted and left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class LenientRequest(Lenient):
    """The body of a request."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def refuse_fields(self, table: Mapping[str, str]) -> None:
        """Raise `RefusedError` for a field that would change the answer, and is not one of this API.

        table: each such field -> what to do instead.
        """
        for name, instead in table.items():
            if (self.model_extra or {}).get(name) not in (None, "", [], {}):
                raise refuse(name, instead)


EFFORTS = {
    **{level: level for level in ("none", "low", "medium", "high")},
    **{"minimal": "low", "xhigh": "high", "max": "high"},
}
"""The levels of effort of the APIs -> those of a run."""


def effort_of(level: object, param: str) -> str | None:
    """The level of a run for one of an API. Raises `RefusedError` for any other."""
    if level is None:
        return None
    if not isinstance(level, str) or level not in EFFORTS:
        raise refuse(param, f"must be one of {', '.join(EFFORTS)}, not {str(level)[:40]!r}")
    return EFFORTS[level]


def sequences(stop: str | list[str] | None) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple(stop or ())


def answer_schema(format: object, param: str) -> Mapping[str, Any] | None:
    """The JSON schema of a format such as `{"type": "json_schema", …}`; None for text."""
    if format is None:
        return None
    if not isinstance(format, Mapping):
        raise refuse(param, "must be an object with a type")
    match format.get("type"):
        case "text":
            return None
        case "json_object":
            return {"type": "object"}
        case "json_schema":
            # Responses have the schema beside the type, chat completions in an object of its own.
            within = format.get("json_schema", format)
            schema = within.get("schema") if isinstance(within, Mapping) else None
            if not isinstance(schema, Mapping):
                raise refuse(param, "a format of type json_schema needs a schema")
            if problem := check_schema(schema):
                raise refuse(param, problem)
            return schema
        case other:
            raise refuse(param, f"must be text, json_object or json_schema, not {str(other)[:40]!r}")


class Content(NamedTuple):
    """What a message holds. media: whether parts were left out that are neither text nor a file."""

    text: str
    media: bool = False
    files: tuple[Source, ...] = ()


def content_of(content: object, param: str) -> Content:
    """What is in the content of a message. Raises `UsageError` for a part in no form of any API."""
    if content is None or isinstance(content, str):
        return Content(content or "")
    parts = [_part(part, param) for part in (content if isinstance(content, list) else [content])]
    return Content(
        joined(one.text for one in parts),
        any(one.media for one in parts),
        tuple(file for one in parts for file in one.files),
    )


Names = dict[str, str]
"""Id of a call in the conversation -> name of its tool; results come later and have only the id."""


def turn(role: str, content: object, param: str, calls: Iterable[tuple[object, object]] = ()) -> Turn:
    """A turn. calls: those of tools, each with name and arguments."""
    found = content_of(content, param)
    return Turn(
        role, joined((found.text, *(call_text(*one) for one in calls))), found.media, files=found.files
    )


def result_turn(name: str | None, content: object, param: str, *, failed: bool = False) -> Turn:
    """The result of a call. name: of the tool, None if it is not known. failed: whether it is an error."""
    found, what = content_of(content, param), "Error" if failed else "Result"
    text = f"{what} of the tool {name}:\n{found.text}" if name else found.text
    return Turn("tool", text, found.media, files=found.files)


def call_text(name: object, arguments: object) -> str:
    """A call as seats read it."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"Call of the tool {name}: {written}"


def _document(part: Mapping[str, Any], content: object, param: str) -> Content:
    """What is in a document or a search result that a client sends as texts and images."""
    found = content_of(content, param)
    about = (part.get(name) for name in ("title", "source", "context"))
    return found._replace(text=joined((*(one for one in about if isinstance(one, str)), found.text)))


def _part(part: object, param: str) -> Content:
    if isinstance(part, str):
        return Content(part)
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise refuse(param, "a part of a message is an object with a type")
    kind = part["type"]
    if kind in TEXTS:
        if not isinstance(part.get("text"), str):
            raise refuse(param, f"a part of type {kind} needs a text")
        return Content(part["text"])
    if kind == "refusal":
        return Content(str(part.get("refusal") or ""))
    if kind == "search_result":
        return _document(part, part.get("content"), param)
    if kind == "document" and (source := part.get("source")) and source.get("type") == "content":
        return _document(part, source.get("content"), param)
    if kind == "tool_use":
        return Content(call_text(part.get("name"), part.get("input")))
    if (file := file_of(part, param)) is not None:
        return Content("", files=(file,))
    return Content("", kind not in SILENT)
