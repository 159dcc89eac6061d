"""Most answers are read in a faster way, with the result of the full one."""

from __future__ import annotations

import re
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.answers.language import folding, sentences
from pnyx.core.answers.maths import lexer, read_maths, rewrites, statements
from pnyx.core.answers.maths import notation as maths_notation
from pnyx.core.answers.replies import conclusions
from pnyx.core.answers.replies.extract import final_answer
from pnyx.core.markup import notation

VALUES = (
    "nine", "hundred", "and five", "half a", "a dozen", "twenty-one", "3", "12.5", "1,000", "0x1F",
    "5x4", "the 5th of", "March", "Monday", "2024", "at 9", "9:05", "pm", "noon", "May", "the year",
    "metres", "per", "second", "m", "kg", "degrees", "pi", "US dollars", "square", "percent", "units",
    "x", "xy", "sin", "mod", "in", "or", "and", "where", "for", "all", "integers", "real numbers",
    "alpha", "yes", "No", "true", "that is right", "none of the above", "B", "(A)", "A, C", "option",
    "not", "O(n)",
)  # fmt: skip
WORDS = (
    "is", "are", "that", "which", "this", "because", "would", "you", "its", "the pump", "holds", "of",
    "cases", "an answer", "it", "so", "twice", "about",
)  # fmt: skip
SIGNS = (
    "=", " = ", "\\in ", "≡", "<", "+", "-", " - ", ":", ", ", "; ", ". ", "'", "\"", "(", ")", "**",
    "_", "∞", "&", "x^2", "{", "}", "\\{0}", "\\mathbb{R}", "U", "log2(8)", "$", "~",
    "<1,2>", "_2C_3", "reals", "no solution",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from((*VALUES, *WORDS, *SIGNS)), max_size=16).flatmap(
    lambda parts: st.sampled_from([" ".join(parts), "".join(parts)])
)


@given(TEXTS)
def test_words_beside_each_other_are_no_mathematics_without_a_sign_for_names(text: str) -> None:
    full = lexer.tokens
    with mock.patch.object(statements, "tokens", lambda text: full(text, is_name=True)):
        whole = read_maths.__wrapped__(text)
    assert read_maths.__wrapped__(text) == whole


@given(TEXTS)
def test_mathematics_is_rewritten_as_by_all_patterns(text: str) -> None:
    forms = tuple(("", form, new) for _, form, new in rewrites._FORMS)
    found, cleaned = rewrites.rewritten(text), maths_notation.cleaned(text)
    with (
        mock.patch.object(rewrites, "_FORMS", forms),
        mock.patch.object(maths_notation, "_HAS_MARKS", re.compile("")),
    ):
        assert (rewrites.rewritten(text), maths_notation.cleaned(text)) == (found, cleaned)


@given(TEXTS)
def test_words_are_folded_as_all_patterns_fold_them(text: str) -> None:
    words = folding._INITIALS.sub(folding._joined_initials, text.casefold())
    for _, pattern, new in folding._REWRITES:
        words = pattern.sub(new, words)
    if not folding._ARTICLE.match(text) and not folding._FORMULA.fullmatch(text):
        assert folding.fold_words(text) == (words.strip() or text)


@given(TEXTS)
def test_a_text_without_marks_is_plain(text: str) -> None:
    found, stripped = notation.plain(text), folding.strip_edges(text)
    with mock.patch.object(notation, "_MARKS_IN_ASCII", frozenset(map(chr, range(128)))):
        assert not text or notation.plain(text) == found
        edges = text
        while True:
            before, edges = edges, notation.plain(edges)
            if wrapped := folding._WRAPPED.fullmatch(edges):
                edges = next(filter(None, wrapped.groups()), edges)
            edges = folding._EDGES.sub("", edges) or edges
            if edges == before:
                break
    assert stripped == edges


def test_the_end_of_a_prose_reply_is_no_value_that_is_parsed() -> None:
    reply = "The old pump holds for two of the cases. " * 8
    for end in (
        "The evidence is what decides the matter here.",
        "Nothing in it is new to any of the readers.",
    ):
        with mock.patch.object(conclusions, "value_of", side_effect=AssertionError):
            assert final_answer(reply + end, "Should we?") is None


STOPS = (".", "!", "?", "A.", " e.g.", "\n", " ", "\u00a0", "So", "Thus", "thus", "(The", '"$A', "1.", "it")


@given(st.lists(st.sampled_from(STOPS), max_size=20).map("".join) | TEXTS)
def test_sentences_end_at_the_same_blanks_as_by_a_pattern_that_is_tried_everywhere(text: str) -> None:
    opens = r"(?<!\b[A-Z]\.)\s+(?=[\"(*_$\\]*[A-Z])|\s+(?=(?:Therefore|Thus|Hence|So)\b)"
    assert conclusions._SENTENCES.split(text) == re.split(rf"(?<=[.!?])(?:{opens})", text)


def test_a_sentence_with_words_of_its_own_is_not_read_to_its_end() -> None:
    with mock.patch.object(sentences, "_opposite", wraps=sentences._opposite) as opposite:
        assert (
            sentences._affirmed("The old claim holds for two of the cases that we know of", "Should we?")
            is None
        )
    assert opposite.call_count == 2
