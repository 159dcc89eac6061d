"""The server keys in the database: what interfaces read and change of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ...store import Database, keys, rates

__all__ = ["KeyRecords"]


class KeyRecords:
    """Reads and changes stored server keys. Every method raises `StoreError` if the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._forgot_idle = False

    async def stored(self) -> Sequence[keys.StoredKey]:
        """Every server key, sorted by name."""
        return await self._database.read(keys.stored)

    async def add(
        self, name: str, hash: str, *, expires_at: str | None = None, limits: str | None = None
    ) -> None:
        """Add a server key. expires_at, limits: as in `StoredKey`. Raises `Taken` if the name is in use."""
        key = keys.StoredKey(name, hash, self._database.now(), expires_at, limits)
        await self._database.write(partial(keys.add, key=key))

    async def change(self, name: str, columns: Mapping[str, str | None]) -> None:
        """Set columns of a server key. Raises `NotFound`."""
        await self._database.write(partial(keys.change, name=name, columns=columns))

    async def rotate(self, name: str, hash: str, old_until: str) -> None:
        """Replace a server key; the one before is valid until `old_until`. Raises `NotFound`."""
        await self._database.write(partial(keys.rotate, name=name, hash=hash, old_until=old_until))

    async def remove(self, name: str) -> int:
        """Revoke a server key. Return how many of its runs waited and are paused. Raises `NotFound`."""
        return await self._database.write(partial(keys.remove, name=name))

    async def add_uses(self, found: Sequence[keys.KeyUse]) -> None:
        """Store what keys were used for."""
        await self._database.write(partial(keys.add_uses, found=found))

    async def uses(self, limit: int) -> list[keys.KeyUse]:
        """The newest uses of keys, oldest first."""
        return await self._database.read(partial(keys.uses, limit=limit))

    async def take_place(self, name: str, most: int, window_s: float) -> float | None:
        """Count a request over all processes of a PostgreSQL database; see `rates.take_place`."""
        if not self._forgot_idle:
            self._forgot_idle = True
            await self._database.apart(rates.forget_idle)
        take = partial(rates.take_place, name=name, most=most, window_s=window_s)
        return await self._database.apart(take)
