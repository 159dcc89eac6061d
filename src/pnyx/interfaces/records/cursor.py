"""The cursor of a list of runs: where its next page begins."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from ...errors import UsageError
from ...store.records.runs import RunRow
from ...store.records.search import Place

__all__ = ["cursor_after", "cursor_of", "parse_cursor", "parse_place"]

MOST_SKIPPED = 2**31


def cursor_after(row: RunRow) -> str:
    """Return the cursor of the page that follows a run."""
    return _cursor([row.created_at, row.id])


def parse_cursor(text: str) -> tuple[str, str]:
    """Return the `created_at` and id of the run before the page. Raises `UsageError`."""
    match _values(text):
        case [str(created_at), str(run_id)]:
            return created_at, run_id
    raise _foreign()


def cursor_of(place: Place) -> str:
    """Return the cursor of a page of search results."""
    return _cursor([place.every, place.skip, *(place.before or ())])


def parse_place(text: str) -> Place:
    """Return where a page of search results begins. Raises `UsageError`."""
    match _values(text):
        case [bool(every), int(skip)] if 0 <= skip < MOST_SKIPPED:
            return Place(every, skip)
        case [bool(every), int(skip), str(time), str(id)] if 0 <= skip < MOST_SKIPPED:
            return Place(every, skip, (time, id))
    raise _foreign()


def _foreign() -> UsageError:
    return UsageError("this cursor is not from an earlier list")


def _cursor(values: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


def _values(text: str) -> object:
    try:
        return json.loads(base64.urlsafe_b64decode(text))
    except (binascii.Error, ValueError, TypeError):
        return None
