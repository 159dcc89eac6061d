"""The cursor of a list of runs: where its next page begins."""

from __future__ import annotations

import base64
import binascii
import json

from ..errors import UsageError
from ..store.records.runs import RunRow

__all__ = ["cursor_after", "parse_cursor"]


def cursor_after(row: RunRow) -> str:
    """Return the cursor of the page that follows a run."""
    return base64.urlsafe_b64encode(json.dumps([row.created_at, row.id]).encode()).decode()


def parse_cursor(text: str) -> tuple[str, str]:
    """Return the `created_at` and id of the run before the page. Raises `UsageError`."""
    try:
        created_at, run_id = json.loads(base64.urlsafe_b64decode(text))
    except (binascii.Error, ValueError, TypeError):
        raise UsageError("this cursor is not from an earlier list") from None
    if not (isinstance(created_at, str) and isinstance(run_id, str)):
        raise UsageError("this cursor is not from an earlier list")
    return created_at, run_id
