"""Answer groups: which short answers count as the same answer."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from ..code.calls import short_calls
from ..reading.hints import hints_of
from .equivalence import normalise, read, same
from .statements import only_value

__all__ = ["MAX_CHARS", "find_group", "group_answers"]

MAX_CHARS = 80
"""Characters of an answer that can be grouped; a longer one is prose, which code cannot compare."""


def group_answers(answers: Sequence[str | None], question: str | None = None) -> dict[str, tuple[str, ...]]:
    """The groups of the answers that can be counted: name -> its distinct wordings.

    `same` is not transitive (`12` equals `12 km` and `12 kg`), so longer answers form groups first, and an
    answer that matches two groups joins neither. A sentence joins the group of the value that it states:
    `Each friend gets 10 cards` joins `10` if another answer is `10`. The name of a group is its most frequent
    wording, other than such a sentence if possible. The groups do not depend on the order of the answers. Of
    equally frequent wordings, the first is the name. question: what they answer, see `same_answer`.
    """
    countable = [answer for answer in answers if _countable(answer)]
    groups: dict[str, list[str]] = {}
    for answer in sorted(set(countable), key=lambda a: (bool(_stated(a)), -len(normalise(a, question)), a)):
        groups.setdefault(find_group(answer, groups, question) or answer, []).append(answer)
    # In the order in which they were given, which decides between equally frequent wordings.
    times = Counter(countable)
    place = {wording: n for n, wording in enumerate(times)}

    def rank(wording: str) -> tuple[bool, int, int]:
        return not _stated(wording), times[wording], -place[wording]

    return {max(group, key=rank): tuple(group) for group in groups.values()}


def find_group(
    answer: str | None, groups: Mapping[str, Sequence[str]], question: str | None = None
) -> str | None:
    """The name of the only group that `answer` belongs to; None if it fits none or several."""
    if not _countable(answer):
        return None
    hints = hints_of(question)
    parsed = read(answer, hints)
    equal = [name for name, group in groups.items() if any(read(a, hints) == parsed for a in group)]
    alike = equal or [
        name for name, group in groups.items() if any(_same(a, answer, question) for a in group)
    ]
    alike = alike or [name for name, group in groups.items() if any(_states(answer, a) for a in group)]
    return alike[0] if len(alike) == 1 else None


_same = functools.lru_cache(maxsize=8192)(same)
"""As more answers come, the ones before are grouped again: a hundred of them are five thousand pairs."""


def _states(sentence: str, answer: str) -> bool:
    kind = read(answer).kind
    return any(kind == stated and same(value, answer) for stated, value in _stated(sentence))


@functools.lru_cache(maxsize=1024)
def _stated(answer: str) -> tuple[tuple[str, str], ...]:
    """(kind, value) of the number and the time that a sentence states; empty if `answer` is not a
    sentence."""
    if read(answer).kind != "text":
        return ()
    return tuple((kind, value) for kind in ("number", "time") if (value := only_value(kind, answer)))


def _countable(answer: str | None) -> TypeGuard[str]:
    return bool(answer) and (len(answer or "") <= MAX_CHARS or short_calls(answer or "") is not None)
