"""The protocols: one module each, found by entry point in the group `pnyx.protocols`."""

from __future__ import annotations

from ..core.protocol import Protocol
from ..plugins import PROTOCOLS, Plugins

__all__ = ["broken", "composable", "distribution", "find", "get", "loaded", "names"]


def _accept(name: str, found: object) -> Protocol:
    if not isinstance(found, Protocol):
        raise ValueError("is not a pnyx Protocol")
    return found


_PLUGINS = Plugins(PROTOCOLS, "protocol", _accept)
names, get, find = _PLUGINS.names, _PLUGINS.get, _PLUGINS.find
loaded, broken, distribution = _PLUGINS.loaded, _PLUGINS.broken, _PLUGINS.distribution


def composable() -> tuple[str, ...]:
    """Return the names of the usable protocols that may run inside another one, in alphabetical order."""
    return tuple(protocol.name for protocol in loaded() if protocol.composable)
