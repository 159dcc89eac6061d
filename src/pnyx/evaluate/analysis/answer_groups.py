"""Who said the same, as a vote sees it: by the texts of the answers, whether they are right or wrong."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.answers.grouping import find_group, group_answers
from .log import Row

__all__ = ["RIGHT", "camps_of", "labelled"]

RIGHT = "right"
"""The camp of right answers, once the truth is told. No other has such a name: theirs begin otherwise."""


def camps_of(rows: Sequence[Row]) -> tuple[str | None, ...]:
    """With whom each answer stands; None: it says nothing.

    What a vote could not count, as it fits several groups or is prose, stands with its very like alone. That
    answers are right makes them no more alike: a vote does not know it.
    """
    groups = group_answers([row.answer for row in rows])
    return tuple(
        None
        if row.answer is None
        else f"group {name}"
        if (name := find_group(row.answer, groups))
        else f"text {row.answer}"
        for row in rows
    )


def labelled(rows: Sequence[Row]) -> tuple[str | None, ...]:
    """The camps as one learns from them who has told the truth: right answers together, under `RIGHT`."""
    return tuple(RIGHT if row.correct else camp for row, camp in zip(rows, camps_of(rows), strict=True))
