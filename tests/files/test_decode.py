"""Texts in every encoding that can be recognised; what is no text is refused."""

# ruff: noqa: RUF001 (texts in other alphabets)
from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import UsageError
from pnyx.files.decode import BINARY_STARTS, decode, is_binary

TEXTS = {
    "en": "The price is 5 euros, and that's final.",
    "de": "Der Fußgänger läuft über die Straße: schön!",
    "es": "¿Qué comió el niño? Una manzana, ¡sí!",
    "fr": "Le café coûte 3 €, n\N{RIGHT SINGLE QUOTATION MARK}est-ce pas\N{HORIZONTAL ELLIPSIS}",
    "pl": "Zażółć gęślą jaźń; łódź płynie do portu w Łodzi.",
    "ru": "Сегодня мы обсуждаем план работ на следующую неделю. Каждый должен подготовить короткий отчёт.",
    "el": "Καλημέρα σας, αυτό είναι ένα κείμενο για δοκιμή.",
    "ja": "これは文字コードを調べるための日本語の文章です。",
    "zh": "这是一段用来检测编码的中文文本，内容并不重要。",
    "ko": "이것은 문자 인코딩을 확인하기 위한 한국어 문장입니다.",
}
ENCODED = [
    *((language, "utf-8") for language in TEXTS),
    *((language, "utf-8-sig") for language in TEXTS),
    *((language, "utf-16") for language in TEXTS),
    *((language, "utf-32") for language in TEXTS),
    *((language, "cp1252") for language in ("en", "de", "es", "fr")),
    *((language, "utf-16-le") for language in ("en", "de", "es", "fr")),
    *((language, "utf-16-be") for language in ("en", "de", "es")),
    *(("de", "latin-1"), ("pl", "cp1250"), ("ru", "cp1251"), ("ru", "koi8-r"), ("el", "cp1253")),
    *(("ja", "shift_jis"), ("ja", "euc_jp"), ("zh", "gb18030"), ("zh", "big5"), ("ko", "euc_kr")),
]


@pytest.mark.parametrize(("language", "encoding"), ENCODED)
def test_a_text_is_read_in_the_encoding_that_it_has(language: str, encoding: str) -> None:
    text = TEXTS[language] if encoding != "big5" else "這是一段用來檢測編碼的中文文本，內容並不重要。"
    read, _ = decode(text.encode(encoding), "note.txt")
    assert read == text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_every_text_in_utf_8_is_read_exactly(text: str) -> None:
    assert decode(text.encode(), "note.txt") == (text.removeprefix("\ufeff"), "")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), min_size=1))
def test_every_text_with_a_byte_order_mark_is_read_exactly(text: str) -> None:
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert decode(text.encode(encoding), "note.txt")[0] == text
    marked = codecs.BOM_UTF16_BE + text.encode("utf-16-be")
    assert decode(marked, "note.txt") == (text, "utf-16")


def test_lines_end_with_lf_whatever_they_ended_with() -> None:
    assert decode(b"a\r\nb\rc\n", "note.txt")[0] == "a\nb\nc\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\0\1" * 50,
        b"\1\0" * 50,
        b"\0\1\2\3" * 100,
        b"\x7fELF\2\1\1" + b"\0" * 50,
        bytes(range(256)) * 4,
        b"ok\0" + b"x" * 99,
    ],
    ids=["pairs", "pairs-le", "zeros", "program", "bytes", "nul"],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    assert is_binary(data)
    with pytest.raises(UsageError, match=r"tool\.bin is not text"):
        decode(data, "tool.bin")


@pytest.mark.parametrize(
    "start", BINARY_STARTS, ids=lambda start: start.decode("latin-1").encode("unicode_escape")
)
@pytest.mark.parametrize("rest", [b"", b"x", b" and then a hundred words of text." * 20])
def test_no_text_starts_as_binary_files_do_however_short_it_is(start: bytes, rest: bytes) -> None:
    assert is_binary(start + rest)
    with pytest.raises(
        UsageError, match=r"picture\.png is not text, and of no kind that can be read, or damaged"
    ):
        decode(start + rest, "picture.png")


def test_a_mark_before_something_else_is_refused() -> None:
    with pytest.raises(UsageError, match="begins like a text in utf-8, and is none"):
        decode(codecs.BOM_UTF8 + b"\xff\xfe\xfa", "note.txt")
