"""What a key has left before a run starts: of its money for the day, and of its storage."""

from __future__ import annotations

import asyncio
import json
import math
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil

from ...config.tables.server import KeyLimits
from ...core.models import NUSD, money
from ...errors import OverLimit
from ...run.spec import Spec
from ...run.spending.budget import budget_event
from ...run.spending.claim import SURE
from ...run.spending.exhaustion import budget_name, raise_setting
from ...run.spending.expectation import expect
from ..records.runs import RunRecords

__all__ = ["KeyQuota"]

FRESH_S = 60.0
"""Seconds for which a sum of bytes is used: it takes two seconds for 80,000 runs."""
AGAIN_S = 5.0
"""Seconds after which a key that seems to be over its limit is summed up again."""
REPLIES = 250_000
"""Bytes that a run counts for until the next sum, besides what it brings: ten debates of three rounds."""
STORAGE_RETRY_S = 3600
RESERVED = 2
"""A call reserves about as many times what it costs: more tokens for its text, and the longest reply."""


@dataclass(slots=True)
class _Storage:
    """What a key's runs take. stored: bytes at the time `at`. started: estimate for runs begun since."""

    at: float = -math.inf
    stored: int = 0
    started: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class KeyQuota:
    """Checks the limits of keys that the database knows."""

    def __init__(self, records: RunRecords) -> None:
        self._records = records
        self._storage: dict[str, _Storage] = {}

    async def check(self, owner: str, limits: KeyLimits, spec: Spec, resumed: str | None = None) -> None:
        """Raise `OverLimit` if the key has too little money left for today, or its runs take up its storage.

        spec: of the run that starts, or of the one that is resumed. resumed: the id of that one.
        """
        if limits.day_usd is not None:
            await self._check_day(owner, limits.day_usd, spec, resumed)
        if limits.storage_mb is not None:
            await self._check_storage(owner, limits.storage_mb, _size(spec) if resumed is None else 0)

    def forget(self, owner: str) -> None:
        """Sum up the owner's runs again at the next check: some were deleted."""
        if (found := self._storage.get(owner)) is not None:
            found.at = -math.inf

    async def _check_day(self, owner: str, cap_usd: float, spec: Spec, resumed: str | None) -> None:
        today = datetime.fromisoformat(self._records.now())
        account = await self._records.account(f"key-day:{owner}:{today.date().isoformat()}")
        cap = round(cap_usd * NUSD)
        # What calls in flight have reserved is not spent: some of it comes back.
        left = cap - account.spent_nusd
        expected = await self._expected(spec, resumed)
        if left <= 0 or left < expected:
            midnight = datetime.combine(today.date() + timedelta(days=1), datetime.min.time(), UTC)
            event = budget_event("exhausted", account.within(cap), today.isoformat())
            event = replace(event, expected_usd=expected / NUSD)
            go = "begin" if resumed is None else "go on"
            needs = f"this run needs {money(event.expected_usd)} to {go}, and " if expected else ""
            raise OverLimit(
                f"{budget_name(event)} too small: {needs}{money(max(left, 0) / NUSD)} of "
                f"{money(cap_usd)} is left today. {raise_setting(event)}",
                ceil((midnight - today).total_seconds()),
            )

    async def _expected(self, spec: Spec, resumed: str | None) -> int:
        """What has to be left before a run begins or goes on, in nUSD; 0 if its price is unknown."""
        expectation = expect(spec)
        if expectation is None:
            return 0
        share = await self._records.cost_factor(spec) or 0.0
        spent = 0 if resumed is None else (await self._records.account(f"run:{resumed}")).spent_nusd
        usual = max(expectation.cost * SURE * share - spent, expectation.dearest * RESERVED * share)
        # However short the replies of earlier runs were: no call is sent without room for its prompt.
        return ceil(max(usual, expectation.prompt * RESERVED))

    async def _check_storage(self, owner: str, most_mb: float, brings: int) -> None:
        """brings: bytes of the run that starts."""
        found, most = self._storage.setdefault(owner, _Storage()), most_mb * 1e6
        # Many requests at once wait for one sum.
        async with found.lock:
            seems_full, age = found.stored + found.started > most, time.monotonic() - found.at
            if age >= (AGAIN_S if seems_full else FRESH_S):
                found.stored = await self._records.stored_bytes(owner)
                found.at, found.started = time.monotonic(), 0
            taken = found.stored + found.started
            if taken > most:
                just_begun = ", with those just begun," if found.stored <= most else ""
                raise OverLimit(
                    f"this key's runs take {taken / 1e6:.1f} MB{just_begun} and its limit is {most_mb:g} MB: "
                    f"storage_mb of [serve.keys.{owner}]; delete some runs",
                    ceil(AGAIN_S) if just_begun else STORAGE_RETRY_S,
                )
            found.started += brings + REPLIES


def _size(spec: Spec) -> int:
    """Bytes of what a run brings, about."""
    return len(json.dumps(spec.to_json())) + sum(map(len, spec.contents.values()))
