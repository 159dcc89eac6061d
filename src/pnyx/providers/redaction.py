"""Masking of secrets in text, JSON values and streams of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..config.load import MASK
from ..core.caching.regex import regex

__all__ = ["MIN_SECRET", "Redactor", "StreamRedactor", "redact_json"]

MIN_SECRET = 6
"""Characters; masking anything shorter would make ordinary text unreadable."""


def redact_json(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with `redact` applied to every string in it, names of members included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict | Mapping):  # dict first: a mapping of another type takes longer to recognise
        return {
            redact(str(name)): one if type(one) in _PLAIN else redact_json(one, redact)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_json(item, redact) for item in value]
    return value


_PLAIN = frozenset((int, float, bool, type(None)))


class Redactor:
    """Masks secrets in text, from the left; of two that begin at the same place, the longer."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._longest = max(map(len, self._secrets), default=0)
        self._any = regex("|".join(map(re.escape, self._secrets)) or "(?!)")

    def __call__(self, text: str) -> str:
        # Most texts hold none: to look for each is much faster than the pattern.
        return self._any.sub(MASK, text) if any(map(text.__contains__, self._secrets)) else text

    def redact_json(self, value: Any) -> Any:
        """Return a JSON value with every string in it masked, names of members included."""
        return redact_json(value, self)

    def mask_prefix(self, text: str) -> tuple[str, str]:
        """Return the part of `text` that no later text can change, masked, and the rest unmasked."""
        masked, at = "", 0
        while True:
            found = self._any.search(text, at)
            partial = self._partial_start(text, at)
            if found is None or found.start() >= partial:
                return masked + text[at:partial], text[partial:]
            masked, at = masked + text[at : found.start()] + MASK, found.end()

    def _partial_start(self, text: str, at: int) -> int:
        """Where, from `at` on, the end of `text` may be the first part of a secret; else its length."""
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            end = text[start:]
            if any(len(secret) > len(end) and secret.startswith(end) for secret in self._secrets):
                return start
        return len(text)


class StreamRedactor:
    """Masks text that arrives in pieces. What may be the first part of a secret waits for the next piece;
    `end` shows it."""

    def __init__(self, redact: Redactor, show: Callable[[str], None]) -> None:
        self._redact, self._show = redact, show
        self._waiting = ""

    def add(self, piece: str) -> None:
        text, self._waiting = self._redact.mask_prefix(self._waiting + piece)
        if text:
            self._show(text)

    def end(self) -> None:
        text, self._waiting = self._waiting, ""
        if text:
            self._show(self._redact(text))
