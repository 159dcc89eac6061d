"""What a key has left before a run starts: of its money for the day, and of its storage."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from math import ceil

from ..config.server_settings import KeyLimits
from ..core.models import NUSD, money
from ..errors import OverLimit
from .run_records import RunRecords

__all__ = ["KeyQuota"]

FRESH_S = 60.0
"""Seconds for which a sum of bytes is used again: it takes a moment for thousands of runs."""
STORAGE_RETRY_S = 3600


class KeyQuota:
    """Checks the limits of keys that the database knows."""

    def __init__(self, records: RunRecords) -> None:
        self._records = records
        self._stored: dict[str, tuple[float, int]] = {}

    async def check(self, owner: str, limits: KeyLimits) -> None:
        """Raise `OverLimit` if the key has spent its money of today, or its runs take up its storage."""
        if limits.day_usd is not None:
            await self._check_day(owner, limits.day_usd)
        if limits.storage_mb is not None:
            await self._check_storage(owner, limits.storage_mb)

    async def _check_day(self, owner: str, cap_usd: float) -> None:
        today = datetime.now(UTC)
        spent = await self._records.account(f"key-day:{owner}:{today.date().isoformat()}")
        if spent.within(round(cap_usd * NUSD)).left <= 0:
            midnight = datetime.combine(today.date() + timedelta(days=1), datetime.min.time(), UTC)
            raise OverLimit(
                f"this key's runs have used up their {money(cap_usd)} of today (UTC), day_usd of "
                f"[serve.keys.{owner}]; they go on tomorrow",
                ceil((midnight - today).total_seconds()),
            )

    async def _check_storage(self, owner: str, most_mb: float) -> None:
        at, stored = self._stored.get(owner, (0.0, 0))
        # Whoever is over the limit may just have deleted runs.
        if stored > most_mb * 1e6 or time.monotonic() - at >= FRESH_S:
            stored = await self._records.stored_bytes(owner)
            self._stored[owner] = (time.monotonic(), stored)
        if stored > most_mb * 1e6:
            raise OverLimit(
                f"this key's runs take {stored / 1e6:.1f} MB, and its limit is {most_mb:g} MB: storage_mb of "
                f"[serve.keys.{owner}]; delete some runs",
                STORAGE_RETRY_S,
            )
