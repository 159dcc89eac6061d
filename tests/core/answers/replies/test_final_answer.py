"""`pnyx.final_answer`: envelopes, sentences in other languages, relations, literals, and any text at all."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pnyx
from pnyx.core.answers.replies.extract import final_answer
from pnyx.core.answers.words import table
from pnyx.core.prose.language import is_english, language_of
from tests.support.properties import examples
from tests.support.rows import rows

ENVELOPES = {
    "GSM8K": ("3 + 4 = 7\n#### 7", "7"),
    "tag": ("Well.\n<answer>7</answer>", "7"),
    "tag over lines": ("<final_answer>\n  7\n</final_answer>", "7"),
    "last tag": ("<answer>5</answer> no, <answer>7</answer>", "7"),
    "object": ('{"reasoning": "3 + 4", "answer": 7}', "7"),
    "object, text": ('{"answer": "$7"}', "$7"),
    "object in a fence": ('```json\n{"reasoning": "x", "answer": "7"}\n```', "7"),
    "object, final answer first": ('{"final_answer": 7, "answer": 5}', "7"),
    "object inside": ('{"output": {"answer": {"answer": 7}}}', "7"),
    "last object": ('First {"answer": 5}, then {"answer": 7}.', "7"),
    "object, digits as written": ('{"answer": 7.10}', "7.10"),
    "object, list": ('{"answer": [1, 2]}', "[1, 2]"),
    "object, truth": ('{"answer": true}', "true"),
    "object, null": ('{"answer": null}', None),
    "object, sentence": ('{"answer": "So the total is 3 + 4 and the answer is 7."}', "7"),
    "object, other language": ('{"überlegung": "3 + 4", "antwort": "7"}', "7"),
    "object, Chinese": ('{"推理": "3 + 4", "答案": "7"}', "7"),
    "object before a label": ('{"answer": 5}\n\nFinal answer: 7', "7"),
    "boxed": ("It follows that $\\boxed{7}$.", "7"),
    "boxed, above": ("$\\boxed{7}$\n\nOne.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.", "7"),
    "boxed, braces": ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
    "fbox": ("\\fbox{7}", "7"),
    "boxed without braces": ("$\\boxed 7$", "7"),
    "harmony": (
        "<|channel|>analysis<|message|>5?<|end|><|start|>assistant<|channel|>final<|message|>7<|return|>",
        "7",
    ),
    "brackets": ("[[7]]", "7"),
    "brackets, verdict": ("Both are good, but the first is better.\n[[B]]", "B"),
    "option": ("The answer is (B)", "(B)"),
    "GSM8K, no space": ("3 + 4 = 7\n####7", "7"),
    "assertion": ("assert f([1, 2]) == [2, 1]", "[2, 1]"),
    "literal alone": ("[1, 2, 3]", "[1, 2, 3]"),
    "bold in a sentence": ("**Final answer**\n\nThe train arrives at **14:30**.", "14:30"),
    "corrected": ("Answer: B\nCorrection: C", "C"),
    "value first": ("**42**\n\nSix rows of seven.\nNo row is cut off.", "42"),
    "cannot": ("Final answer: I cannot answer this.", None),
    "bound": ("The answer is at least 3.", "at least 3"),
    "spaced quotation marks": ("A a écrit : « Réponse finale : 9 ». Non.\nRéponse finale : 7", "7"),
    "no": ("A lei não exige isso.\nResposta: Não", "Não"),
    "thinking": ("<think>Final answer: 5</think>Final answer: 7", "7"),
}


@rows("text, answer", ENVELOPES.values(), ids=ENVELOPES)
def test_an_answer_is_read_from_its_envelope(text: str, answer: str | None) -> None:
    assert pnyx.final_answer(text) == answer


SENTENCES = {
    "de": ("Zusammen sind das 3 + 4. Die Antwort ist 7.", "7"),
    "de, inverted": ("Daher ist die Antwort 7.", "7"),
    "de, denied": ("Die Antwort ist nicht 5, sondern 7.", "7"),
    "de, only denied": ("Die Antwort ist nicht 5.", None),
    "de, name": ("Die Antwort lautet Köln.", "Köln"),
    "de, remark": ("Die Antwort ist 7 (sieben).", "7"),
    "de, option": ("Die richtige Antwort ist die Option B.", "B"),
    "es": ("Por lo tanto, la respuesta correcta es 7.", "7"),
    "es, denied": ("La respuesta no es 5, sino 7.", "7"),
    "fr": ("Donc, la réponse est 7.", "7"),
    "fr, denied": ("La réponse n'est pas 5 mais 7.", "7"),
    "fr, option": ("La bonne réponse est la réponse B.", "B"),
    "pt": ("Portanto, a resposta é 3,5.", "3,5"),
    "it": ("Quindi la risposta è Parigi.", "Parigi"),
    "nl": ("Dus het antwoord is 7.", "7"),
    "pl": ("Zatem odpowiedź to 7.", "7"),
    "ru": ("Таким образом, ответ: 7.", "7"),
    "ru, denied": ("Ответ не 5, а 7.", "7"),
    "uk": ("Отже, відповідь — 7.", "7"),
    "tr": ("Bu nedenle cevap 7'dir.", "7"),
    "tr, denied": ("Cevap 5 değil 7.", "7"),
    "id": ("Jadi, jawabannya adalah 7.", "7"),
    "vi": ("Vậy đáp án là 7.", "7"),
    "sw": ("Kwa hiyo jibu ni 7.", "7"),
    "zh": ("因此，最终答案是7。", "7"),
    "zh, denied": ("因此，答案不是5，而是7。", "7"),
    "zh, option": ("综上所述，故选B。", "B"),
    "ja": ("したがって、答えは7です。", "7"),
    "ja, denied": ("答えは5ではなく7です。", "7"),
    "ja, option": ("正解は選択肢Bです。", "B"),
    "ko": ("따라서 정답은 7입니다.", "7"),
    "ko, denied": ("답은 5가 아니라 7입니다.", "7"),
    "hi": ("इसलिए, उत्तर 7 है।", "7"),
    "bn": ("সুতরাং, উত্তর হল 7।", "7"),
    "ar": ("إذن، الإجابة هي 7.", "7"),
    "ar, denied": ("الجواب ليس 5 بل 7.", "7"),
    "fa": ("بنابراین پاسخ نهایی 7 است.", "7"),
    "ur": ("لہذا جواب 7 ہے۔", "7"),
    "th": ("ดังนั้น คำตอบคือ 7", "7"),
    "no label": ("Das sind zusammen mehr als vorher.\n\n7", "7"),
    "a word": ("パリ", "パリ"),
    "a question": ("Ist die Antwort 7?", None),
}


@rows("text, answer", SENTENCES.values(), ids=SENTENCES)
def test_an_answer_is_read_from_a_sentence_in_its_language(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


WHOLE = (
    *("timeout >= 30", "x <= 30", "x != 0", "x == 0", "x ≈ 0.5", "A → B", "x = 5", "--workers=4"),
    *("2x+3y=12", "n < 10", "a = b = 3", "'001'", '"Paris"', "`__init__`", "`007`", "`True`", "b'01'"),
    *("5!", "3!", "1.10", "~/x"),
)


@rows("value", WHOLE)
@rows("form", ["Final answer: {}", "So the answer is {}", "{}", "**Final answer:** {}", "最终答案：{}"])
def test_relations_and_literals_stay_whole(form: str, value: str) -> None:
    assert final_answer(form.format(value)) == value or form == "{}"


@rows(
    "value, answer",
    [
        ("6 * 7 = 42", "42"),
        ("9 eggs × $2 = $18", "$18"),
        ("40 + 10 + 7 = 50 + 7 = 57", "57"),
        ("total cost = 57", "57"),
        ("`42`", "42"),
        ("`B`", "B"),
    ],
)
def test_the_result_of_a_sum_and_of_a_description_is_its_value(value: str, answer: str) -> None:
    assert final_answer(f"Final answer: {value}") == answer


@rows(
    "text, answer",
    [
        ("She sells each egg for $2, so she makes 9 * 2 = $18 every day.", "$18 every day"),
        ("The profit is the value minus the investment: $200,000 - $130,000 = $70,000.", "$70,000"),
        ("The total is 4 (Cindy) + 6 (Marcia) + 18 (Jan) = 28.", "28"),
        ("Add them all.\n5. 100 - (60 + 10) = 30 eggs", "30 eggs"),
        ("So: 600 - (198 + 209) = 600 - 407 = 193", "193"),
        ("The weight of the bag is 1000g + 1600g = 2600g.", "2600g"),
        ("Candidate C received 100 - 50 = 50 votes.", "50 votes"),
        ("Solving for B, we divide both sides by 9, which gives us B = 10 inches.", "B = 10 inches"),
        ("Multiply both sides by 3/2: x = 18", "x = 18"),
        ("We also know that 2x + 3y = 12.", None),
        ("So it holds that timeout >= 30.", None),
    ],
)
def test_a_calculation_at_the_end_gives_its_result_and_an_equation_stays_one(
    text: str, answer: str | None
) -> None:
    assert final_answer(f"Let us see what there is.\n\n{text}") == answer


def test_code_on_lines_of_its_own_stays_as_it_is() -> None:
    assert final_answer("Final answer:\n```python\n__init__\n```") == "`__init__`"


def test_the_language_of_the_question_decides_for_a_text_that_tells_none() -> None:
    assert is_english("42", "How many are there?")
    assert not is_english("42", "Wie viele sind es?")
    assert not is_english("42")


LANGUAGES = {
    "en": "It is the only one that we have, so the rest follows.",
    "de": "Das ist der einzige Wert, den wir haben.",
    "fr": "C'est la seule valeur que nous avons.",
    "es": "Es el único valor que tenemos para esto.",
    "pt": "Este é o único valor que nós temos, então não há outro.",
    "it": "Questo è il solo valore che abbiamo.",
    "nl": "Dit is de enige waarde die we hebben.",
    "id": "Ini adalah satu nilai yang kita punya.",
    "sw": "Hii ni thamani ya pekee kwa sasa.",
    "vi": "Đây là giá trị của chúng ta.",
    "pl": "To jest wartość, która się liczy w tym zadaniu.",
    "tr": "Bu, bizim için çok önemli bir değer.",
    "ru": "Это единственное значение, которое у нас есть.",
    "uk": "Це єдине значення, яке ми маємо, і воно є.",
    "ar": "هذه هي القيمة التي لدينا من قبل.",
    "fa": "این تنها مقداری است که از آن داریم.",
    "ur": "یہ اس کی قیمت ہے جو ہم نے لی۔",
    "hi": "यह एक मान है जो हम ने लिया है।",
    "mr": "हे एक मूल्य आहे आणि ते बरोबर आहे.",
    "zh": "这是我们唯一的值。",
    "ja": "これが唯一の値です。",
    "ko": "이것이 유일한 값입니다.",
    "ta": "இது ஒரு மதிப்பு.",
    "th": "นี่คือค่าเดียวที่เรามี",
}


@rows("code, text", LANGUAGES.items())
def test_the_language_of_a_text_is_known_by_its_script_and_words(code: str, text: str) -> None:
    assert language_of(text) == code
    assert is_english(text) == (code == "en")


PIECES = [
    *("7", "5", "B", "(B)", "(", ")", "[", "]", "[[", "]]", "{", "}", '{"answer":', ":", "=", "|", "-", "→"),
    *(">=", "<=", "!=", "!", "?", ".", ",", "\u3002", "\uff0c", "\uff1a", "「", "」", "【", "】", "`", "```"),
    *("**", "_", "#", "####", ">", "\n", "$"),
    *[
        "\n",
        " ",
        "\u200f",
        "\u200b",
        "\ud800",
        "İ",
        "ﬁ",
        "\u0345",
        "<answer>",
        "</answer>",
        "\\boxed{",
        "\\fbox",
    ],
    *[
        "not",
        "but",
        "nicht",
        "sondern",
        "不是",
        "而是",
        "ではなく",
        "The answer is",
        "<think>",
        "</think>",
        "Paris",
    ],
    *[
        word
        for words in table("answers").values()
        for key in ("final", "answer", "is", "ends")
        for word in words[key][:2]
    ],
]
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))


def squeezed(text: str) -> str:
    """Letters, digits and signs of `text`, as they read without markup, invisible marks and accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(
        c
        for c in plain
        if not c.isspace()
        and unicodedata.category(c) not in ("Pi", "Pf", "Ps", "Pe", "Cf", "Mn")
        and c not in "`*_\"'\\$-\u2010\u2013\u2014"
    )


