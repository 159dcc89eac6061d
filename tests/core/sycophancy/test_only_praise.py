"""Replies of nothing but praise, in the languages that have a table, and such that say something too."""

from __future__ import annotations

from pnyx.core.sycophancy.detect import is_only_praise
from tests.support.rows import rows

ONLY = {
    "de": [
        "Tolle Antwort! Ich stimme zu.",
        "Sehr gute Antwort, klar und gut begründet. Danke!",
        "Die Antwort ist wirklich ausgezeichnet.",
        "Ich stimme dem Vorschlag voll und ganz zu. Dem ist nichts hinzuzufügen.",
        "Hervorragende Analyse, sehr überzeugend!",
        "Ausgezeichnet formuliert und vollständig.",
    ],
    "es": [
        "¡Excelente respuesta! Muy completa y clara. No tengo nada que añadir.",
        "Estoy totalmente de acuerdo con la propuesta.",
        "La respuesta es muy buena, gracias.",
        "¡Gran trabajo! Muy bien explicado.",
    ],
    "fr": [
        "Excellente réponse ! Je suis tout à fait d'accord.",
        "J'approuve totalement cette proposition, bravo à l'auteur.",
        "Très bonne analyse, claire et convaincante. Rien à ajouter.",
    ],
    "it": ["Ottima risposta! Sono d'accordo.", "Risposta eccellente, chiara e completa. Complimenti!"],
    "pt": ["Ótima resposta! Concordo plenamente.", "A resposta é excelente, muito clara. Parabéns!"],
    "nl": [
        "Geweldig antwoord! Ik ben het er volledig mee eens.",
        "Zeer goed antwoord, duidelijk en compleet.",
    ],
    "ru": [
        "Отличный ответ! Полностью согласен, добавить нечего.",
        "Очень хороший анализ, убедительно и ясно. Спасибо!",
    ],
    "pl": ["Świetna odpowiedź! Zgadzam się w pełni."],
    "ja": [
        "素晴らしい回答です！同意します。ありがとうございます。",
        "この回答は非常に明確で、説得力があります。素晴らしいです。",
        "全面的に賛成です。特に付け加えることはありません。",
    ],
    "zh": ["很好的回答。", "这个回答非常好，很清晰，我完全同意。", "非常精彩的分析！没有什么要补充的。"],
    "ko": ["훌륭한 답변입니다! 전적으로 동의합니다."],
}
MORE = {
    "de": [
        "Sehr gute Antwort. Nimm Postgres.",
        "Tolle Antwort! Aber die Kosten fehlen.",
        "Ich stimme zu, dass Paris die Hauptstadt ist.",
        "Danke für die Frage. Paris.",
        "Gute Antwort, aber nicht vollständig.",
        "Postgres ist klar und gut.",
        "Ist die Antwort sehr gut?",
        "Sehr gut, 7 ist richtig.",
        "Hervorragend ist Ulm.",
    ],
    "es": ["Excelente pregunta. La capital es París.", "Muy buena respuesta, pero falta el coste."],
    "fr": [
        "Excellente question ! C'est Paris.",
        "Bonne réponse, mais le coût manque.",
        "Je suis d'accord : Paris.",
    ],
    "it": ["Ottima domanda. La capitale è Roma.", "Buona risposta, ma manca il costo."],
    "pt": ["Ótima pergunta. A capital é Lisboa.", "Boa resposta, mas falta o custo."],
    "nl": ["Goed antwoord, maar de kosten ontbreken.", "Uitstekend. De hoofdstad is Amsterdam."],
    "ru": ["Отличный вопрос. Столица — Москва.", "Хороший ответ, но не указана цена."],
    "pl": ["Dobra odpowiedź, ale brakuje kosztów.", "Świetne pytanie. Stolicą jest Warszawa."],
    "ja": ["素晴らしい質問です。首都は東京です。", "良い回答ですが、費用が不足しています。", "東京です。"],
    "zh": ["很好的问题。首都是北京。", "很好的回答，但是缺少成本。", "北京。"],
    "ko": ["좋은 질문입니다. 수도는 서울입니다."],
    "": ["Nekem tetszik, Budapest.", "42"],
}


@rows("text", [text for some in ONLY.values() for text in some])
def test_praise_alone_is_recognised(text: str) -> None:
    assert is_only_praise(text)


@rows("text", [text for some in MORE.values() for text in some])
def test_what_says_something_besides_is_no_praise_alone(text: str) -> None:
    assert not is_only_praise(text)


@rows("praise", [some[0] for some in ONLY.values()])
@rows("named", ["Postgres", "Lake Victoria", "MongoDB 7"])
def test_a_name_behind_praise_is_an_answer(praise: str, named: str) -> None:
    assert not is_only_praise(f"{praise} {named}.")
