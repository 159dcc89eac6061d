"""Partitions: a judge's verdict on which of several texts say the same."""

from __future__ import annotations

import re
from typing import Any

from ..caching.regex import regex
from ..context.reply_sizes import GROUPS
from ..steps import Schema
from .authorship import own_words
from .form import Form
from .json_objects import field, object_schema
from .verdicts import Unreadable

__all__ = ["groups_form", "groups_schema", "read_groups"]


def groups_schema(count: int) -> Schema:
    """The schema of groups of the texts 1 to `count`."""
    # An enum, since structured output ignores bounds and small models would keep counting.
    number = {"type": "integer", "enum": list(range(1, count + 1))}
    return object_schema("groups", {"groups": {"type": "array", "items": {"type": "array", "items": number}}})


def read_groups(text: str, count: int) -> list[list[int]]:
    """The groups of the texts 1 to `count` that say the same; a text in no group is alone.

    Raises `Unreadable` if there are no groups, if a text is in two, or if a number is out of range.
    """
    for document in own_words(text, regex(r"(?!)")).objects:
        found = field(document, "groups", "group")
        if isinstance(found, list):
            return _groups(found, count)
    raise Unreadable(f"no groups were found: {_instruction(count)}")


def groups_form(count: int) -> Form[list[list[int]]]:
    """The form of groups of the texts 1 to `count`."""
    return Form(
        groups_schema(count),
        lambda data: _groups(data["groups"], count),
        lambda text: read_groups(text, count),
        effort="none",
        max_tokens=GROUPS.limit,
    )


def _instruction(count: int) -> str:
    return f'give one JSON object {{"groups": [[1, 2], [3]]}} with the numbers 1 to {count}, each once'


def _groups(found: list[Any], count: int) -> list[list[int]]:
    groups = [[_number(item) for item in (group if isinstance(group, list) else [group])] for group in found]
    # A repeated group, in any order, is one group.
    groups = [group for n, group in enumerate(groups) if set(group) not in map(set, groups[:n])]
    numbers = [n for group in groups for n in group]
    if len(set(numbers)) < len(numbers) or any(not 1 <= n <= count for n in numbers):
        raise Unreadable(f"a number is there twice, or is no text's: {_instruction(count)}")
    return groups


def _number(item: Any) -> int:
    digits = re.search(r"\d{1,3}", str(item))
    return int(digits[0]) if digits else 0
