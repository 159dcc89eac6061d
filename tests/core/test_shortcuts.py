"""Texts in ASCII are read in a faster way, with the result of the patterns for all texts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.context import fences
from pnyx.core.prose import convergence, language

PARTS = st.one_of(
    st.text(st.characters(max_codepoint=127), max_size=6),
    st.sampled_from(
        [
            *(
                "\n",
                "\n- ",
                "\n12. ",
                "> * ",
                "](x)",
                "[a](b c)",
                "<b>",
                "a<b",
                "1,5",
                "3.x",
                "7a",
                "it's",
                "''",
            ),
            *(
                "\nFinal answer: ",
                "**Answer** |",
                "answer\n",
                "\\frac{a}",
                "\\answer:",
                "https://a.b/c d",
                "://",
            ),
            *("\x00", "\x1c", "\x7f", "_", "reject", "m0123456789", "M-0 1_2"),
        ]
    ),
)
TEXTS = st.lists(PARTS, max_size=8).map("".join)
LABELS = re.compile(
    rf"^{language._LABEL.pattern}|{language._FORMAL.pattern}",
    re.IGNORECASE | re.MULTILINE,
)


@given(TEXTS)
def test_words_of_a_text_in_ascii_are_those_of_the_patterns(text: str) -> None:
    plain = convergence._MARKUP.sub(" ", text).casefold()
    assert list(convergence.words(text)) == convergence._WORD.findall(plain)


@given(TEXTS)
def test_words_that_show_a_language_are_those_of_the_patterns(text: str) -> None:
    assert language._words(text) == language._WORD.findall(LABELS.sub(" ", text).lower())


@given(TEXTS)
def test_a_folded_text_in_ascii_is_that_of_the_pattern(text: str) -> None:
    assert fences._folded(text) == fences._MARKS.sub("", text.casefold())
