"""Taking secrets out of texts: whole ones, JSON values, and text that is still arriving."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..config.load import MASK
from ..core.regex import regex

__all__ = ["Arriving", "Redactor", "redacted"]


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """A JSON value with every text in it put through `redact`, names of members too."""
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {redact(str(name)): redacted(member, redact) for name, member in value.items()}
        case list() | tuple():
            return [redacted(item, redact) for item in value]
        case _:
            return value


class Redactor:
    """Masks secrets in what it is called with, from the left; of two that begin at one place, the longer."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._longest = max(map(len, self._secrets), default=0)
        self._any = regex("|".join(map(re.escape, self._secrets)) or "(?!)")

    def __call__(self, text: str) -> str:
        return self._any.sub(MASK, text)

    def within(self, value: Any) -> Any:
        """A JSON value with every text in it masked, names of members too."""
        return redacted(value, self)

    def settled(self, text: str) -> tuple[str, str]:
        """`text` masked as far as nothing that may follow changes that, and the rest as it is."""
        masked, at = "", 0
        while True:
            found = self._any.search(text, at)
            begun = self._begun(text, at)
            if found is None or found.start() >= begun:
                return masked + text[at:begun], text[begun:]
            masked, at = masked + text[at : found.start()] + MASK, found.end()

    def _begun(self, text: str, at: int) -> int:
        """Where, from `at` on, what may become a secret begins at the end of `text`; else its length."""
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            end = text[start:]
            if any(len(secret) > len(end) and secret.startswith(end) for secret in self._secrets):
                return start
        return len(text)


class Arriving:
    """Text that arrives in pieces and is shown masked. What may be the beginning of a secret, and nothing
    else, waits for what follows it; `end` shows it, once nothing follows."""

    def __init__(self, redact: Redactor, show: Callable[[str], None]) -> None:
        self._redact, self._show = redact, show
        self._waiting = ""

    def add(self, piece: str) -> None:
        text, self._waiting = self._redact.settled(self._waiting + piece)
        if text:
            self._show(text)

    def end(self) -> None:
        text, self._waiting = self._waiting, ""
        if text:
            self._show(self._redact(text))
