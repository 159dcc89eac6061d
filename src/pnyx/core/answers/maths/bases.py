"""Digits in a number base, as in `1101_2`, and the modulus of a congruence."""

from __future__ import annotations

from collections.abc import Sequence

from ..numbers.number_words import ENGLISH
from .lexer import Token
from .nodes import Based

__all__ = ["based_digits", "modulus_of"]


def based_digits(found: Sequence[Token]) -> Based | None:
    """Digits in a number base: `1101_2`, `1A_{16}`, `12_{\\text{seven}}`."""
    at = next((n for n, t in enumerate(found) if t.text == "_" and t.kind == "symbol"), None)
    if not at or not all(
        t.kind in ("number", "name", "word") and (not t.spaced or not n) for n, t in enumerate(found[:at])
    ):
        return None
    digits = "".join(t.text for t in found[:at]).upper()
    if found[0].kind != "number" and not (digits.isalnum() and len(digits) > 1):
        return None
    tail = [t.text.casefold() for t in found[at + 1 :] if t.text not in "{}()"]
    if len(tail) != 1:
        return None
    base = _BASES.get(tail[0]) or (int(tail[0]) if tail[0].isdigit() and len(tail[0]) < 3 else 0)
    if not 2 <= base <= 36:
        return None
    whole = digits.replace(".", "", 1)
    if not all(c.isalnum() and c.isascii() and int(c, 36) < base for c in whole):
        return None
    return Based(digits.lstrip("0") or "0", base)


_BASES = {name: n for name, n in ENGLISH.items() if 2 <= n <= 16} | {"hex": 16, "bin": 2, "oct": 8}


def modulus_of(right: Sequence[Token]) -> tuple[int, Sequence[Token]] | None:
    """Where `(mod 7)` begins on the right side of a congruence, and its modulus."""
    at = next((n for n, t in enumerate(right) if t.text in ("pmod", "bmod", "mod")), 0)
    if not at or right[at].kind not in ("command", "word"):
        return None
    rest, start = list(right[at + 1 :]), at
    if right[at - 1].text == "(" and rest[-1:] and rest[-1].text == ")":
        rest, start = rest[:-1], at - 1
    if rest and rest[0].text == "{" and rest[-1].text == "}":
        rest = rest[1:-1]
    return (start, rest) if start and rest else None
