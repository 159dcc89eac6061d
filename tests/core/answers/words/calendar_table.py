"""Make `words/calendar.json` from CLDR: names of months and weekdays, and decimal marks.

python -m tests.core.answers.words.calendar_table
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pnyx.core.answers.words

LANGUAGES = [
    "ar",
    "bn",
    "cs",
    "da",
    "de",
    "el",
    "en",
    "es",
    "fa",
    "fi",
    "fr",
    "he",
    "hi",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "mr",
    "nb",
    "nl",
    "pl",
    "pt",
    "ro",
    "ru",
    "sv",
    "sw",
    "ta",
    "te",
    "th",
    "tr",
    "uk",
    "ur",
    "vi",
    "zh",
]
TABLE = Path(pnyx.core.answers.words.__file__).with_name("calendar.json")


def locale_of(code: str) -> Any:
    """What CLDR has of one locale. Babel mixes names of locales that it has read before into the next."""
    from babel import Locale, localedata  # only who makes the table needs it

    localedata._cache.clear()
    return Locale.parse(code)


def table() -> dict[str, Any]:
    """Language -> its months (twelve lists of names), weekdays (Monday first), decimal mark."""
    made = {}
    for language in LANGUAGES:
        locale = locale_of(language)
        marks = locale.number_symbols["latn"]
        made[language] = {
            "months": [_names(locale.months, n) for n in range(1, 13)],
            "weekdays": [_names(locale.days, n) for n in range(7)],
            "decimal": marks["decimal"],
        }
    return made


def _names(tables: Any, n: int) -> list[str]:
    """The names of one month or weekday, in small letters, without those of one letter or digits."""
    widths = ("wide", "abbreviated")
    found = [tables[use][width][n] for use in ("format", "stand-alone") for width in widths]
    names = dict.fromkeys(name.casefold().rstrip(".") for name in found)
    return [name for name in names if len(name) > 1 and not any(c.isdigit() for c in name)]


if __name__ == "__main__":
    rows = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in table().items()]
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
