"""Server keys and their owners: named keys, stored as hashes, and one that lives as long as the server."""

from __future__ import annotations

import hmac
import secrets
import time
from hashlib import sha256

from ..core.regex import regex
from ..errors import UsageError
from .run_records import RunRecords

__all__ = ["LOCAL", "Keys", "check_name", "hashed", "new_key"]

LOCAL = "local"
"""Owner of runs from the command line, and of those asked with the server's own key."""
FRESH_S = 2.0
"""How long what is known of the keys is good for: a revoked one opens nothing after that."""
_NAME = regex(r"[a-z0-9][a-z0-9_-]{0,39}")
_RESERVED = (LOCAL, "eval")


def new_key() -> str:
    """A key of 256 random bits; its beginning lets it be found where it leaks."""
    return f"pnyx_{secrets.token_urlsafe(32)}"


def hashed(key: str) -> str:
    # The keys are random and long, so that a fast hash is as good as a slow one.
    return sha256(key.encode()).hexdigest()


def check_name(name: str) -> str:
    """Raises `UsageError` for what cannot be the name of a key, which is the owner of its runs."""
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise UsageError(
            f"a key's name has 1 to 40 of a-z, 0-9, _ and -, and is not {' or '.join(_RESERVED)}, "
            f"unlike {name[:80]!r}"
        )
    return name


class Keys:
    """The keys of a server. own: one that is in no database, of the owner `LOCAL`."""

    def __init__(self, records: RunRecords, own: str | None = None) -> None:
        self._records = records
        self._own = {} if own is None else {LOCAL: hashed(own)}
        self._known: dict[str, str] = {}
        self._read_at = -FRESH_S

    async def owner(self, key: str) -> str | None:
        """Whose key it is. Every key is compared, each in constant time."""
        if time.monotonic() - self._read_at >= FRESH_S:
            self._known = {**await self._records.key_hashes(), **self._own}
            self._read_at = time.monotonic()
        given = hashed(key)
        fits = [name for name, hash in self._known.items() if hmac.compare_digest(hash, given)]
        return fits[0] if fits else None
