"""Untrusted text is safe on a terminal, and plain text is unchanged."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pnyx.interfaces.render.terminal import clip, columns, cut, excerpt, flat, safe, wrap

ANYTHING = st.text(st.characters(codec=None), max_size=200)
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(ANYTHING)
def test_no_control_or_unencodable_character_remains(text: str) -> None:
    shown = safe(text)
    assert not HARMFUL.search(shown)
    shown.encode()
    assert safe(shown) == shown


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "M"]), max_size=200))
def test_letters_of_every_script_signs_and_spaces_are_unchanged(text: str) -> None:
    assert safe(text) == text


def test_every_character_is_treated_as_in_a_text_with_others() -> None:
    """A text that needs no change is found by a shortcut, which must know all that do."""
    every = [chr(code) for code in range(0x110000)]
    assert safe("".join(every)) == "".join(map(safe, every))


@pytest.mark.parametrize(
    "attack",
    [
        "\x1b[2J\x1b[H",
        "\x1b]52;c;aGVsbG8=\x07",
        "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
        "\x9b31m",
        "fine\rFORGED",
        "\x08\x08\x08gone",
        "\u202egnp.exe\u202c",
        "\u2066a\u2069",
        "\ud83d",
    ],
)
def test_known_attacks_are_made_harmless(attack: str) -> None:
    assert not HARMFUL.search(safe(attack))


def test_replaced_characters_stay_visible() -> None:
    assert safe("a\x1b[31mb\x00") == "a␛[31mb␀"
    assert safe("a\x7fb\x9bc\u202ed\ud800") == "a␡b\ufffdc\ufffdd\ufffd"


def test_line_breaks_and_tabs_stay_and_other_line_breaks_become_line_feeds() -> None:
    assert safe("a\tb\nc\r\nd\u2028e") == "a\tb\nc\nd\ne"


def test_emoji_that_are_joined_stay_joined() -> None:
    assert safe("👩‍🔬") == "👩‍🔬"


@given(ANYTHING, st.integers(1, 50))
def test_a_clipped_line_is_one_line_of_at_most_that_length(text: str, width: int) -> None:
    line = clip(text, width)
    assert max(len(line), cell_len(line)) <= width
    assert "\n" not in line
    assert "\t" not in line


@given(ANYTHING, st.integers(1, 50), st.integers(1, 400), st.sampled_from(["", " ", "\r\n", "\u200d", "a"]))
def test_a_long_text_is_clipped_as_if_all_of_it_were_read(
    text: str, width: int, times: int, between: str
) -> None:
    long = between.join([text] * times)
    assert clip(long, width) == cut(flat(long), width)


def test_flat_collapses_whitespace() -> None:
    assert flat("  a \n\n b\tc ") == "a b c"


def test_an_excerpt_is_the_start_and_marks_what_it_leaves_out() -> None:
    assert excerpt("one\n\ntwo\n") == "one\ntwo"
    assert excerpt("1\n2\n3\n4\n5\n6\n7") == "1\n2\n3\n4\n5\n6 …"
    long = excerpt("word " * 1000)
    assert long.endswith("word …")
    assert len(long) <= 502


@given(ANYTHING)
def test_an_excerpt_is_safe_and_short(text: str) -> None:
    shown = excerpt(text * 20)
    assert not HARMFUL.search(shown)
    assert len(shown) <= 502
    assert shown.count("\n") <= 5


def test_prose_is_wrapped_between_words_and_lists_are_indented() -> None:
    lines = list(wrap("- one two three four five six\nseven", 16, "  "))
    assert lines == ["  - one two", "    three four", "    five six", "  seven"]


def test_each_character_of_a_long_word_is_measured_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0

    def cells(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return len(text)

    monkeypatch.setattr("pnyx.interfaces.render.terminal._cells", cells)
    word = "x" * 50_000
    assert "".join(wrap(f"a {word}", 20_000)) == f"a{word}"
    assert measured < 10 * len(word)


def test_code_keeps_its_lines() -> None:
    code = "```\nlong line of code that would not fit\n```\n    indented code that would not fit either"
    assert list(wrap(code, 20)) == code.split("\n")


@given(st.text(st.characters(categories=["L", "Zs", "Nd"], include_characters="\n"), max_size=300))
def test_wrapping_loses_only_whitespace(text: str) -> None:
    assert "".join("".join(wrap(text, 30)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("after: self-host now", ["after:", "self-host now"]),
        ("$0.0139 · 4.0 s.", ["$0.0139 ·", "4.0 s."]),
        ("運用の負担が最も大きな、費用です", ["運用の負担が", "最も大きな、", "費用です"]),
        ("x 費用 of https://a.example/b", ["x 費用 of", "https://a.exa", "mple/b"]),
        ("so: pnyx show x", ["so:", "pnyx show x"]),
        ("it · pnyx ask x y", ["it ·", "pnyx ask x y"]),
        ("with: pnyx resume 1bw5zk", ["with: pnyx", "resume 1bw5zk"]),
    ],
)
def test_a_line_ends_where_a_reader_expects_it(text: str, lines: list[str]) -> None:
    assert list(wrap(text, 13)) == lines


@given(
    st.text(st.characters(categories=["L", "Zs", "Nd"]), max_size=100)
    | st.lists(st.sampled_from(["pnyx", "show", "a:", "·", "abcdefgh", "費用"])).map(" ".join),
    st.integers(4, 40),
)
def test_no_line_is_wider_than_the_terminal(text: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in wrap(text.lstrip(), width))


def test_a_character_is_as_wide_as_on_a_terminal() -> None:
    # The ideographs, which are alike, in steps.
    places = (*range(0x20, 0x3400), *range(0x3400, 0xA000, 31), *range(0xA000, 0x20000), 0x20000, 0x2FFFD)
    shown = [char for char in map(chr, places) if char.isprintable() and cell_len(char)]
    assert all(cut(f"é{char}é", cell_len(char) + 2) == f"é{char}é" for char in shown)
    assert all(cut(f"é{char}é", cell_len(char) + 1)[-1] == "…" for char in shown)


def test_columns_are_aligned_also_with_wide_characters() -> None:
    lines = list(columns([("a", "1", "x"), ("漢字", "100", "y")], right=(1,)))
    assert lines == ["a       1  x", "漢字  100  y"]
    assert unicodedata.east_asian_width("漢") == "W"


def test_the_last_column_is_wrapped_and_indented() -> None:
    rows = [("a", "one two three four"), ("bcd", "five")]
    assert list(columns(rows, width=17)) == ["a    one two", "     three four", "bcd  five"]
    assert list(columns(rows, width=16)) == ["a    one two", "    three four", "bcd  five"]
    assert list(columns([("a long name", "one two three")], width=14)) == [
        "a long name",
        "    one two",
        "    three",
    ]


def test_the_least_columns_are_left_out_where_there_is_no_room() -> None:
    rows = [("model", "runs", "cached", "cost"), ("alpha", "12", "0", "$0.10")]
    assert list(columns(rows, right=(1, 2, 3), width=16, least=(2, 1))) == ["model   cost", "alpha  $0.10"]
    assert list(columns(rows, width=18, least=(2, 1))) == ["model  runs  cost", "alpha  12    $0.10"]
    assert list(columns(rows, least=(2, 1)))[1] == "alpha  12    0       $0.10"


def test_a_cell_cannot_leave_its_row() -> None:
    assert list(columns([("a\nb\x1b[A", "c")])) == ["a b␛[A  c"]


def test_no_rows_make_no_lines() -> None:
    assert list(columns([])) == []
