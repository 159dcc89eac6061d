"""The number of calls that a run takes, known before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.models import Seat
from ..core.protocol import Protocol, Scope
from ..errors import ConfigError
from . import get

__all__ = ["call_bounds"]


def call_bounds(
    protocol: Protocol,
    seats: tuple[Seat, ...],
    options: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]] = {},
    responses: int = 0,
) -> tuple[int, int]:
    """Return the least and the most calls of `protocol` if no seat fails; the most includes every repair.

    options: resolved. tables: the options configured for protocols that it may run inside. responses: the
    number of existing answers. Raises `ConfigError` for a protocol without `calls`.
    """

    def inner(name: str) -> tuple[int, int]:
        other = get(name)
        inner_options = other.resolve_options(other.select_options(tables.get(name, {})))
        return call_bounds(other, seats, inner_options, tables)

    if protocol.calls is None:
        raise ConfigError(f"{protocol.name} does not state how many calls it takes")
    return protocol.calls(Scope(seats, options, responses, inner))
