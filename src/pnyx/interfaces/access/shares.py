"""Links that show one run to whoever has them: their tokens, and what a token opens.

A token is `pnyx_share_ID_SECRET`. The id finds the row, and the hash of the whole token is compared in
constant time, so neither the time of an answer nor a copy of the database helps to find a token.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from ...core.caching.regex import regex
from ...core.events import Event, UnknownEvent, to_json
from ...errors import LinkEnded, UsageError
from ...times import stamp
from .keys import FRESH_S, hash_key, is_reserved

if TYPE_CHECKING:
    from ...store.records.shares import ShareRow
    from ..records.runs import RunRecords

__all__ = [
    "DAY_S",
    "DEFAULT_S",
    "LONGEST_S",
    "Share",
    "Shares",
    "expiry",
    "new_token",
    "share_document",
    "shown",
]

DAY_S = 86_400.0
DEFAULT_S = 30 * DAY_S
LONGEST_S = 366 * DAY_S
MOST_CACHED = 1000
_TOKEN = regex(r"pnyx_share_(?P<id>[0-9a-f]{12})_[\w-]{43}")
_NO_HASH = hash_key("")


@dataclass(frozen=True, slots=True)
class Share:
    """What a token opens: one run, until `expires_at`."""

    id: str
    run_id: str
    expires_at: str


def new_token() -> tuple[str, str]:
    """Return the id and the token of a new link; the secret part of the token has 256 random bits."""
    id = secrets.token_hex(6)
    return id, f"pnyx_share_{id}_{secrets.token_urlsafe(32)}"


def expiry(seconds: float, now: str) -> str:
    """Return the time `seconds` after now, as the database has it. Raises `UsageError`."""
    if not 0 < seconds <= LONGEST_S:
        raise UsageError(f"a link is valid for at most {LONGEST_S / DAY_S:.0f} days; choose a shorter time")
    return stamp(datetime.fromisoformat(now) + timedelta(seconds=seconds))


def state_of(row: ShareRow, now: str) -> Literal["valid", "expired", "revoked"]:
    """Return whether a link still opens its run. It does not outlive the key of the run's owner."""
    if row.revoked_at is not None or not (row.has_key or is_reserved(row.owner)):
        return "revoked"
    return "expired" if row.expires_at <= now else "valid"


def share_document(row: ShareRow, now: str) -> dict[str, Any]:
    """Return a link as JSON, without its token, which nobody can show again."""
    return {
        "id": row.id,
        "run_id": row.run_id,
        "state": state_of(row, now),
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "revoked_at": row.revoked_at,
    }


class Shares:
    """The links of a server. Each is read again after `FRESH_S` seconds: a revoked one is refused then."""

    def __init__(self, records: RunRecords) -> None:
        self._records = records
        self._read: dict[str, tuple[float, ShareRow]] = {}

    async def open(self, token: str) -> Share | None:
        """Return what a token opens; None for an unknown one. Raises `LinkEnded`, `StoreError`."""
        match = _TOKEN.fullmatch(token)
        row = None if match is None else await self._row(match["id"])
        # Compared for unknown ids too, which therefore take as long.
        if not hmac.compare_digest(hash_key(token), _NO_HASH if row is None else row.hash) or row is None:
            return None
        state = state_of(row, self._records.now())
        if state != "valid":
            when = f" on {row.expires_at[:10]}" if state == "expired" else ""
            verb = "has expired" if state == "expired" else "was revoked"
            raise LinkEnded(f"this link {verb}{when}; ask the person who sent it for a new one")
        return Share(row.id, row.run_id, row.expires_at)

    async def _row(self, id: str) -> ShareRow | None:
        at, known = self._read.get(id, (0.0, None))
        if known is not None and time.monotonic() - at < FRESH_S:
            return known
        row = await self._records.shares.find(id)
        if row is None:
            self._read.pop(id, None)  # of a deleted run
            return None
        if len(self._read) >= MOST_CACHED:
            self._read.clear()
        self._read[id] = (time.monotonic(), row)
        return row


_HIDDEN: Mapping[str, Mapping[str, Any]] = {
    "run_started": {"forked_from": None},
    "call_started": {"prompt": "", "system": "", "prompt_sha256": "", "fingerprint": ""},
    "call_finished": {"fingerprint": ""},
    "call_failed": {"fingerprint": ""},
    "tool_called": {"fingerprint": ""},
}
"""Type of an event -> fields that a shared run does not show: prompts, which have files and the earlier turns
of a conversation, hashes of them, and other runs."""


def shown(event: Event) -> dict[str, Any] | None:
    """Return an event, as JSON, as a link shows it; None if nothing of it may be shown."""
    if isinstance(event, UnknownEvent):
        return None  # nobody knows here what is in it
    return {**to_json(event), **_HIDDEN.get(event.type, {})}