@examples(120)
@given(TEXTS, st.sampled_from([None, "Wie viele?", "How many are there?"]))
def test_any_text_has_an_answer_that_stands_in_it_or_none(text: str, question: str | None) -> None:
    found = final_answer(text, question)
    if found is not None:
        assert found.strip()
        assert squeezed(found) in squeezed(text)


@given(TEXTS)
def test_an_option_is_given_by_its_letter_or_stands_in_the_text(text: str) -> None:
    found = final_answer(text, choices=("7", "5", "Paris"))
    assert found in (None, "A", "B", "C") or squeezed(found or "") in squeezed(text)


HOSTILE = [
    "a\n",
    "- ",
    "{",
    "[[",
    "<answer>",
    "</answer>\n",
    "\\boxed{",
    "Final answer: ",
    "Answer: x\n",
    "** ",
    "`",
    "``` \n",
]
HOSTILE += [
    "答案",
    "答え は ",
    "「",
    "The answer is not 5 but ",
    '"a" : ',
    "> a\n",
    "1 + 1 = ",
    "die Antwort ist ",
    "=1+",
    "(",
]


@rows("piece", HOSTILE)
def test_a_long_text_takes_no_longer_than_a_short_one_by_much(piece: str) -> None:
    def seconds(text: str) -> float:
        start = time.process_time()
        final_answer(text)
        return time.process_time() - start

    final_answer("Final answer: 7")
    assert seconds((piece * 200_000)[:200_000]) < 1.0


@rows("name", ["__init__", "__get_item__", "__main__"])
@rows("form", ["Final answer: {}", "**Final answer:** {}", "The answer is {}."])
def test_a_name_between_underscores_is_no_bold_text(form: str, name: str) -> None:
    assert final_answer(form.format(name)) == name


@pytest.mark.parametrize(
    ("bold", "read"),
    [("__42__", "42"), ("__Paris__", "Paris"), ("__yes__", "yes"), ("__the end__", "the end")],
)
def test_bold_text_between_underscores_is_read_without_them(bold: str, read: str) -> None:
    assert final_answer(f"Final answer: {bold}") == read


@pytest.mark.parametrize("word", ["はい", "はがき", "橋", "いいえ"])
def test_the_first_letter_of_a_word_behind_a_colon_is_no_verb(word: str) -> None:
    assert final_answer(f"最終的な答え：{word}") == final_answer(f"答え: {word}") == word
