"""The parts of a stored specification, also of one that another version wrote, or that is damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from ..core.context.files import file_of
from ..core.decision import Given
from ..core.documents import build
from ..core.models import Price, Seat
from ..core.text import Material
from ..core.thinking import Thinking
from ..core.tool_calls import ToolSpec
from .calls.limits import Limits
from .options.client_tools import EMPTY

__all__ = ["parts_of"]


def parts_of(document: Mapping[str, Any], what: str, contents: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the fields in a stored spec, with the parts of each built; unknown fields of parts are ignored.

    A field that is no list or object of parts stays as it is, for `build` to refuse. what: the run in
    messages. contents: as for `Spec.from_json`. Raises `Unreadable`.
    """
    values = {"revision": 1, **document}
    lists: dict[str, Callable[[Any], object]] = {
        "seats": lambda one: _seat(one, what),
        "context": lambda one: build(Material, one, what),
        "responses": lambda one: build(Given, one, what),
        "files": lambda one: file_of(one, what, contents),
        "client_tools": lambda one: _tool(one, what),
        "tools": lambda one: one,
    }
    for name, part in lists.items():
        if isinstance(stored := values.get(name), list | tuple):
            values[name] = tuple(map(part, stored))
    if values.get("judge") is not None:
        values["judge"] = _seat(values["judge"], what)
    if "limits" in values:
        limits = build(Limits, values["limits"], what)
        values["limits"] = replace(limits, phases=_levels(limits.phases, what))
    for name in ("efforts_of_phases", "efforts_of_seats"):
        if isinstance(stored := values.get(name), Mapping):
            values[name] = _levels(stored, what)
    return values


def _seat(document: Any, what: str) -> Seat:
    seat = build(Seat, document, what)
    return seat if seat.price is None else replace(seat, price=build(Price, seat.price, what))  # type: ignore[arg-type]


def _levels(stored: Mapping[str, Any], what: str) -> dict[str, dict[str, Any]]:
    """The fields of `Thinking` by a name; `Spec.thinking` builds them."""
    for one in stored.values():
        build(Thinking, one, what)
    return {key: {name: one[name] for name in _LEVEL & one.keys()} for key, one in stored.items()}


_LEVEL = frozenset(one.name for one in fields(Thinking))


def _tool(document: Any, what: str) -> Any:
    """The tool as it is stored: an API keeps fields of its own in it."""
    stated = document
    if isinstance(document, Mapping):
        stated = {name: value for name, value in document.items() if value is not None}
        stated = {"description": "", "parameters": EMPTY, **stated}
    build(ToolSpec, stated, what)
    return document
