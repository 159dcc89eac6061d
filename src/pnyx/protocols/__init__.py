"""The protocols: one page each, found by entry point in the group `pnyx.protocols`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ..core.protocol import Protocol
from ..errors import ConfigError, NotFound

__all__ = ["GROUP", "broken", "composable", "distribution", "find", "get", "loaded", "names"]

GROUP = "pnyx.protocols"


@cache
def _found() -> dict[str, tuple[EntryPoint, ...]]:
    """Name -> who brings it: one package, or several that go by the same name, each once."""
    bringers: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        bringers.setdefault(point.name, {})[point.value] = point
    return {name: tuple(points.values()) for name, points in bringers.items()}


def names() -> tuple[str, ...]:
    """Every installed protocol, ours and third-party ones, in alphabetical order."""
    return tuple(sorted(_found()))


@cache
def get(name: str) -> Protocol:
    """The protocol called `name`. Raises `NotFound`, or `ConfigError` when its page cannot be used."""
    if name not in _found():
        raise NotFound(f"no protocol {name!r}; installed: {', '.join(names()) or 'none'}")
    point, *others = _found()[name]
    if others:
        # Which of them ran would hang on the order in which packages are found.
        raise ConfigError(f"protocol {name!r} may be that of {distribution(name)}; uninstall all but one")
    where = f"protocol {name!r} ({point.value}, of {distribution(name)})"
    try:
        protocol = point.load()
    except (Exception, SystemExit) as exc:
        raise ConfigError(f"{where} does not load: {exc}") from exc
    if not isinstance(protocol, Protocol):
        raise ConfigError(f"{where} is not a pnyx Protocol")
    return protocol


def loaded() -> tuple[Protocol, ...]:
    """Every installed protocol that can be used, in alphabetical order: what a list shows."""
    failing = broken()
    return tuple(get(name) for name in names() if name not in failing)


def composable() -> tuple[str, ...]:
    """The names of the usable protocols that may run inside another one, in alphabetical order."""
    return tuple(protocol.name for protocol in loaded() if protocol.composable)


def find(name: str) -> Protocol | None:
    """The protocol called `name`, or None where it cannot be used here, as one of an old run may be."""
    try:
        return get(name)
    except (NotFound, ConfigError):
        return None


def broken() -> dict[str, ConfigError]:
    """The installed protocols whose page cannot be used, with the reason."""
    found = {}
    for name in names():
        try:
            get(name)
        except ConfigError as exc:
            found[name] = exc
    return found


def distribution(name: str) -> str:
    """What is installed that brings an installed protocol along, as its index calls it: `one or another`."""
    sources = (point.dist for point in _found()[name])
    return " or ".join(source.name if source else "an unknown package" for source in sources)
