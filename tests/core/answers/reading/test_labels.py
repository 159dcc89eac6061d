"""Labels of a final answer in every language of the table, in every form in which models write them."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.core.answers.replies.extract import final_answer
from pnyx.core.answers.words import table
from tests.support.rows import rows

ANSWERS: dict[str, dict[str, Any]] = table("answers")
UNSPACED = ("zh", "ja", "ko", "th")
FORMS = {
    "plain": "{label}: 7",
    "no space": "{label}:7",
    "full-width colon": "{label}：7",
    "full-width digit": "{label}：７。",
    "upper case": "{LABEL}: 7",
    "bold label": "**{label}:** 7",
    "bold label, colon outside": "**{label}**: 7",
    "bold all": "**{label}: 7**",
    "bold value": "{label}: **7**",
    "bold, no colon": "**{label}** 7",
    "underscores": "__{label}__: 7",
    "heading": "## {label}: 7",
    "heading, value below": "### {label}\n\n7",
    "value below": "{label}:\n7",
    "bold, value below": "**{label}**\n\n**7**",
    "list item": "- {label}: 7",
    "numbered item": "3. {label}: 7",
    "table row": "| {label} | 7 |",
    "table": "| {label} |\n|---|\n| 7 |",
    "dash": "{label} - 7",
    "em dash": "{label} — 7",
    "arrow": "{label} → 7",
    "equals": "{label} = 7",
    "lenticular brackets": "【{label}】7",
    "brackets and colon": "【{label}】：7",
    "corner brackets": "{label}：「7」",
    "backticks": "{label}: `7`",
    "LaTeX bold": "\\textbf{{{label}:}} 7",
    "dollars": "{label}: $7$",
    "boxed": "{label}: $\\boxed{{7}}$",
    "fbox": "{label}: \\fbox{{7}}",
    "boxed without braces": "{label}: \\boxed 7",
    "remark": "{label} (1): 7",
    "emoji": "✅ {label}: 7",
    "right-to-left mark": "\u200f{label}\u200f: \u200e7\u200e",
    "html": "<b>{label}:</b> 7",
    "carriage return": "{label}: 7\r\n",
}


AMBIGUOUS = ("bold, no colon", "dash", "em dash", "brackets and colon")
"""Forms in which "answer" or "result" is too weak a word to say that a value follows."""


def line(form: str, label: str) -> str:
    return form.format(label=label, LABEL=label.upper())


@pytest.mark.parametrize("code", ANSWERS)
@rows("form", FORMS.values(), ids=[*FORMS])
def test_a_label_of_a_final_answer_is_read_in_every_form(code: str, form: str) -> None:
    for label in ANSWERS[code]["final"]:
        assert final_answer(f"3 + 4, 5 - 1.\n\n{line(form, label)}") == "7", label


@rows("label", ["NİHAİ CEVAP", "Nihai Yanıt", "DOĞRU YANIT", "KESİN CEVAP"])
def test_the_capitals_of_turkish_are_read(label: str) -> None:
    assert final_answer(f"3 + 4\n\n{label}: 7") == "7"


@rows("code", ANSWERS)
def test_other_labels_of_an_answer_are_read_where_nothing_better_is_there(code: str) -> None:
    for label in ANSWERS[code]["answer"]:
        for name, form in FORMS.items():
            if name not in AMBIGUOUS:
                assert final_answer(f"3 + 4\n\n{line(form, label)}") == "7", (label, name)


@rows("code", ANSWERS)
def test_the_last_label_counts_and_a_quoted_one_does_not(code: str) -> None:
    for label in ANSWERS[code]["final"]:
        assert final_answer(f"{label}: 5\n\n...\n\n{label}: 7\n\n> {label}: 9") == "7", label


@rows("code", ANSWERS)
def test_what_a_verb_says_of_the_label_is_the_answer(code: str) -> None:
    words = ANSWERS[code]
    gap = "" if code in UNSPACED else " "
    for label in words["final"]:
        for verb in words["is"]:
            for end in ("", *words["ends"]):
                assert final_answer(f"{label}{gap}{verb}{gap}7{end}") == "7", (label, verb, end)


@rows("code", ANSWERS)
def test_the_value_after_a_denied_one_is_the_answer(code: str) -> None:
    words = ANSWERS[code]
    gap = "" if code in UNSPACED else " "
    for denies, then in words["not_but"]:
        value = f"{denies}{gap}5, {then}{gap}7" if denies else f"5{then}7"
        for label in words["final"]:
            assert final_answer(f"{label}: {value}") == "7", (label, denies, then)


@rows("code", ANSWERS)
def test_a_word_before_the_label_and_the_word_option_are_no_part_of_the_answer(code: str) -> None:
    words = ANSWERS[code]
    gap = "" if code in UNSPACED else " "
    for lead in words["leads"]:
        assert final_answer(f"{lead}{gap}{words['final'][0]}: 7") == "7", lead
    if code != "en":
        for option in words["option"]:
            assert final_answer(f"{words['final'][0]}: {option} B") == "B", option


@rows("code", ANSWERS)
def test_a_sentence_that_gives_no_answer_has_none(code: str) -> None:
    for sentence in ANSWERS[code]["unknown"]:
        assert final_answer(f"{ANSWERS[code]['final'][0]}: {sentence}") is None, sentence


def test_the_twenty_most_used_languages_and_more_are_in_the_table() -> None:
    most_used = "en zh hi es fr ar bn pt ru ur id de ja sw mr te tr ta vi ko it pl nl fa"
    assert set(most_used.split(" ")) <= set(ANSWERS)
