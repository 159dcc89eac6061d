"""What followers see of a reply while it arrives is its answer in the end."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.markup.reasoning import split
from pnyx.providers.redaction import Redactor
from pnyx.run.calls.live_text import LiveText

SECRET = "sk-0123456789abcdef"
PARTS = st.sampled_from(
    ("Let me see. ", "It is 4.", "\n", "<think>", "</think>", "</thinking>", "[/THINK]", SECRET, SECRET[:9])
)


def watched(pieces: list[str]) -> tuple[str, int]:
    """The text that is shown at the end, and how often it started again."""
    shown, restarts = "", 0

    def publish(text: str, restart: bool) -> None:
        nonlocal shown, restarts
        shown, restarts = text if restart else shown + text, restarts + restart

    live = LiveText(Redactor([SECRET]), publish)
    for piece in pieces:
        live.add(piece)
    live.end()
    return shown, restarts


def test_thoughts_that_were_shown_are_replaced_by_the_answer() -> None:
    text = f"Let me see, {SECRET[:9]}\n</think>\n\nIt is 4, and this is sure."
    assert watched(list(text)) == ("It is 4, and this is sure.", 1)
    assert watched([text]) == ("It is 4, and this is sure.", 1)


def test_a_reply_with_both_tags_never_starts_again() -> None:
    assert watched(list("<think>Let me see.</think>It is 4.")) == ("It is 4.", 0)


def test_the_rest_of_a_thought_behind_a_block_inside_of_it_is_never_shown() -> None:
    pieces: list[str] = []
    live = LiveText(Redactor([SECRET]), lambda text, restart: pieces.append(text))
    for piece in "<think>Is it <think>three</think> or four?</think>\n\nIt is 4.":
        live.add(piece)
    live.end()
    assert "".join(pieces).strip() == "It is 4."


@given(st.lists(PARTS, max_size=9).map("".join), st.lists(st.integers(0, 80), max_size=6))
def test_the_shown_text_is_the_answer_wherever_the_pieces_end(text: str, ends: list[int]) -> None:
    places = sorted({0, len(text), *(end for end in ends if end < len(text))})
    shown, _ = watched([text[a:b] for a, b in itertools.pairwise(places)])
    answer = split(text).answer.replace(SECRET, "[redacted]")
    assert shown.strip() == answer.strip()
