"""Names of one thing: of a country, a language, a currency, a chemical element, a city, in many languages.

`USA` and `United States`, `Deutschland` and `Germany`, `Natrium` and `sodium`. The names of countries,
languages and currencies are those of CLDR (`words/entities.json`), the others of `words/aliases.json`. A name
that two things have, as Congo, names neither.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache

from ...caching.regex import regex
from ..words import table

__all__ = ["is_name", "is_symbol", "same_thing"]

MAX_CHARS = 60
"""Characters of a name."""
CODED = ("country", "language", "currency", "element")
"""Kinds of things that have codes or symbols, which name them where the question is about them."""
_SHORT = 4
"""Letters of a name up to which its accents count: `Mỹ` is a country, and `my` is a word."""
_AMBIGUOUS = frozenset(("congo", "kongo", "конго", "korea"))
"""Names of two countries of which a language may have one."""

_PARTS = regex(r"[\s.'\u2019\u02bc`\u2018-]+")
_FIRST = regex(r"(?:the|die|das|der|la|le|les|el|los|las|l) ")
_LEFT_OUT = ("language", "element", "currency")
"""Words behind a name of their kind that say nothing: `English language`."""


def same_thing(one: str, two: str, topics: Collection[str] = ()) -> bool:
    """Whether two names are of one thing.

    topics: what the question is about (`Hints.topics`). Codes and symbols are names only where it is
    about things that have them: `DE` is Germany if it asks for a country.
    """
    mine = _things(one, frozenset(topics))
    return bool(mine) and not mine.isdisjoint(_things(two, frozenset(topics)))


def is_name(text: str) -> bool:
    """Whether `text` is the name of a thing of the tables: what `NASA` is short for is known."""
    return bool(_things(text, frozenset()))


def is_symbol(text: str) -> bool:
    """Whether `text` is the symbol of an element, in which case counts: `Co` is no `CO`."""
    return text in table("aliases")["element"]


@lru_cache(maxsize=4096)
def _things(text: str, topics: frozenset[str]) -> frozenset[tuple[str, str]]:
    """(kind, code) of what `text` names; empty if it names nothing that the tables have."""
    text = text.strip(" .\"“”'")
    if not 0 < len(text) <= MAX_CHARS or text.isdigit():
        return frozenset()
    key = _key(text)
    names = [key, *(key.removesuffix(f" {noun}") for noun in _LEFT_OUT if key.endswith(f" {noun}"))]
    found = {
        (kind, names_of[name]) for kind, names_of in _names().items() for name in names if name in names_of
    }
    for kind in topics:
        if kind in CODED and (code := _coded(text, kind)):
            found.add((kind, code))
        if meant := _names_if_asked().get(kind, {}).get(key):
            found.add((kind, meant))
    return frozenset(found)


def _coded(text: str, kind: str) -> str:
    """The code that `text` is: `DE`, `de`, `EUR`, `Na`; empty if it is none."""
    if kind == "element":
        return text if is_symbol(text) else ""
    code = text.lower() if kind == "language" else text if text.isupper() else ""
    return code if code in table("entities")[kind] else ""


@cache
def _names() -> Mapping[str, Mapping[str, str]]:
    """Kind -> name, folded -> code, without names that two have, or that only accents keep apart."""
    entities, aliases = table("entities"), table("aliases")
    kinds = {kind: dict(entities.get(kind, {})) for kind in (*CODED, "other")}
    for kind, rows in kinds.items():
        for code, names in aliases[kind].items():
            rows[code] = [*rows.get(code, ()), *names]
    currencies = {code: [*names, code] for code, names in kinds["currency"].items()}
    found = {kind: _unambiguous(rows) for kind, rows in {**kinds, "currency": currencies}.items()}
    # Portugal is no language, though portugál is the Hungarian name of one.
    found["language"] = {
        key: code
        for key, code in found["language"].items()
        if key not in found["country"] or any(name.casefold() == key for name in kinds["language"][code])
    }
    return found


@cache
def _names_if_asked() -> Mapping[str, Mapping[str, str]]:
    return {kind: _unambiguous(rows) for kind, rows in table("aliases")["asked"].items()}


def _unambiguous(rows: Mapping[str, Iterable[str]]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for code, names in rows.items():
        for name in names:
            found.setdefault(_key(name), set()).add(code)
    return {name: codes.pop() for name, codes in found.items() if len(codes) == 1 and name not in _AMBIGUOUS}


def _key(name: str) -> str:
    """`name` without case, punctuation, article and, if it is long enough, the accents of Latin letters."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("&", "and")
    folded = " ".join(part for part in _PARTS.split(folded) if part)
    folded = _FIRST.sub("", folded, count=1)
    folded = _SAINT.sub("saint ", folded)
    if len(folded) > _SHORT and not folded.isascii() and folded[0] < "\u0370":
        bare = unicodedata.normalize("NFD", folded)
        folded = "".join(c for c in bare if not unicodedata.combining(c))
    # Letters of abbreviations stand apart: `u s a`.
    return folded.replace(" ", "") if _INITIALS.fullmatch(folded) else folded


_SAINT = regex(r"\bst (?=\w)")
_INITIALS = regex(r"\w(?: \w)+")
