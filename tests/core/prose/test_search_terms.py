"""Words for full-text search, folded in the same way in the index and in the query."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.prose.search_terms import MAX_CHARS, WIDTH, fold_words, query_terms, snippet
from pnyx.errors import UsageError
from tests.support.rows import rows


@rows(
    "text, words",
    [
        ("The COST", "the cost"),
        ("café cafe\u0301 ÇA", "cafe cafe ca"),
        ("STRASSE straße", "strasse strasse"),
        ("İstanbul", "istanbul"),
        ("ｃｏｓｔ ﬁne x²", "cost fine x2"),
        ("self-host, don\u2019t foo_bar", "self host don t foo bar"),
        ("ёлка Ёлка", "елка елка"),
        ("שָׁלוֹם שלום", "שלום שלום"),
        ("हिन्दी है", "हिन्दी है"),
        ("東京は首都", "東 京 は 首 都"),
        ("が か", "が か"),
        ("서울은", "서 울 은"),
        ("日本GDP", "日 本 gdp"),
        ("🎉 \0 \ud83d \u202e - _ '", ""),
        ("x" * 100, "x" * 60),
    ],
)
def test_words_are_folded_and_separated(text: str, words: str) -> None:
    assert fold_words(text) == words


@rows(
    "text, expected",
    [
        ("postgres backups", ["postgres", "backups"]),
        ('cost "State of the art" model', ["state of the art", "cost", "model"]),
        ("self-host don't a.b@c", ["self host", "don t", "a b c"]),
        ("one,two;three (four)", ["one", "two", "three", "four"]),
        ("東京、大阪", ["東 京", "大 阪"]),
        ("what did we decide about the cost", ["decide", "about", "cost"]),
        ("should we", ["should", "we"]),
        ('"the" who', ["the"]),
        ("cost Cost COST", ["cost"]),
        ('left "open', ["left", "open"]),
        ("run:x OR NOT (y*) & ! <-> NEAR/2 ^z", ["run x", "y", "near 2", "z"]),
    ],
)
def test_a_query_is_words_and_phrases_and_never_syntax(text: str, expected: list[str]) -> None:
    assert query_terms(text) == expected


@rows("text", ["", " ", '""', "🎉", "\0", "?!", '"🎉" _'])
def test_a_query_without_a_word_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="no word"):
        query_terms(text)


def test_no_text_is_too_long() -> None:
    assert len(query_terms(" ".join(f"w{n}" for n in range(5000)))) == 100
    assert len(fold_words("a " * MAX_CHARS).split()) == MAX_CHARS // 2
    hits = range(MAX_CHARS)
    assert sum(hit for _, hit in snippet("a " * MAX_CHARS, hits)) == WIDTH // 2


@given(st.text())
def test_every_word_is_letters_and_digits_of_any_script(text: str) -> None:
    words = fold_words(text)
    assert words == " ".join(words.split())
    assert not set(words) & set("\0\"'<>&|!:*()_-")
    assert fold_words(words) == words
    assert words.encode().decode() == words


def hits_of(text: str, *words: str) -> set[int]:
    return {n for n, word in enumerate(fold_words(text).split()) if word in words}


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_words_are_split_like_all_others(text: str) -> None:
    assert fold_words(f"{text} é").split() == [*fold_words(text).split(), "e"]


@given(st.text(st.characters(max_codepoint=127) | st.characters(min_codepoint=0x2000, max_codepoint=0x206F)))
def test_dashes_and_quotation_marks_are_no_part_of_a_word(text: str) -> None:
    assert fold_words(text).split() == [word[:60].lower() for word in re.findall(r"[^\W_]+", text)]


@given(st.text("aZ9_-. \n", max_size=40), st.text("bQ0 ", max_size=70), st.sets(st.integers(0, 20)))
def test_a_snippet_of_ascii_has_the_hits_of_the_same_text_with_other_letters(
    start: str, end: str, hits: set[int]
) -> None:
    text = start + end
    plain, other = snippet(text, hits), snippet(text + " é", hits - {len(fold_words(text).split())})
    assert [piece for piece, hit in plain if hit] == [piece for piece, hit in other if hit]


def test_a_snippet_is_the_place_with_the_most_hits() -> None:
    text = (
        "The backup came first. "
        + "So it goes. " * 40
        + "A **Backup** of\n\nPostgreSQL. "
        + "And so on. " * 40
    )
    pieces = snippet(text, hits_of(text, "backup", "postgresql"))
    shown = "".join(piece for piece, _ in pieces)
    assert [piece for piece, hit in pieces if hit] == ["Backup", "PostgreSQL"]
    assert "A **Backup** of PostgreSQL. And so on." in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= WIDTH + 4


def test_a_snippet_of_a_short_text_is_the_whole_text_on_one_line() -> None:
    assert snippet(" It is\nso. ", {2}) == (("It is ", False), ("so", True), (".", False))
    assert snippet("So", {0}) == (("So", True),)
    assert snippet("  ", set()) == ()


@given(st.text(), st.sets(st.integers(0, 20)))
def test_a_snippet_is_of_the_text_and_marks_only_hits(text: str, hits: set[int]) -> None:
    words = fold_words(text).split()
    marked = [fold_words(piece) for piece, hit in snippet(text, hits) if hit]
    assert marked == [word for n, word in enumerate(words) if n in hits][: len(marked)] or hits
    assert set(marked) <= {words[n] for n in hits if n < len(words)}
    shown = "".join(piece for piece, _ in snippet(text, hits)).removeprefix("… ").removesuffix(" …")
    assert shown.strip() in " ".join(text.split())
