"""Language tags: which are accepted, and in which letter case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.prose.language import language_of, language_tag
from tests.support.rows import rows


@rows(
    "tag",
    [
        *(
            "en",
            "de",
            "gsw",
            "pt-BR",
            "es-419",
            "zh-Hant-TW",
            "zh-cmn-Hans-CN",
            "sl-rozaj-biske",
            "de-CH-1901",
        ),
        *("en-a-bbb-x-a-ccc", "de-DE-u-co-phonebk", "sr-Latn-RS", "hy-Latn-IT-arevela", "ar-x-private"),
    ],
)
def test_a_tag_is_accepted_in_any_letter_case(tag: str) -> None:
    assert language_tag(tag) == language_tag(tag.upper()) == language_tag(tag.lower()) == tag


@rows(
    "text",
    [
        *(
            "",
            "e",
            "german",
            "Deutsch",
            "de-",
            "-de",
            "de--CH",
            "de CH",
            "en-US-US",
            "en.UTF-8",
            "d\u00e9",
            "\u65e5\u672c\u8a9e",
        ),
        *("de\n", "en-" + "-".join(["abcde"] * 20), "a-DE", "de-419-DE", "en-a", "en-x"),
    ],
)
def test_other_text_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="must be a language tag such as en, de or pt-BR, not"):
        language_tag(text)


def test_an_underscore_gets_a_suggestion() -> None:
    with pytest.raises(ValueError, match="did you mean pt-BR"):
        language_tag("pt_br")


@given(st.text(max_size=20) | st.from_regex(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{1,8}){0,4}", fullmatch=True))
def test_a_tag_in_its_usual_letter_case_stays_as_it_is(text: str) -> None:
    try:
        tag = language_tag(text)
    except ValueError:
        return
    assert tag.lower() == text.lower()
    assert language_tag(tag) == tag


@rows(
    "text, language",
    [
        ("Combien ça coûte ?", "fr"),
        ("Wann war das?", "de"),
        ("¿Cuánto cuesta?", "es"),
        ("Quante mele?", "it"),
        ("Onde fica?", "pt"),
        ("Hoeveel?", "nl"),
        ("Ile to kosztuje?", "pl"),
        ("Kolik to stojí?", "cs"),
        ("Kaç kişi var?", "tr"),
        ("Сколько?", "ru"),
        ("Скільки коштує квиток?", "uk"),
        ("Montako?", "fi"),
        ("Hány alma van?", "hu"),
        ("Paris?", ""),
        ("Hvor mange?", ""),  # Danish and Norwegian
        ("Wann war das", ""),  # no question
    ],
)
def test_the_words_of_a_short_question_tell_its_language(text: str, language: str) -> None:
    assert language_of(text) == language
