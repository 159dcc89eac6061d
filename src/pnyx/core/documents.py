"""Documents of JSON that are stored: read also when another version of pnyx wrote them.

Each carries the number of its format. Within a format, versions may add fields and types of events that a
reader can ignore: they stay in the stored document as they are. A change that a reader must know raises the
number, and older versions refuse the document instead of misreading it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast

from .._version import __version__
from ..errors import Unreadable

__all__ = ["FORMAT", "STAMP", "build", "check", "read", "stamp", "to_document"]

T = TypeVar("T")
FORMAT = 1
STAMP = ("version", "format")
"""The keys that `stamp` adds."""


def stamp(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its format and the version that writes it, to be stored."""
    return {"version": __version__, **document, "format": FORMAT}


def to_document(value: Any) -> Any:
    """What `asdict` returns, without a copy of each text and number, which takes most of its time."""
    if type(value) in _PLAIN:
        return value
    if is_dataclass(value):
        return {name: to_document(getattr(value, name)) for name in _fields(cast(Any, type(value)))}
    if isinstance(value, Mapping):
        return {name: to_document(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(to_document, value))
    return value


_PLAIN = frozenset((str, int, float, bool, type(None)))


def read(text: str, what: str) -> dict[str, Any]:
    """The document in `text`. what: its name in messages.

    Raises `Unreadable` if it is no JSON object, or of a format that this version does not know.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    return check(document, what)


def check(document: object, what: str) -> dict[str, Any]:
    """The parsed document. Raises what `read` raises."""
    if not isinstance(document, dict):
        raise Unreadable(f"{what} is damaged: it is not a JSON object; restore the database from a backup")
    format = document.get("format", FORMAT)
    if not isinstance(format, int) or format > FORMAT:
        writer = document.get("version") or "a newer version"
        raise Unreadable(
            f"{what} has format {format} and was written by pnyx {writer}; "
            f"pnyx {__version__} reads formats up to {FORMAT}: upgrade pnyx"
        )
    return document


def build(cls: type[T], document: Mapping[str, Any], what: str) -> T:
    """A `cls` of the fields of `document` that it has; it ignores the others.

    Raises `Unreadable` if `document` is no object or lacks a required field.
    """
    names, required = _names(cast(Any, cls))
    if not isinstance(document, Mapping):
        raise Unreadable(f"{what} cannot be read: it is not a JSON object")
    if missing := sorted(required - document.keys()):
        raise Unreadable(f"{what} cannot be read: it has no {', '.join(missing)}{_written_by(document)}")
    try:
        return cls(**{name: document[name] for name in names & document.keys()})
    except (TypeError, ValueError, AttributeError) as exc:
        raise Unreadable(f"{what} cannot be read: {exc}{_written_by(document)}") from exc


def _written_by(document: Mapping[str, Any]) -> str:
    version = document.get("version")
    return f" (written by pnyx {version}; this is pnyx {__version__})" if version else ""


@cache
def _fields(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


@cache
def _names(cls: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The names of all fields, and of those without a default."""
    of = [field for field in fields(cls) if field.init]
    required = [f.name for f in of if f.default is MISSING and f.default_factory is MISSING]
    return frozenset(f.name for f in of), frozenset(required)
