"""What installed packages register under an entry-point group. Names are read from metadata; a plugin is
imported when it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from .errors import ConfigError, NotFound
from .similar import nearest

__all__ = ["PROTOCOLS", "PROVIDERS", "Plugins", "forget", "names"]

PROTOCOLS = "pnyx.protocols"
PROVIDERS = "pnyx.providers"

T = TypeVar("T")


@cache
def _points(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Name -> its entry points: one, or several that differ where packages register the same name."""
    points: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=group):
        points.setdefault(point.name, {})[point.value] = point
    return {name: tuple(found.values()) for name, found in points.items()}


@cache
def _load(point: EntryPoint) -> tuple[object, BaseException | None]:
    """The object of an entry point, or why its module does not load: tried once in a process.

    Raises `OSError` and `MemoryError`: a process without descriptors or memory may load it later.
    """
    try:
        return point.load(), None
    except (OSError, MemoryError):
        raise
    except (Exception, SystemExit) as exc:
        return None, exc


def names(group: str) -> tuple[str, ...]:
    """The names registered in `group`, in alphabetical order. Imports no plugin."""
    return tuple(sorted(_points(group)))


def forget() -> None:
    """Look for installed packages again when a name is next needed: for tests."""
    for cached in (_points, _load):
        cached.cache_clear()


class Plugins(Generic[T]):
    """The plugins of one group, by name.

    noun: what messages call one. accept: returns the plugin for the name and the object of an entry point;
    raises `ValueError`, whose message says what is wrong with the object.
    """

    def __init__(self, group: str, noun: str, accept: Callable[[str, object], T]) -> None:
        self._group, self._noun, self._accept = group, noun, accept

    def names(self) -> tuple[str, ...]:
        """Every registered name, in alphabetical order, including those of plugins that cannot be used."""
        return names(self._group)

    def get(self, name: str) -> T:
        """The plugin called `name`. Raises `NotFound`, or `ConfigError` if it cannot be used."""
        if name not in _points(self._group):
            installed = ", ".join(self.names()) or "none"
            if hint := nearest(name, self.names()):
                raise NotFound(f"no {self._noun} {name!r}{hint} Installed: {installed}")
            raise NotFound(f"no {self._noun} {name!r}; installed: {installed}")
        point, *others = _points(self._group)[name]
        if others:
            # Which of them ran would depend on the order in which packages are found.
            raise ConfigError(
                f"{self._noun} {name!r} is registered by {self.distribution(name)}; uninstall all but one"
            )
        found: object = None
        failure: BaseException | None
        try:
            found, failure = _load(point)
        except (OSError, MemoryError) as exc:
            failure = exc
        problem = f"does not load: {failure}"
        if failure is None:
            try:
                return self._accept(name, found)
            except ValueError as exc:
                failure, problem = exc, str(exc)
        where = f"{self._noun} {name!r} ({point.value}, of {self.distribution(name)})"
        raise ConfigError(f"{where} {problem}") from failure

    def find(self, name: str) -> T | None:
        """The plugin called `name`, or None if it is not installed or cannot be used."""
        try:
            return self.get(name)
        except (NotFound, ConfigError):
            return None

    def loaded(self) -> tuple[T, ...]:
        """Every plugin that can be used, in alphabetical order."""
        return tuple(plugin for name in self.names() if (plugin := self.find(name)) is not None)

    def broken(self) -> dict[str, ConfigError]:
        """Name -> reason, for every registered plugin that cannot be used."""
        found = {}
        for name in self.names():
            try:
                self.get(name)
            except ConfigError as exc:
                found[name] = exc
        return found

    def distribution(self, name: str) -> str:
        """The packages that register `name`, joined by "or"."""
        sources = (point.dist for point in _points(self._group)[name])
        return " or ".join(source.name if source else "an unknown package" for source in sources)
