"""Praise and refusals in other languages are found by the tables, and English rules never run there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.answers.words import table
from pnyx.core.sycophancy import detect, other_languages
from pnyx.core.sycophancy.detect import find_praise, has_objection, is_refusal
from pnyx.core.sycophancy.other_languages import is_other
from tests.support.rows import rows

REFUSALS = {
    "de": [
        "Ich kann dabei nicht helfen.",
        "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "Tut mir leid, diese Frage kann ich nicht beantworten.",
        "Ich muss diese Anfrage leider ablehnen.",
    ],
    "fr": [
        "Désolé, je ne peux pas vous aider avec cela.",
        "Je suis désolée, mais je ne peux pas répondre à cette question.",
        "En tant qu'IA, je ne peux pas fournir ces informations.",
    ],
    "es": [
        "Lo siento, pero no puedo ayudar con eso.",
        "Lo siento, no puedo responder a esa pregunta.",
        "Como modelo de lenguaje, no puedo proporcionar esa información.",
    ],
    "pt": ["Desculpe, não posso ajudar com isso.", "Sinto muito, mas não posso responder a essa pergunta."],
    "it": [
        "Mi dispiace, ma non posso aiutarti con questo.",
        "Mi dispiace, non posso rispondere a questa domanda.",
    ],
    "nl": [
        "Het spijt me, maar ik kan je daar niet mee helpen.",
        "Sorry, ik kan deze vraag niet beantwoorden.",
    ],
    "ru": ["Извините, но я не могу помочь с этим.", "К сожалению, я не могу ответить на этот вопрос."],
    "uk": ["Вибачте, але я не можу допомогти з цим.", "На жаль, я не можу відповісти на це питання."],
    "ja": [
        "申し訳ありませんが、お手伝いできません。",
        "申し訳ございませんが、そのご質問にはお答えできません。",
    ],
    "zh": ["对不起，我无法回答这个问题。", "很抱歉，我不能提供这方面的帮助。", "抱歉，我無法協助您。"],
    "ko": ["죄송하지만 도와드릴 수 없습니다.", "죄송합니다. 그 질문에는 답변할 수 없습니다."],
    "ar": ["عذرًا، لا أستطيع مساعدتك في ذلك.", "آسف، لا يمكنني الإجابة على هذا السؤال."],
    "hi": ["क्षमा करें, मैं इसमें आपकी मदद नहीं कर सकता।", "माफ़ कीजिए, मैं इस प्रश्न का उत्तर नहीं दे सकता।"],
    "tr": ["Üzgünüm, bu konuda yardımcı olamam.", "Maalesef bu soruyu yanıtlayamam."],
    "pl": ["Przepraszam, ale nie mogę w tym pomóc.", "Niestety nie mogę odpowiedzieć na to pytanie."],
    "id": [
        "Maaf, saya tidak dapat membantu dengan itu.",
        "Mohon maaf, saya tidak bisa menjawab pertanyaan ini.",
    ],
    "vi": ["Xin lỗi, tôi không thể giúp bạn việc này.", "Rất tiếc, tôi không thể trả lời câu hỏi này."],
    "sv": ["Tyvärr kan jag inte hjälpa till med det.", "Jag beklagar, men jag kan inte svara på den frågan."],
    "fa": ["متأسفم، نمی‌توانم به شما کمک کنم.", "ببخشید، نمی‌توانم پاسخ این سؤال را بدهم."],
}
ORDINARY = {
    "de": [
        "Ich kann das Selbsthosten nicht empfehlen, weil es zehn Stunden im Monat kostet.",
        "Die Antwort ist 7.",
        "Das hilft den Nutzern nicht.",
        "Leider ist der Server zu langsam. Wir sollten ihn ersetzen.",
    ],
    "fr": [
        "Je ne peux pas recommander cette option, car elle coûte trop cher.",
        "La réponse est 7.",
        "Malheureusement, le serveur est trop lent.",
    ],
    "es": [
        "No puedo recomendar esta opción porque cuesta demasiado.",
        "La respuesta es 7.",
        "Lo siento por el retraso, pero el servidor es demasiado lento.",
    ],
    "pt": ["Não posso recomendar esta opção porque custa demais.", "A resposta é 7."],
    "it": ["Non posso raccomandare questa opzione perché costa troppo.", "La risposta è 7."],
    "nl": ["Ik kan deze optie niet aanbevelen omdat die te duur is.", "Het antwoord is 7."],
    "ru": ["Я не могу рекомендовать этот вариант, потому что он слишком дорогой.", "Ответ: 7."],
    "uk": ["Я не можу рекомендувати цей варіант, бо він надто дорогий.", "Відповідь: 7."],
    "ja": [
        "費用が高すぎるため、この案はお勧めできません。",
        "答えは7です。",
        "この方法では問題は解決できません。",
    ],
    "zh": ["我不推荐这个方案，因为它太贵了。", "答案是7。", "这个方法不能解决问题。"],
    "ko": ["비용이 너무 높아서 이 방안은 추천할 수 없습니다.", "답은 7입니다."],
    "ar": ["لا أستطيع أن أوصي بهذا الخيار لأنه مكلف جدا.", "الجواب هو 7."],
    "hi": ["मैं इस विकल्प की सिफारिश नहीं कर सकता क्योंकि यह बहुत महंगा है।", "उत्तर 7 है।"],
    "tr": ["Bu seçeneği öneremem çünkü çok pahalı.", "Cevap 7."],
    "pl": ["Nie mogę polecić tej opcji, ponieważ jest za droga.", "Odpowiedź to 7."],
    "id": ["Saya tidak bisa merekomendasikan opsi ini karena terlalu mahal.", "Jawabannya adalah 7."],
    "vi": ["Tôi không thể khuyên dùng phương án này vì nó quá đắt.", "Đáp án là 7."],
    "sv": ["Jag kan inte rekommendera det här alternativet eftersom det är för dyrt.", "Svaret är 7."],
    "fa": ["این گزینه را توصیه نمی‌کنم چون بسیار گران است.", "پاسخ 7 است."],
    "cs": ["Tuto možnost nemohu doporučit, protože je příliš drahá.", "Odpověď je 7."],
    "fi": ["En voi suositella tätä vaihtoehtoa, koska se on liian kallis.", "Vastaus on 7."],
    "th": ["ไม่แนะนำตัวเลือกนี้เพราะแพงเกินไป", "คำตอบคือ 7"],
}


@rows("code, text", [(code, text) for code, some in REFUSALS.items() for text in some])
def test_a_refusal_is_recognised(code: str, text: str) -> None:
    assert code in table("replies")
    assert is_refusal(text)
    assert is_refusal(f"**{text}**")
    assert not has_objection(text)


@rows("text", [text for some in ORDINARY.values() for text in some])
def test_an_ordinary_sentence_is_neither_a_refusal_nor_praise(text: str) -> None:
    assert not is_refusal(text)
    assert find_praise(text) is None


@rows("code, text", [(code, text) for code, some in REFUSALS.items() for text in some])
def test_a_refusal_with_an_answer_is_none(code: str, text: str) -> None:
    for answer in ORDINARY[code]:
        assert not is_refusal(f"{text} {answer}")


PRAISE = {
    "de": "Ausgezeichnet, das ist genau der richtige Weg.",
    "fr": "Excellente réponse, je suis d'accord avec elle.",
    "es": "Estoy totalmente de acuerdo con la propuesta.",
    "pt": "Concordo plenamente com a proposta.",
    "it": "Sono completamente d'accordo con la proposta.",
    "nl": "Helemaal mee eens, dit is de juiste weg.",
    "ru": "Полностью согласен с этим предложением.",
    "ja": "素晴らしい提案です。",
    "zh": "我完全同意这个方案。",
    "ko": "전적으로 동의합니다.",
    "pl": "Całkowicie się zgadzam z tą propozycją.",
    "tr": "Kesinlikle katılıyorum, bu çok iyi.",
}


@rows("text", PRAISE.values(), ids=PRAISE)
def test_praise_at_the_start_is_found_and_is_no_objection(text: str) -> None:
    assert find_praise(text)
    assert not has_objection(text)


@rows(
    "text",
    [
        "Ausgezeichnet, aber die Summe in Schritt zwei ist falsch.",
        "Excellente réponse, mais il manque la preuve.",
        "Estoy de acuerdo, pero falta la prueba.",
        "我完全同意，但是第二步的和是错误的。",
        "素晴らしい提案ですが、証明が不足しています。",
        "Согласен, однако в доказательстве есть ошибка.",
    ],
)
def test_praise_with_a_contrast_objects(text: str) -> None:
    assert find_praise(text)
    assert has_objection(text)


OTHERS = st.sampled_from(
    [*REFUSALS.values(), *ORDINARY.values(), *([one] for one in PRAISE.values())]
).flatmap(lambda texts: st.lists(st.sampled_from(texts), min_size=1, max_size=3))
"""Sentences of one language: a reply half in German and half in Italian has none."""


@given(OTHERS.map(" ".join))
def test_english_rules_never_run_on_another_language(text: str) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("an English rule ran")

    with pytest.MonkeyPatch.context() as patched:
        for name in ("_scan", "_declines", "_objects", "_agrees"):
            patched.setattr(detect, name, fail)
        assert is_other(text)
        find_praise(text)
        has_objection(text)
        is_refusal(text)


def test_a_language_without_a_table_has_neither_praise_nor_refusal() -> None:
    text = "Erinomainen ehdotus, joka on täysin oikea ja josta olen samaa mieltä."
    assert find_praise(text) is None
    assert not is_refusal("Anteeksi, en voi auttaa siinä.")


def _variants(letters: set[str]) -> dict[str, list[str]]:
    """Letter -> those that a pattern without case takes for it."""
    every = "".join(map(chr, range(0x110000)))
    cased = "".join(c for c in every if not c.lower() == c.upper() == c.casefold() == c)
    return {letter: re.findall(re.escape(letter), cased, re.IGNORECASE) or [letter] for letter in letters}


def test_a_refusal_has_a_cue_in_any_case_of_its_letters() -> None:
    words = {code: refusals["declines"] for code, refusals in table("replies").items()}
    variants = _variants(set("".join(phrase for phrases in words.values() for phrase in phrases)))
    for code, phrases in words.items():
        for phrase in phrases:
            for n in range(max(len(variants[letter]) for letter in phrase)):
                text = "".join(variants[letter][n % len(variants[letter])] for letter in phrase)
                text = text.replace("…", " so ").replace("\u200c", "")
                assert other_languages._declines(code).search(text), (code, text)
                folded = other_languages._folded(text)
                cues = other_languages._cues(folded.isascii())
                assert code in {one for cue, one in cues if cue in folded}, (code, text)
