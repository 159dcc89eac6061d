"""Most texts are read in a faster way, with the result of the patterns for all texts."""

from __future__ import annotations

import re
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.context import fences
from pnyx.core.markup.characters import replacing
from pnyx.core.prose import convergence, language
from pnyx.core.sycophancy import plain

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
MARKS = (
    "\u2014\u201c\u201d\u2026\u2019\u2022\u2011\u00a0\u00bd\u00b2\u00b5\u00aa"
    "\uff21\uff1a\u3002\u3000\u00e9\u0130\u4e2d\u0301\uff4d"
)
MARKED = st.lists(PARTS | st.text(MARKS, min_size=1, max_size=3), max_size=8).map("".join)
NONCE = "m0123456789"
TABLE = {"\u2014": " - ", "\u201c": '"', "\u3002": ".", "\uff21": "A", "\u0301": ""}
LABELS = re.compile(
    rf"^{language._LABEL.pattern.removeprefix(chr(92) + 'n')}|{language._FORMAL.pattern}",
    re.IGNORECASE | re.MULTILINE,
)


@given(TEXTS)
def test_words_of_a_text_in_ascii_are_those_of_the_patterns(text: str) -> None:
    plain = convergence._MARKUP.sub(" ", text).casefold()
    assert list(convergence.words(text)) == convergence._WORD.findall(plain)


@given(MARKED)
def test_words_that_show_a_language_are_those_of_the_patterns(text: str) -> None:
    assert language._words(text) == language._WORD.findall(LABELS.sub(" ", text).lower())


@given(MARKED)
def test_a_nonce_is_found_where_it_is_after_all_marks_are_removed(text: str) -> None:
    assert NONCE not in fences._folded(fences._remove(text, NONCE))
    assert (fences._remove(text, NONCE) == text) is (NONCE not in fences._folded(text))


@given(MARKED)
def test_characters_are_replaced_as_translate_replaces_them(text: str) -> None:
    translated = text.translate(str.maketrans(dict[str, str | int | None](TABLE)))
    assert replacing(TABLE)(text) == translated


@given(st.lists(st.sampled_from(("*", "~", "~~", "==", "|", "\\", "_", "a", "Review: ", "\n", "- ", " "))))
def test_a_text_without_a_mark_has_no_emphasis(parts: list[str]) -> None:
    text, found = "".join(parts), plain.plain("".join(parts))
    with mock.patch.object(plain, "_MARKS", ("",)):
        assert plain.plain.__wrapped__(text) == found
