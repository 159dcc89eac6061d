"""Numbers in words before a unit, and halves of it, in many languages."""

from __future__ import annotations

from pnyx import same_answer
from tests.support.rows import rows


@rows(
    "spoken, written, question",
    [
        ("anderthalb Stunden", "90 Minuten", "Wie lange dauert der Film?"),
        ("eine halbe Stunde", "30 Minuten", "Wie lange dauert es?"),
        ("zweieinhalb Stunden", "150 Minuten", "Wie lange?"),
        ("anderthalb Millionen", "1500000", "Wie viele Einwohner?"),
        ("dreihundert Meter", "300 m", "Wie weit?"),
        ("eine Dreiviertelstunde", "45 Minuten", "Wie lange?"),
        ("media hora", "30 minutos", "¿Cuánto tiempo dura?"),
        ("une demi-heure", "30 minutes", "Combien de temps dure le film ?"),
        ("trois quarts d'heure", "45 minutes", "Combien de temps ?"),
        ("mezz'ora", "30 minuti", "Quanto dura?"),
        ("полчаса", "30 минут", "Сколько длится?"),
        ("полтора часа", "90 минут", "Сколько длится?"),
        ("anderhalve uur", "90 minuten", "Hoe lang?"),
        ("pół godziny", "30 minut", "Jak długo?"),
        ("iki buçuk saat", "150 dakika", "Ne kadar?"),
        ("setengah jam", "30 menit", "Berapa lama?"),
        ("nửa giờ", "30 phút", "Bao lâu?"),
        ("डेढ़ घंटा", "90 मिनट", "कितना समय?"),
        ("نصف ساعة", "30 دقيقة", "كم المدة؟"),
        ("en halvtimme", "30 minuter", "Hur länge?"),
        ("半小时", "30分钟", "多长时间？"),
        ("一个半小时", "90分钟", "多长时间？"),
        ("1時間半", "90 minutes", "どのくらい？"),
        ("three quarters of an hour", "45 minutes", "How long?"),
        ("पच्चीस", "25", "कितने?"),
    ],
)
def test_a_part_of_a_unit_is_read(spoken: str, written: str, question: str) -> None:
    assert same_answer(spoken, written, question)
    assert same_answer(written, spoken, question)


@rows(
    "one, other",
    [
        ("anderthalb Stunden", "60 Minuten"),
        ("半小时", "60分钟"),
        ("полка", "1/2"),
        ("media", "1/2"),
        ("media docena", "6"),
        ("mezzogiorno", "12"),
        ("2時半", "2時間半"),
        ("halbe Portion", "0.5"),
        ("पच्चीस", "35"),
    ],
)
def test_other_words_are_no_halves(one: str, other: str) -> None:
    assert not same_answer(one, other)
    assert not same_answer(other, one)
