"""Sets, logic and relations of geometry in letters: `A ∩ B` is `B ∩ A`, and `AB ∥ CD` is `CD ∥ AB`.

Only the order of what may change places is left out. No law is applied: `¬(p ∧ q)` is another text
than what it follows from.
"""

from __future__ import annotations

import functools

from ...caching.regex import regex
from ...markup.notation import plain

__all__ = ["symbolic"]

MAX_CHARS = 80
_COMMUTES = frozenset("∪∩∧∨△⊕")
_OPERATORS = frozenset("∪∩∖∧∨△⊕")
_HAS_SIGN = regex(
    r"[∪∩∖∧∨△⊕∥⊥≅∼~]|\\(?:cup|cap|setminus|land|lor|wedge|vee|triangle|oplus|parallel|perp|cong|sim)\b"
)
_SIGNS = str.maketrans({"∼": "~", "∣": "|", "‖": "∥", "’": "'", "′": "'"})
_COMMANDS = regex(r"\\(cong|sim|oplus|overline|bar|lnot|neg|complement)\b")
_NAMES = {
    "cong": "≅",
    "sim": "~",
    "oplus": "⊕",
    "overline": "¬",
    "bar": "¬",
    "lnot": "¬",
    "neg": "¬",
    "complement": "^c",
}
_TOKEN = regex(r"\s*([A-Za-z](?:_\{?\d\}?)?|\^\s*\{?\s*[cC]\s*\}?|[∪∩∖∧∨△⊕¬()'{}])")
_FIGURE = r"(?:△|∠|segment |line )?\s?[A-Za-z]{1,5}\d?"
_RELATION = regex(rf"(?P<one>{_FIGURE})\s*(?P<sign>[∥⊥≅~])\s*(?P<two>{_FIGURE})")


@functools.lru_cache(maxsize=2048)
def symbolic(text: str) -> str | None:
    """A text that is the same for all orders of what commutes in `text`; None if it is no such expression."""
    if len(text) > MAX_CHARS or not _HAS_SIGN.search(text):
        return None
    text = _COMMANDS.sub(lambda m: _NAMES[m[1]], text.strip().strip("$"))
    text = plain(text).translate(_SIGNS).strip(" .")
    if relation := _RELATION.fullmatch(text):
        sides = sorted("".join(relation[name].split()) for name in ("one", "two"))
        return relation["sign"].join(sides)
    found, end = list[str](), 0
    while match := _TOKEN.match(text, end):
        found.append(match[1].replace(" ", ""))
        end = match.end()
    if text[end:].strip() or not _OPERATORS.intersection(found):
        return None
    expression = _Expression(found)
    read = expression.operation()
    return read if expression.at == len(found) else None


class _Expression:
    """Reads the expression of `tokens` from `at` on, with what commutes in order."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0
        self.inside: dict[str, list[str]] = {}

    def operation(self) -> str | None:
        """Operands with one operator between them; None if two operators stand without brackets."""
        parts, sign = [self.operand()], ""
        while self.at < len(self.tokens) and self.tokens[self.at] in _OPERATORS:
            if sign and (sign != self.tokens[self.at] or sign not in _COMMUTES):
                return None
            sign = self.tokens[self.at]
            self.at += 1
            parts.append(self.operand())
        known = [part for part in parts if part]
        if len(known) < len(parts):
            return None
        if sign in _COMMUTES:
            known = sorted(inner for part in known for inner in self.inside.get(f"{sign}{part}", [part]))
        found = sign.join(known)
        if sign:
            self.inside[f"{sign}({found})"] = known
        return found

    def operand(self) -> str | None:
        if self.at >= len(self.tokens):
            return None
        token = self.tokens[self.at]
        self.at += 1
        if token == "¬":
            inner = self.operand()
            return inner and f"¬{inner}"
        if token in ("(", "{"):
            inside = self.operation()
            if inside is None or self.at >= len(self.tokens) or self.tokens[self.at] not in (")", "}"):
                return None
            self.at += 1
            found = f"({inside})" if _OPERATORS.intersection(inside) else inside
        elif token[0].isalpha():
            found = token
        else:
            return None
        while self.at < len(self.tokens) and (self.tokens[self.at] == "'" or self.tokens[self.at][0] == "^"):
            found = f"¬{found}"
            self.at += 1
        return found
