"""Documents of JSON that are stored: read also when another version of pnyx wrote them.

Each carries the number of its format. Within a format, versions may add fields and types of events that a
reader can ignore: they stay in the stored document as they are. A change that a reader must know raises the
number, and older versions refuse the document instead of misreading it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast

from .._version import __version__
from ..errors import Unreadable
from .thinking import EFFORTS

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

    Raises `Unreadable` if `document` is no object, lacks a required field, or has one of another type: views
    of a run rely on them.
    """
    names, required, types = _names(cast(Any, cls))
    if not isinstance(document, Mapping):
        raise Unreadable(f"{what} cannot be read: it is not a JSON object")
    if missing := sorted(required - document.keys()):
        raise Unreadable(f"{what} cannot be read: it has no {', '.join(missing)}{_written_by(document)}")
    values = {name: document[name] for name in names & document.keys()}
    for name, allowed in types:
        # A call for each field would take longer than all else.
        if name not in values or type(values[name]) in allowed.plain:
            continue
        if not _fits(values[name], allowed):
            value = values[name]
            found = repr(value[:40]) if allowed.choices and isinstance(value, str) else type(value).__name__
            raise Unreadable(
                f"{what} cannot be read: {name} is {found}, not {allowed.text}{_written_by(document)}"
            )
    try:
        return cls(**values)
    except (TypeError, ValueError, AttributeError) as exc:
        raise Unreadable(f"{what} cannot be read: {exc}{_written_by(document)}") from exc


def _written_by(document: Mapping[str, Any]) -> str:
    version = document.get("version")
    return f" (written by pnyx {version}; this is pnyx {__version__})" if version else ""


@cache
def _fields(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


@dataclass(frozen=True, slots=True)
class _Allowed:
    """What a field may be. text: its annotation. of: what each element or value must be, if it has some.

    choices: its texts, if it may only be one of some. plain: the types of which every value is allowed.
    """

    text: str
    types: frozenset[type]
    of: frozenset[type]
    choices: tuple[str, ...]
    plain: frozenset[type]


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "None": (type(None),),
    "tuple": (tuple, list),
    "Mapping": (dict,),
    "Literal": (str,),
    "Status": (str,),
    "Effort": (str,),
}
_ANNOTATION = re.compile(r"(\w+)(?:\[(?:str, )?(\w+))?")


def _allowed(annotation: str) -> _Allowed | None:
    """What the annotation allows; None if it is not one of those that documents of JSON have."""
    types: set[type] = set()
    of: set[type] = set()
    for part in annotation.split(" | "):
        match = _ANNOTATION.match(part)
        if match is None or match[1] not in _KINDS:
            return None
        types.update(_KINDS[match[1]])
        if match[1] in ("tuple", "Mapping") and part.endswith("]"):
            of.update(_KINDS.get(match[2], ()))
    choices = EFFORTS if annotation.startswith("Effort") else ()
    plain = types - {str} if choices else set() if of else types
    text = f"one of {', '.join(choices)}" if choices else annotation
    return _Allowed(text, frozenset(types), frozenset(of), choices, frozenset(plain))


def _fits(value: object, allowed: _Allowed) -> bool:
    if type(value) not in allowed.types:
        return isinstance(value, Mapping) and dict in allowed.types
    if isinstance(value, str):
        return not allowed.choices or value in allowed.choices
    if not allowed.of:
        return True
    parts = value.values() if isinstance(value, Mapping) else value
    return all(type(part) in allowed.of for part in cast(Iterable[object], parts or ()))


@cache
def _names(cls: Any) -> tuple[frozenset[str], frozenset[str], tuple[tuple[str, _Allowed], ...]]:
    """The names of all fields, of those without a default, and the types of those that can be checked."""
    of = [field for field in fields(cls) if field.init]
    required = [f.name for f in of if f.default is MISSING and f.default_factory is MISSING]
    types = ((f.name, allowed) for f in of if (allowed := _allowed(str(f.type))) is not None)
    return frozenset(f.name for f in of), frozenset(required), tuple(types)
