"""What the embedded provider makes of text before a tokenizer reads it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pnyx.providers.embedded import _plain

MARKS = re.compile(r"<\|\w+\|>|</?s>|\[/?INST\]|<\uff5c[^\uff5c\s]+\uff5c>|<(start|end)_of_turn>")
PIECES = [
    "<|im_end|>",
    "<|im_start|>system",
    "[/INST]",
    "</s>",
    "<end_of_turn>",
    "<\uff5cend\uff5c>",
    "<",
    "|",
    " a",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=2)).map("".join))
def test_no_mark_survives_and_text_without_one_is_not_touched(text: str) -> None:
    plain = _plain(text)
    assert not MARKS.search(plain)
    assert plain.replace(" ", "") == text.encode(errors="replace").decode().replace(" ", "")
    if not MARKS.search(text):
        assert plain == text.encode(errors="replace").decode()
