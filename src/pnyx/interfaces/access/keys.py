"""Server keys and their owners: named keys, stored as hashes, and one that lasts as long as the server."""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from ...config.tables.server import KeyLimits
from ...core.caching.regex import regex
from ...errors import Unreadable, UsageError
from ...run.options.key_limits import read_limits
from ...run.spec import LOCAL

if TYPE_CHECKING:
    from ..records.runs import RunRecords

__all__ = ["LOCAL", "Keys", "check_name", "hash_key", "is_reserved", "new_key"]

FRESH_S = 2.0
"""Seconds for which the key hashes are cached: a revoked key is refused after that."""
LOG = logging.getLogger("pnyx.http")
_NAME = regex(r"[a-z0-9][a-z0-9_-]{0,39}")
_RESERVED = (LOCAL, "eval")


def new_key() -> str:
    """Return a new key of 256 random bits; secret scanners recognise a leaked one by its prefix."""
    return f"pnyx_{secrets.token_urlsafe(32)}"


def hash_key(key: str) -> str:
    """Return the SHA-256 of a key in hex."""
    # A slow hash protects guessable secrets; these keys are long and random.
    return sha256(key.encode()).hexdigest()


def check_name(name: str) -> str:
    """Return `name` if it is valid for a key, whose runs it will own. Raises `UsageError`."""
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise UsageError(
            f"a key's name must have 1 to 40 of a-z, 0-9, _ and -, and must not be "
            f"{' or '.join(_RESERVED)}; not {name[:80]!r}"
        )
    return name


def is_reserved(name: str) -> bool:
    """Whether an owner of runs has no key in the database: the command line, or an evaluation."""
    return name in _RESERVED


class Keys:
    """The keys of a server. They expire by the clock of the database: on all its servers at once.

    server_key: a key of the owner `LOCAL` that is not in the database.

    limits: name -> the limits that are stored with the key, as they were when the keys were last read.
    """

    def __init__(self, records: RunRecords, server_key: str | None = None) -> None:
        self._records = records
        self._server_key = [] if server_key is None else [(LOCAL, hash_key(server_key))]
        self._known: Sequence[tuple[str, str]] = ()
        self.limits: dict[str, KeyLimits] = {}
        self._read_at = -FRESH_S

    async def owner(self, key: str) -> str | None:
        """Return the owner of a key, or None. Every stored key is compared, each in constant time."""
        if time.monotonic() - self._read_at >= FRESH_S:
            await self.read()
        key_hash = hash_key(key)
        owners = [name for name, hash in self._known if hmac.compare_digest(hash, key_hash)]
        return owners[0] if owners else None

    async def read(self) -> None:
        """Read the keys again: one that expires or is revoked is refused from then on."""
        now, valid = self._records.now(), list[tuple[str, str]]()
        limits = dict[str, KeyLimits]()
        for key in await self._records.keys.stored():
            try:
                limits[key.name] = read_limits(key.limits)
            except Unreadable as exc:  # without its limits it could do too much; the others go on
                LOG.warning("the key %s is refused: %s", key.name, exc)
                continue
            valid += [(key.name, hash) for hash in key.hashes(now)]
        self._known = [*valid, *self._server_key]
        # Changed in place: the service has it too.
        self.limits.clear()
        self.limits |= limits
        self._read_at = time.monotonic()
