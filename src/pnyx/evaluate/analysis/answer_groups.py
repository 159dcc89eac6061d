"""Group equal answers as a vote does: by their text, whether they are right or wrong."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.answers.same.grouping import find_group, group_answers
from .log import Row

__all__ = ["RIGHT", "answer_groups", "graded_groups"]

RIGHT = "right"
"""The group of right answers, once they are graded. Names of other groups start with `group` or `text`."""


def answer_groups(rows: Sequence[Row]) -> tuple[str | None, ...]:
    """The group of each answer; None if there is no answer.

    An answer that a vote could not count, because it is prose or fits several groups, only joins identical
    texts. Grades do not matter here: a vote does not know them.
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


def graded_groups(rows: Sequence[Row]) -> tuple[str | None, ...]:
    """The group of each answer after grading: all right answers share the group `RIGHT`."""
    return tuple(
        RIGHT if row.correct else group for row, group in zip(rows, answer_groups(rows), strict=True)
    )
