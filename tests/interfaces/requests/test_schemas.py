"""Request bodies: errors in them are reported in plain words."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from pnyx.errors import UsageError
from pnyx.interfaces.requests.schemas import RunBody


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"models": ["m:x"] * 101}, "models must have at most 100 entries, not 101"),
        ({"responses": ["yes"] * 101}, "responses must have at most 100 entries, not 101"),
        ({"roles": {str(n): "critic" for n in range(101)}}, "roles must have at most 100 entries"),
        ({"options": {str(n): 1 for n in range(101)}}, "options must have at most 100 entries"),
        ({"budget_usd": 1e10}, "budget_usd must be at most 1000000000, not 10000000000.0"),
        ({"options": {"x": inf}}, "options.x must be a finite number, not inf"),
        ({"options": {"x": [1, -inf]}}, "options.x must be a finite number, not -inf"),
        ({"responses": [{"answer": nan}]}, "responses.0 must be a finite number, not nan"),
        ({"options": {"x": {}, "y": inf}}, "options.x must be text, not an object"),
    ],
)
def test_an_exceeded_limit_is_reported_with_the_limit(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        RunBody.parse({"question": "Why?", **fields})
    assert str(caught.value) == message
