"""Relations in a short answer: the name that a lone equals sign gives to a value is apart from the value."""

from __future__ import annotations

from ...caching.regex import regex
from ..maths import name_of

__all__ = ["split_name"]

_SIGN = regex(
    r"<=>|[<>=!:~]=|=[<>]|<>|->|[=<>≤≥≠≈≡→⇒∈∝]|\\(?:leq?|geq?|leqslant|geqslant|neq?|approx|to|rightarrow|equiv|in"
    r"|lt|gt|sim|implies|propto|mapsto)(?![A-Za-z])"
)
_QUOTED = regex(r"\"[^\"]*\"|'[^']*'|`[^`]*`|<[A-Za-z][^<>=]*>")
_OPENS, _CLOSES = "([{", ")]}"
_SEVERAL = regex(r"[,;]|\b(?:and|or)\b", 2)
_LABELS = frozenset(("answer", "final answer", "result", "solution", "value", "total", "sum", "product"))
"""Names that say nothing of what has the value."""


_DOLLAR = regex(r"\$(?!\d)")
_IDENTIFIER = regex(r"[A-Za-z][A-Za-z0-9]*(?:[_.][A-Za-z0-9]+)+")
_WORDS = regex(r"(?:[Nn][or]\.|[^\W\d_]{2,})(?:[ -](?:[^\W\d_]+|\([^\W\d_ ]+\))){1,7}")
"""A name in words, as in `No. of apples`."""


def split_name(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The name on the left of the equals sign, and the sides to its right; None if there is no such name.

    `x = 5` is `x` and `5`; `total = 4 * 5 = 20` is `total`, `4 * 5` and `20`. The name is empty for a label
    such as `Answer`, and for a calculation such as `2 + 3 = 5`, whose sides then include the left one. Any
    other sign (≥, ≠, ≈, …) and several names make a relation, not a name.
    """
    if "=" not in text:
        return None
    found = _signs(text)
    if not found or any(sign != "=" for _, _, sign in found):
        return None
    starts, ends = [0, *(end for _, end, _ in found)], [*(start for start, _, _ in found), len(text)]
    sides = tuple(text[a:b].strip() for a, b in zip(starts, ends, strict=True))
    if (
        not all(sides)
        or any(len(_DOLLAR.findall(side)) % 2 for side in sides)
        or (len(sides) > 2 and any(_SEVERAL.search(side) for side in sides))
    ):
        return None
    if sides[0].casefold().removeprefix("the ") in _LABELS:
        return "", sides[1:]
    name = _angle_or_probability(sides[0]) or name_of(sides[0])
    if not name and _IDENTIFIER.fullmatch(sides[0]):
        return sides[0], sides[1:]
    if name is None and _WORDS.fullmatch(sides[0]):
        name = sides[0].casefold()
    if name:
        return name.removeprefix("the "), sides[1:]
    return None if name is None else ("", sides)


_ANGLE = regex(r"\$?(?:the )?m?\s?(?:\\angle|∠|angle)\s*(?:\{\s*)?([A-Z](?:_?[A-Z0-9]){0,3})(?:\s*\})?\$?", 2)
_PROBABILITY = regex(r"\$?(?:P|Pr|E|Var|Cov)\s*[(\[][^()=]{1,30}[)\]]\$?")


def _angle_or_probability(left: str) -> str:
    """A name that is no expression: `∠ABC`, `P(A|B)`."""
    if match := _ANGLE.fullmatch(left):
        return f"∠{match[1].upper()}"
    match = _PROBABILITY.fullmatch(left)
    return left.strip("$").replace(r"\mid", "|").replace(" ", "") if match else ""


def _signs(text: str) -> list[tuple[int, int, str]]:
    hidden = [match.span() for match in _QUOTED.finditer(text)]
    found = []
    for match in _SIGN.finditer(text):
        start = match.start()
        before = text[:start]
        depth = sum(before.count(c) for c in _OPENS) - sum(before.count(c) for c in _CLOSES)
        if depth <= 0 and not any(a <= start < b for a, b in hidden):
            found.append((start, match.end(), match[0]))
    return found
