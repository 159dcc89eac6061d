"""How many tokens a text has at most, by its scripts and the model that reads it."""

from __future__ import annotations

import tomllib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.context import token_bounds
from pnyx.core.context.token_bounds import PIECE, most_tokens, other_letters, script_counts, scripts
from tests.support.rows import rows

COUNTED = tomllib.loads(Path(__file__).with_name("token_counts.toml").read_text("utf-8"))
MODELS = (
    *("openai/gpt-4o", "gemini-2.5-pro", "deepseek-chat", "qwen3-32b"),
    *("meta-llama/Llama-3.3-70B-Instruct", "ministral-8b-latest", "house-model"),
)
"""A model with each encoding of the table of counts, and one whose encoding nobody knows."""


@rows("language", COUNTED)
def test_the_bound_holds_for_each_encoding_and_is_close_for_known_ones(language: str) -> None:
    text = COUNTED[language]["text"]
    for model, tokens in zip(MODELS, COUNTED[language]["tokens"], strict=True):
        bound = most_tokens(text, model)
        assert bound >= tokens, model
        assert bound <= 4 * tokens + 8, model


@rows(
    "model, known",
    [
        *[(name, True) for name in ("gpt-5-mini", "o3", "o4-mini", "gpt-oss:20b", "models/gemini-2.5-flash")],
        *[(name, True) for name in ("gemma3:12b", "deepseek-reasoner", "Qwen/Qwen2.5-72B-Instruct")],
        *[(name, True) for name in ("open-mistral-nemo", "mistralai/Mistral-Small-24B-Instruct-2501")],
        *[(name, False) for name in ("mistral-large-2411", "mistral-small-2402", "pixtral-large-2411")],
        *[(name, False) for name in ("gpt-4", "gpt-3.5-turbo", "deepseek-r1-distill-llama-70b", "qwen3.5")],
        *[(name, False) for name in ("claude-sonnet-4-5", "mistral-large", "my-gpt-4o-clone", "solo1")],
    ],
)
def test_an_encoding_is_known_by_the_name_of_the_model(model: str, known: bool) -> None:
    text = COUNTED["Russian"]["text"]
    assert (most_tokens(text, model) < most_tokens(text)) is known


@pytest.mark.parametrize(
    ("words", "script", "letter"),
    [("четыре сервиса ", "Slavic", "ө"), ("أربع خدمات ", "Arabic", "ک"), ("أربع خدمات ", "Arabic", "\u064e")],
)
def test_few_letters_of_other_languages_make_a_text_one_of_these(
    words: str, script: str, letter: str
) -> None:
    text = words * 80
    assert most_tokens(text + letter * 9, MODELS[0]) > 1.2 * most_tokens(text, MODELS[0])
    assert script_counts((text + letter).encode())[script] == sum(map(str.isalpha, text))


@given(st.text(max_size=200), st.sampled_from(MODELS))
def test_each_character_counts_once_and_never_for_more_than_its_bytes(text: str, model: str) -> None:
    data = text.encode()
    assert sum(script_counts(data).values()) <= len(text)
    assert most_tokens(text, model) <= most_tokens(text) <= len(data) + 8


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "pyproject.toml", "web/package.json"])
def test_english_and_code_have_no_letters_of_other_languages(name: str) -> None:
    text = (Path(__file__).parents[3] / name).read_text("utf-8")
    assert other_letters(text.encode()) <= 0.01 * len(text)


@pytest.mark.parametrize("language", ["Swahili", "Zulu", "Somali", "Welsh"])
def test_a_text_has_the_tokens_of_its_parts_whatever_stands_before_it(language: str) -> None:
    other = (COUNTED[language]["text"] + " ") * 40
    english = "The question is what they will do with all that they have. " * (4 * PIECE // 59)
    assert other_letters(english.encode()) == 0
    for model in MODELS:
        whole = most_tokens(english + other, model)
        alone = most_tokens(english, model) + most_tokens(other, model)
        assert abs(whole - alone) <= PIECE / 2, model  # the piece where both meet is in one of them


def test_no_two_scripts_have_the_same_first_bytes() -> None:
    firsts = [first for firsts in scripts().values() for first in firsts]
    assert len(set(firsts)) == len(firsts)


LETTERS = [
    char
    for char in map(chr, range(0x300, 0x10000))
    if unicodedata.category(char)[0] in "LM" and not unicodedata.name(char).startswith(("LATIN", "MODIFIER"))
]


def test_every_letter_that_is_not_latin_has_a_script() -> None:
    without = [char for char in LETTERS if sum(script_counts(char.encode()).values()) != 1]
    # Single letters among symbols, such as that for ohm, and marks as on Latin letters.
    assert len(without) <= 0.01 * len(LETTERS)
    assert {char.encode()[:1] for char in without} <= {b"\xe2"}


@rows(
    "text",
    [
        *(
            "ଓଡ଼ିଆ ଭାଷା",
            "ދިވެހިބަސް",
            "ߒߞߏ ߞߊ߲",
            "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
            "ꆈꌠꁱꂷ",
            "ᠮᠣᠩᠭᠣᠯ",
            "ⵜⴰⵎⴰⵣⵉⵖⵜ",
            "ᐃᓄᒃᑎᑐᑦ",
            "ܠܫܢܐ ܣܘܪܝܝܐ",
        ),
        *("😀🫠🦭", "𠀀𠀁𠀂", "𝒜𝒷𝒸", "\ufe8d\ufedf\ufecc", "한국어"),
    ],
)
def test_what_no_encoding_is_measured_for_may_have_a_token_for_each_byte(text: str) -> None:
    text = unicodedata.normalize("NFD", text)
    assert most_tokens(text, "gpt-5") >= len(text.encode())


@given(st.text("жд фю it, .\nA0{}", max_size=3000), st.text("жд фю it, .\nA0{}", max_size=3000))
def test_a_part_of_a_text_is_bounded_as_it_is_alone(before: str, text: str) -> None:
    before = before.ljust(-(-len(before.encode()) // PIECE) * PIECE - len(before.encode()) + len(before))
    for model in MODELS:
        part = most_tokens(before + text, model, len(before))
        alone = most_tokens(text, model)
        assert alone <= part + 1, model
        assert part <= alone + 2, model  # for the change of case or the digit where both meet


@given(st.lists(st.sampled_from(("the", "The", "nie", "czy", "xyz", "of")), max_size=200), st.integers(0, 40))
def test_a_language_is_known_by_the_share_of_all_words(words: list[str], others: int) -> None:
    piece = " ".join([*["qqq"] * others * 5, *words]).encode()
    known = sum(word in token_bounds._words() for word in piece.lower().split())
    assert token_bounds._is_rare(piece) == (known < token_bounds.KNOWN * len(piece.split()))
