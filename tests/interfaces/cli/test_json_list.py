"""A list written piece by piece is the list written at once."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pnyx.interfaces.cli.terminal.json_list import JsonList
from pnyx.interfaces.cli.terminal.output import Stream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.lists(VALUES, max_size=3), max_size=4))
def test_the_pieces_are_the_whole(pages: list[list[Any]]) -> None:
    file = io.StringIO()
    printed = JsonList(Stream(file))
    for page in pages:
        printed.add(page)
    printed.end()
    assert file.getvalue() == json.dumps([one for page in pages for one in page], indent=2) + "\n"
