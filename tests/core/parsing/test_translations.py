"""Votes and verdicts in other languages: every word of the table, in every form in which judges write it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.answers.words import table
from pnyx.core.caching.regex import regex
from pnyx.core.parsing.authorship import own_lines
from pnyx.core.parsing.ballots import read_ballot
from pnyx.core.parsing.positions import read_position
from pnyx.core.parsing.translations import in_english, truth
from pnyx.core.parsing.verdicts import Unreadable, read_approval, read_class, read_pick, read_routing_class
from tests.support.rows import rows

VERDICTS: dict[str, dict[str, list[str]]] = table("verdicts")
LABELS = ("Participant A", "Participant B", "Participant C")
FORMS = {
    "plain": "{word}: {rest}",
    "full-width colon": "{word}：{rest}",
    "space before the colon": "{word} : {rest}",
    "bold label": "**{word}:** {rest}",
    "bold label, colon outside": "**{word}**: {rest}",
    "bold all": "**{word}: {rest}**",
    "bullet": "- {word}: {rest}",
    "number": "2. {word}: {rest}",
    "heading": "## {word}: {rest}",
    "brackets": "【{word}】：{rest}",
    "capitals": "{WORD}: {rest}",
    "below reasons": "1 + 1 = 2.\n\n{word}: {rest}",
}
everywhere = pytest.mark.parametrize("code", VERDICTS)
in_every_form = rows("form", FORMS.values(), ids=[*FORMS])


def written(form: str, word: str, rest: str) -> str:
    return form.format(word=word, WORD=word.upper(), rest=rest)


@everywhere
@in_every_form
def test_a_pick_is_read_in_every_language(code: str, form: str) -> None:
    for word in VERDICTS[code]["BEST"]:
        for noun in (*VERDICTS[code]["participant"], "Participant"):
            for name in (f"{noun}B", f"{noun} B", f"{noun}Ｂ", "B"):
                assert read_pick(written(form, word, name), LABELS) == "Participant B", (word, name)


@everywhere
@in_every_form
def test_an_approval_is_read_in_every_language(code: str, form: str) -> None:
    for kind in ("APPROVE", "REJECT"):
        for word in VERDICTS[code][kind]:
            found = read_approval(written(form, word, "1 + 1 = 2"))
            assert found.approved is (kind == "APPROVE"), word
            assert found.reason.strip("*") == "1 + 1 = 2"


@everywhere
def test_a_word_alone_or_behind_the_label_of_a_verdict_is_read(code: str) -> None:
    for kind in ("APPROVE", "REJECT"):
        for word in VERDICTS[code][kind]:
            for text in (word, f"**{word}**", f"{word}.", f"{word}。", f"`{word}`"):
                assert read_approval(text).approved is (kind == "APPROVE"), text
            for label in VERDICTS[code]["VERDICT"]:
                assert read_approval(f"{label}：{word}").approved is (kind == "APPROVE"), (label, word)
                assert read_approval(f"{label}: {word}, 1 + 1 = 2").approved is (kind == "APPROVE")
                assert read_approval(f"{label}: {word}. 1 + 1 = 2").approved is (kind == "APPROVE")
                assert read_approval(f"{label}: {word} — 1 + 1 = 2").approved is (kind == "APPROVE")
                assert read_approval(f'{{"{label}": "{word}"}}').approved is (kind == "APPROVE")


@everywhere
@in_every_form
def test_a_ballot_is_read_in_every_language(code: str, form: str) -> None:
    for word in VERDICTS[code]["FINALIZE"]:
        for noun in VERDICTS[code]["participant"]:
            vote = read_ballot(written(form, word, f"{noun} B"), LABELS)
            assert (vote.kind, vote.label) == ("finalize", "Participant B"), word
    for kind in ("REVISE", "SPLIT"):
        for word in VERDICTS[code][kind]:
            assert read_ballot(written(form, word, "1 + 1 = 2"), LABELS).kind == kind.lower(), word


@everywhere
def test_the_class_of_a_question_is_read_in_every_language(code: str) -> None:
    for name in ("REASONING", "JUDGMENT", "COMPOUND"):
        for word in VERDICTS[code][name]:
            assert read_class(f"**{word}**") == name.lower(), word
    for name in ("CHECKABLE", "OPEN", "WRITING", "COMPOUND"):
        for word in VERDICTS[code][name]:
            assert read_routing_class(f"**{word}**") == name.lower(), word


@everywhere
def test_the_sections_of_a_position_are_read_in_every_language(code: str) -> None:
    words = VERDICTS[code]
    for steelman, critique, decision in zip(
        words["STEELMAN"], words["CRITIQUE"], words["DECISION"], strict=False
    ):
        found = read_position(f"{steelman}: 1\n\n**{critique}：** 2\n\n## {decision}\n3\n\nFinal answer: 7")
        assert (found.steelman, found.critique, found.answer) == ("1", "2", "7"), (
            steelman,
            critique,
            decision,
        )


@rows("word", ["BEST", "ＢＥＳＴ", "Best", "ｂｅｓｔ"])
@rows("colon", [":", "：", " ：", "**：**"])
@rows("label", ["Participant B", "Ｐａｒｔｉｃｉｐａｎｔ Ｂ", "参加者B", "Ｂ", "参与者 Ｂ"])
def test_an_english_word_is_read_in_full_width_forms(word: str, colon: str, label: str) -> None:
    assert read_pick(f"1 + 1 = 2.\n{word}{colon}{label}", LABELS) == "Participant B"


@everywhere
def test_yes_and_no_are_read_as_truths(code: str) -> None:
    assert {truth(word) for word in VERDICTS[code]["yes"]} <= {True, None}
    assert {truth(word) for word in VERDICTS[code]["no"]} <= {False, None}


READERS: tuple[Callable[[str], Any], ...] = (read_approval, read_class, lambda text: read_pick(text, LABELS))


@rows(
    "text",
    [
        "Ich bin mir nicht sicher, ob ich das genehmigen soll.",
        "Die beste Antwort kommt vielleicht noch.",
        "我不确定是否应该批准这个答案。",
        "承認するかどうか迷っています。",
        "Je ne sais pas s'il faut approuver ou rejeter.",
        "No estoy seguro de si aprobar.",
        "Одобрить или отклонить - трудно сказать.",
        "إذا كان الأفضل موجودا فلا أعرف.",
        "genehmigt: 1\nabgelehnt: 2",
        "Beste Antwort: Teilnehmer Z",
    ],
)
def test_a_verdict_that_cannot_be_read_is_not_guessed(text: str) -> None:
    for reader in READERS:
        with pytest.raises(Unreadable):
            reader(text)


def test_an_approval_that_a_question_takes_back_is_not_read() -> None:
    with pytest.raises(Unreadable):
        read_approval("Urteil: Genehmigt. Oder doch abgelehnt?")
    assert read_approval("Urteil: Genehmigt. Alles stimmt.").approved


WORDS = st.sampled_from([word for row in VERDICTS.values() for words in row.values() for word in words])
LINES = st.one_of(
    WORDS, st.text(max_size=8), st.sampled_from([":", "：", " ", "**", "\n", "A", "B", "1.", "> ", "\r\n"])
)


@given(st.lists(LINES, max_size=12).map("".join))
def test_lines_keep_their_number_and_any_text_is_read_or_refused(text: str) -> None:
    for pattern in (regex("(?i)best|approve|reject"), regex("(?!)")):
        assert len(in_english(text, pattern).splitlines()) == len(text.splitlines())
        assert all(0 <= place < len(text.splitlines()) for place in own_lines(text, pattern))
    for reader in READERS:
        with suppress(Unreadable):
            reader(text)


@everywhere
def test_a_decision_without_a_heading_begins_at_the_final_answer_of_its_language(code: str) -> None:
    label = table("answers")[code]["final"][0]
    found = read_position(f"{VERDICTS[code]['CRITIQUE'][0]}: 1 + 1\n\n3 + 4\n{label}: 7")
    assert (found.critique, found.answer) == ("1 + 1", "7")
