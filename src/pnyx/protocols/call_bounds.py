"""How many calls a run takes, reckoned before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.models import Seat
from ..core.protocol import Protocol, Scope
from ..errors import ConfigError
from . import get

__all__ = ["reckon"]


def reckon(
    page: Protocol,
    seats: tuple[Seat, ...],
    options: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]] = {},
    given: int = 0,
) -> tuple[int, int]:
    """The least and the most calls of `page` when no seat fails; the most with every repair of a verdict.

    options: settled. tables: options configured for protocols that it may run inside. given: answers
    that exist already. Raises `ConfigError` for a protocol that does not tell.
    """

    def inner(name: str) -> tuple[int, int]:
        other = get(name)
        return reckon(other, seats, other.resolve_options(other.select_options(tables.get(name, {}))), tables)

    if page.calls is None:
        raise ConfigError(f"{page.name} does not tell how many calls it takes")
    return page.calls(Scope(seats, options, given, inner))
