"""The protocols: one page each, found by entry point in the group `pnyx.protocols`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ..core.steps import Protocol
from ..errors import ConfigError, NotFound

__all__ = ["GROUP", "get", "names"]

GROUP = "pnyx.protocols"


@cache
def _found() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> tuple[str, ...]:
    """Every installed protocol, ours and third-party ones, in alphabetical order."""
    return tuple(sorted(_found()))


@cache
def get(name: str) -> Protocol:
    """The protocol called `name`. Raises `NotFound`, or `ConfigError` when its page cannot be used."""
    if name not in _found():
        raise NotFound(f"no protocol {name!r}; installed: {', '.join(names()) or 'none'}")
    try:
        protocol = _found()[name].load()
    except Exception as exc:
        raise ConfigError(f"protocol {name!r} ({_found()[name].value}) does not load: {exc}") from exc
    if not isinstance(protocol, Protocol):
        raise ConfigError(f"protocol {name!r} ({_found()[name].value}) is not a pnyx Protocol")
    return protocol
