"""Formulas, ions, reactions and electron configurations in one notation.

`2 H₂ + O₂ ⟶ 2 H₂O` is `O2 + 2H2 -> 2H2O`, and `SO₄²⁻` is `SO4^{2-}`. Nothing is balanced: an equation that is
the double of another is another answer.
"""

from __future__ import annotations

import functools
import re
from collections import Counter

from ...caching.regex import regex
from ...markup.characters import LOWERED_DIGITS, RAISED_TO
from .entities import is_symbol

__all__ = ["read_species"]

MAX_CHARS = 200
"""Characters of a reaction."""

_CE = regex(r"\\ce\s*\{(.*)\}")
_WORDS = regex(r"\\(?:text|mathrm|mathsf|rm)\s*\{([^{}]*)\}")
_ARROWS = (
    (
        regex(r"\\(?:(?:long)?leftrightarrows?|(?:left|right)\w*harpoons)(?![A-Za-z])"),
        "⇌",
    ),
    (regex(r"<=+>|<-+>|[⇄⇋⇆↔⟷]"), "⇌"),
    (regex(r"\\(?:long)?(?:rightarrow|to)(?![A-Za-z])|[-=]+>|[⟶⇒➝➞]"), "→"),
)
_RAISED = regex("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_STATE = regex(r"\s*_?\{?\((?:s|l|g|aq)\)\}?$")
_FORMULA = regex(
    r"(?:[A-Z][a-z]?\d*|\((?:[A-Z][a-z]?\d*)+\)\d*|\[(?:[A-Z][a-z]?\d*|\([A-Za-z0-9]+\)\d*)+\]\d*)+"
)
_ELEMENT = regex(r"[A-Z][a-z]?")
_RAISED_CHARGE = regex(r"(?P<body>.*?)\s*\^\s*\{?\s*(?P<charge>\d?[+-]|[+-]\d?)\s*\}?")
_PLAIN_CHARGE = regex(r"(?P<body>.*?[A-Za-z0-9)\]])(?P<gap>\s?)(?P<size>\d?)(?P<sign>[+-])")
_FACTOR = regex(r"(?P<count>\d+(?:/\d+)?)?\s*(?:\*|\\cdot)?\s*(?P<rest>\S.*)")
_PLUS = regex(r"\s\+\s|(?<=[A-Za-z0-9)\]}])\+(?=\s*\d*\s*[A-Z(\[])|(?<=[+-])\s*\+\s*(?=[A-Z\d(\[])")
_SHELLS = regex(r"(?:\[[A-Z][a-z]\]\s*)?(?:[1-7][spdf]\^?\{?\d{1,2}\}?[\s.,]*)+")
_HYBRID = regex(r"sp(?:\^?\{?[23]\}?)?(?:d\^?\{?[23]?\}?)?")


@functools.lru_cache(maxsize=4096)
def read_species(text: str) -> str | None:
    """A text that is the same for all notations of a formula, an ion, a reaction or a configuration.

    None for other text. States, as in `H2O(l)`, are left out.
    """
    if not 0 < len(text) <= MAX_CHARS or not _SIGN.search(text) or not _MAY_BE.match(text):
        return None
    plain = _plain(text)
    for form in (_SHELLS, _HYBRID):
        if form.fullmatch(plain):
            return f"shells {re.sub(r'[^0-9a-zA-Z]', '', plain)}"
    return _reaction(plain) or _species(plain)


_SIGN = regex(r"[\d₀-₉⁰¹²³⁴-⁹+⁺⁻]|[A-Za-z}]-(?!\w)|->|sp")
_MAY_BE = regex(r"[\s$\\{A-Z\d(\[]*[A-Za-z]")


def _plain(text: str) -> str:
    text = text.strip().strip("$").strip()
    if match := _CE.fullmatch(text):
        text = match[1]
    text = _WORDS.sub(r"\1", text)
    text = _RAISED.sub(lambda m: f"^{m[0].translate(RAISED_TO)}", text).translate(LOWERED_DIGITS)
    for form, arrow in _ARROWS:
        text = form.sub(f" {arrow} ", text)
    text = text.replace("−", "-").replace("·", "*")
    return re.sub(r"_\{?(\d+)\}?", r"\1", text).strip()


def _reaction(text: str) -> str | None:
    """Both sides of a reaction, the substances of each in order."""
    parts = re.split(r"\s*([→⇌=])\s*", text)
    if len(parts) != 3:
        return None
    sides = [_side(parts[0]), _side(parts[2])]
    if not all(sides):
        return None
    return f"{sides[0]} {'⇌' if parts[1] == '⇌' else '→'} {sides[1]}"


def _side(text: str) -> str | None:
    found = Counter[str]()
    for term in _PLUS.split(text):
        match = _FACTOR.fullmatch(term.strip())
        species = _species(match["rest"]) if match else None
        if match is None or species is None:
            return None
        found[f"{match['count'] or 1} {species}"] += 1
    return " + ".join(sorted(found.elements()))


def _species(text: str) -> str | None:
    """A formula with its charge: `SO4 -2`."""
    body = _STATE.sub("", text.strip())
    charge = 0
    if body in ("e-", "e^-", "e^{-}"):
        return "e -1"
    if match := _RAISED_CHARGE.fullmatch(body):
        digits = match["charge"].strip("+-") or "1"
        body, charge = match["body"], int(digits) * (-1 if "-" in match["charge"] else 1)
    elif match := _PLAIN_CHARGE.fullmatch(body):
        body, size = match["body"], match["size"]
        # Of NH4+ the digit counts atoms, and of Ca2+ and SO42- the last one counts charges.
        if size and not match["gap"] and len(_ELEMENT.findall(body)) > 1 and not body[-1].isdigit():
            body, size = body + size, ""
        charge = int(size or 1) * (1 if match["sign"] == "+" else -1)
    body = body.replace(" ", "").replace("{", "").replace("}", "")
    if not _FORMULA.fullmatch(body) or not all(map(is_symbol, _ELEMENT.findall(body))):
        return None
    return f"{body} {charge:+}" if charge else body
