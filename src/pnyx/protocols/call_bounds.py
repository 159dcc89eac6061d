"""The calls that a run takes: their bounds, known before it starts, and those that are expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.context.reply_sizes import ANSWER
from ..core.models import Seat
from ..core.protocol import Chosen, ExpectedCalls, Protocol, Scope
from ..errors import ConfigError
from . import get

__all__ = ["call_bounds", "expected_calls", "routes"]


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
    if protocol.calls is None:
        raise ConfigError(f"{protocol.name} does not state how many calls it takes")
    return protocol.calls(_scope(seats, options, tables, responses))


def expected_calls(
    protocol: Protocol,
    seats: tuple[Seat, ...],
    options: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]] = {},
    responses: int = 0,
    chosen: Chosen | None = None,
) -> Sequence[ExpectedCalls]:
    """Return the calls of a usual run of `protocol`. Arguments and errors: as in `call_bounds`.

    chosen: the protocol that answers in its place, if that is known.
    """
    if protocol.expected is not None:
        return protocol.expected(_scope(seats, options, tables, responses, chosen))
    least, most = call_bounds(protocol, seats, options, tables, responses)
    return [ExpectedCalls((least + most) / 2, ANSWER.usual, reads=2 * ANSWER.usual)]


def routes(
    protocol: Protocol,
    seats: tuple[Seat, ...],
    options: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]] = {},
) -> Sequence[Chosen]:
    """Return the protocols of which `protocol` runs one in its place. Arguments: as in `call_bounds`."""
    return [] if protocol.routes is None else protocol.routes(_scope(seats, options, tables, 0))


def _scope(
    seats: tuple[Seat, ...],
    options: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]],
    responses: int,
    chosen: Chosen | None = None,
) -> Scope:
    def resolved(name: str, own: Mapping[str, Any] = {}) -> tuple[Protocol, Mapping[str, Any]]:
        other = get(name)
        return other, other.resolve_options(other.select_options({**tables.get(name, {}), **own}))

    def inner(name: str, own: Mapping[str, Any] = {}) -> tuple[int, int]:
        other, inner_options = resolved(name, own)
        return call_bounds(other, seats, inner_options, tables)

    def expected(name: str, own: Mapping[str, Any] = {}) -> Sequence[ExpectedCalls]:
        other, inner_options = resolved(name, own)
        return expected_calls(other, seats, inner_options, tables)

    return Scope(seats, options, responses, inner, expected, chosen)
