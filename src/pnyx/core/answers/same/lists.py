"""Lists of words and names, in any order unless the question asks for one."""

from __future__ import annotations

import functools

from ...caching.regex import regex
from ..language.entities import same_thing
from ..language.folding import fold_words, items_of, strip_edges
from ..language.names import same_spelling
from ..language.truths import read_truth
from ..reading.hints import Hints

__all__ = ["same_items"]

MAX_ITEMS = 40
_FIRST_NAME = regex(r"[^\W\d_a-z][\w.'-]*")


def same_items(one: str, two: str, hints: Hints) -> bool:
    """Whether two lists have the same items, in the order that the question asks for.

    Items are the same words, names of one thing, or of one person if the question asks for persons.
    """
    mine, theirs = (items_of(text, ordered=hints.ordered) for text in (one, two))
    person = "person" in hints.topics
    if person:
        mine, theirs = _with_last_names(mine), _with_last_names(theirs)
    if not 1 < len(mine) == len(theirs) <= MAX_ITEMS:
        return False
    if hints.ordered or any(read_truth(fold_words(item)) or item.isdigit() for item in mine):
        return all(_same_item(a, b, hints) for a, b in zip(mine, theirs, strict=True))
    left = list(theirs)
    for item in mine:
        # The same words first, so that a last name does not take the place of a whole one.
        found = next((other for other in left if _folded(item) == _folded(other)), None)
        found = found or next((other for other in left if _same_item(item, other, hints)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _same_item(one: str, two: str, hints: Hints) -> bool:
    if _folded(one) == _folded(two):
        return True
    if same_thing(one, two, hints.topics):
        return True
    return "person" in hints.topics and same_spelling(one, two, person=True)


@functools.lru_cache(maxsize=4096)
def _folded(item: str) -> str:
    return fold_words(strip_edges(item))


def _with_last_names(items: tuple[str, ...]) -> tuple[str, ...]:
    """Persons with the last name that only the last one of them has: `Marie and Pierre Curie`."""
    if len(items) < 2 or " " not in items[-1]:
        return items
    last = items[-1].rsplit(" ", 1)[1]
    return (*(f"{item} {last}" if _FIRST_NAME.fullmatch(item) else item for item in items[:-1]), items[-1])
