"""Which short answers are one answer, so that they can be counted."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from .equivalence import normalise, read, same
from .statements import lone

__all__ = ["LONGEST", "find", "grouped"]

LONGEST = 80
"""Characters: what is longer is prose, of which no code can tell whether it says the same."""


def grouped(answers: Sequence[str | None]) -> dict[str, tuple[str, ...]]:
    """The answers that can be counted: name of a group -> its wordings.

    `same` is not transitive (`12 km` and `12 kg` both match `12`), so fuller answers form groups first,
    and what matches two groups joins neither. A sentence joins the group whose value is the one that it
    states: `Each friend gets 10 cards` is `10` where somebody has said `10`. A name is the most frequent
    wording that is no such sentence, where there is one. The groups do not depend on the order of the
    answers; their names do where wordings are equally frequent, and there the first one counts.
    """
    said = [answer for answer in answers if _countable(answer)]
    groups: dict[str, list[str]] = {}
    for answer in sorted(set(said), key=lambda a: (bool(_stated(a)), -len(normalise(a)), a)):
        groups.setdefault(find(answer, groups) or answer, []).append(answer)
    return {
        max((a for a in said if a in group), key=lambda a: (not _stated(a), said.count(a))): tuple(group)
        for group in groups.values()
    }


def find(answer: str | None, groups: Mapping[str, Sequence[str]]) -> str | None:
    """The name of the one group that `answer` belongs to; None without one, and where it fits several."""
    if not _countable(answer):
        return None
    equal = [name for name, group in groups.items() if any(read(a) == read(answer) for a in group)]
    alike = equal or [name for name, group in groups.items() if any(same(a, answer) for a in group)]
    alike = alike or [name for name, group in groups.items() if any(_states(answer, a) for a in group)]
    return alike[0] if len(alike) == 1 else None


def _states(sentence: str, answer: str) -> bool:
    kind = read(answer).kind
    return any(kind == stated and same(value, answer) for stated, value in _stated(sentence))


@functools.lru_cache(maxsize=1024)
def _stated(answer: str) -> tuple[tuple[str, str], ...]:
    """The number and the time that a sentence states, each with its kind; nothing of what is no sentence."""
    if read(answer).kind != "text":
        return ()
    return tuple((kind, value) for kind in ("number", "time") if (value := lone(kind, answer)))


def _countable(answer: str | None) -> TypeGuard[str]:
    return bool(answer) and len(answer or "") <= LONGEST
