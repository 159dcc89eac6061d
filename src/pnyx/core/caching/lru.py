"""A bounded mapping for state that is keyed by names which clients choose."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["LRU"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRU(Generic[K, V]):
    """At most `size` entries; a new one evicts the least recently used.

    make: returns the value of a missing key; without it, reading a missing key raises `KeyError`.
    keep: whether an entry is protected; protected entries are evicted only if all entries are.
    """

    def __init__(
        self,
        size: int,
        make: Callable[[K], V] | None = None,
        keep: Callable[[V], bool] = lambda value: False,
    ) -> None:
        self._size, self._make, self._keep = size, make, keep
        self._entries: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key not in self._entries and self._make is not None:
            self[key] = self._make(key)
        # A dict keeps the order of insertion: what was used last goes to its end.
        value = self._entries[key] = self._entries.pop(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self._entries.pop(key, None)
        while len(self._entries) >= self._size:
            free = (k for k, v in self._entries.items() if not self._keep(v))
            del self._entries[next(free, next(iter(self._entries)))]
        self._entries[key] = value

    def get(self, key: K) -> V | None:
        """The value of `key`, or None; a missing value is not made."""
        return self[key] if key in self._entries else None

    def pop(self, key: K) -> V | None:
        """Remove an entry and return its value, None if there is none."""
        return self._entries.pop(key, None)

    def items(self) -> list[tuple[K, V]]:
        """The entries, least recently used first. Reading them here is no use."""
        return list(self._entries.items())

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)
