"""Reads several failures that one report lists, such as one for each wrong part of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ....core.caching.regex import regex
from .report import MAX_CODES, Report
from .texts import read_document

__all__ = ["MESSAGES", "is_words", "listed", "objects", "path"]

MESSAGES = ("message", "msg", "detail", "error_msg", "errors", "error", "description", "faultstring")
_PLACES = (
    *("loc", "path", "param", "field", "key", "pointer", "instancePath", "parameter", "parameters"),
    *("name", "additionalProperty"),
)


def listed(found: Mapping[str, Any], message: Any) -> tuple[Report, ...]:
    """The failures that a report lists: in its message, beside it, or, as Django does, in place of one."""
    beside = [found.get(name) for name in ("errors", "issues", "extra")]
    beside += [one.get("fieldViolations") for one in objects(found.get("details"))]  # of Google
    places = (message, *beside, None if message else found)
    named = {**details, **found} if isinstance(details := found.get("details"), Mapping) else found
    placed: list[Any] = [_with_place(*one) for one in named.items() if isinstance(one[1], list)]
    placed += [
        read_document(message) if isinstance(message, str) else None,
        [found] if "loc" in found else None,
    ]
    return next(filter(None, (*map(_items, places), *(_items(one, placed=True) for one in placed))), ())


def _items(found: Any, placed: bool = False) -> tuple[Report, ...]:
    """A report for each of several failures; none if `found` is no list of them.

    placed: or if the first does not say which part of the request it is about. ASP.NET has the messages by
    the field that they are about.
    """
    if isinstance(found, Mapping) and all(is_words(said) for said in found.values()):
        found = [{"loc": name.removeprefix("$."), "msg": said[0]} for name, said in found.items()]
    listed = objects(found)[:MAX_CODES]
    return tuple(map(_item, listed)) if listed and (not placed or _place(listed[0])) else ()


def _with_place(key: str, listed: list[Any]) -> list[Any]:
    """A list of names of parameters, such as `unsupported: ["seed"]`, as failures of each."""
    if _OFFERED.match(key) or not all(isinstance(one, str) and one.isidentifier() for one in listed):
        return listed
    return [{"loc": one, "msg": key} for one in listed]


_OFFERED = regex(r"support|allow|accept|valid|known|expect|permit|available|model|stack|loc", re.IGNORECASE)
"""Starts of keys whose lists name what would be fine, or nothing of a request."""


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list; none if `value` is no list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def is_words(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and isinstance(found[0], str)


def _item(found: Mapping[str, Any]) -> Report:
    """One of several failures: of pydantic, whose `loc` starts with "body", or of a host like it."""
    path = _place(found)
    text = next((str(found[name]) for name in MESSAGES if found.get(name)), json.dumps(found, default=str))
    kind = found.get("type") or found.get("code")
    return Report(0, f"{path}: {text}" if path else text, str(kind or ""), path)


def _place(found: Mapping[str, Any]) -> str:
    """The part of the request that one of several failures is about.

    JSON:API has it in `source`, and Ajv has in `params` what should not be there.
    """
    places = dict(found)
    for inner in objects([found.get("source"), found.get("params")]):
        places |= inner
    return path(next((places[name] for name in _PLACES if places.get(name)), ""))


def path(value: Any) -> str:
    """A part of the request, such as "tools[0].function"; a JSON pointer is one too."""
    if isinstance(value, list | tuple):
        return ".".join(str(part) for part in value if part != "body")
    if not isinstance(value, str) or value in ("None", "null"):
        return ""
    return value.lstrip("#/").replace("/", ".") if value.startswith(("/", "#/")) else value
