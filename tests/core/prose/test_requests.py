"""What a question asks for, by its words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.answers.words import table
from pnyx.core.prose.requests import request_kind
from tests.support.rows import rows

ASKED = {
    "writing": [
        "Write a thank-you letter to our neighbours.",
        "Can you draft an invitation for Saturday?",
        "Schreib mir ein Gedicht über den ersten Schnee.",
        "Rédige un discours pour la retraite de Paul.",
        "Escribe una carta a los vecinos.",
        "Scrivi una poesia sul treno.",
        "Napisz wiersz o jesieni.",
        "Напиши сказку про старый маяк.",
        "卒業式のスピーチを書いてください。",
        "请写一首关于秋天的诗。",
        "졸업식 축사를 써 줘.",
    ],
    "open": [
        "Should we paint the fence this year?",
        "Why do leaves change their colour?",
        "Write a function that reverses a list.",
        "Sollten wir die Küche selbst streichen?",
        "Pourquoi le ciel est-il bleu ?",
        "¿Por qué flotan los barcos?",
        "Почему трава зелёная?",
        "なぜ空は青いのですか。",
        "为什么天是蓝的?",
        "لماذا السماء زرقاء؟",
    ],
    "compound": [
        "What does the boat cost, and given that, can we afford a mooring?",
        "Was kostet das Boot, und können wir demnach einen Liegeplatz bezahlen?",
        "¿Cuánto cuesta el barco y, según eso, conviene comprarlo?",
        "Сколько стоит лодка и исходя из этого стоит ли её покупать?",
    ],
    "checkable": [
        "How much is left if I spend 3 of 10 euros?",
        "Which should we use? A) tar B) pitch",
        "Wie lange dauert die Fahrt?",
        "Wie groß ist der Turm?",
        "Combien de pattes ont neuf araignées ?",
        "Compare them: is 3/4 > 5/8?",
        "一年有多少周?",
    ],
    None: [
        "Who wrote Middlemarch?",
        "Welche Farbe hat Jade?",
        "Write the word lamp with its letters in reverse.",
        "Given that f is linear and f is 0 at 0, is f odd?",
        "Two teachers then decide to join. Name them.",
        "",
    ],
}


@rows("question, kind", [(q, kind) for kind, questions in ASKED.items() for q in questions])
def test_a_question_asks_for_what_its_words_say(question: str, kind: str | None) -> None:
    assert request_kind(question) == kind


@given(st.text(max_size=60))
def test_whatever_has_options_has_a_short_answer(text: str) -> None:
    assert request_kind(f"Should we write a letter? {text}\nA) yes\nB) no\nC) later") == "checkable"


@rows("kind", ["write", "texts", "programs", "open", "compound", "measured"])
def test_every_language_has_words_of_each_kind_in_small_letters_and_once(kind: str) -> None:
    for language, row in table("requests").items():
        words = row[kind]
        assert words, language
        assert all(word == word.lower().strip() != "" for word in words), (language, words)
        assert len(words) == len(set(words)), (language, words)
