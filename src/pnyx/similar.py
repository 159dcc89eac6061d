"""Names that are like a mistyped one, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["among", "closest", "nearest"]


def closest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known name most similar to `name`. likeness: minimal similarity, 0 to 1."""
    # For errors only.
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), 1, likeness)
    return found[0] if found else None


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return "; did you mean …?" with the known name most similar to `name`, or an empty text."""
    found = closest(name, known, likeness)
    return f"; did you mean {found}?" if found else ""


def among(name: str, known: Iterable[str], there: str) -> str:
    """Return what follows "no such name": the most similar one, and then `there`, which lists all."""
    hint = nearest(name, known)
    return f"{hint} {there[0].upper()}{there[1:]}" if hint else f"; {there}"
