"""Make `words/entities.json` from CLDR: names of countries, languages and currencies in many languages.

python -m tests.core.answers.words.entity_table
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pnyx.core.answers.words
from tests.core.answers.words.calendar_table import LANGUAGES, locale_of

TABLE = Path(pnyx.core.answers.words.__file__).with_name("entities.json")
LOCALES = [*LANGUAGES, "zh_Hant"]
SPOKEN = [
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "eo",
    "es", "et", "eu", "fa", "fi", "fil", "fr", "ga", "gl", "gu", "ha", "he", "hi", "hr", "hu", "hy",
    "id", "ig", "is", "it", "ja", "jv", "ka", "kk", "km", "kn", "ko", "ku", "ky", "la", "lo", "lt",
    "lv", "mk", "ml", "mn", "mr", "ms", "mt", "my", "nb", "ne", "nl", "nn", "no", "pa", "pl", "ps",
    "pt", "ro", "ru", "sa", "sd", "si", "sk", "sl", "so", "sq", "sr", "sv", "sw", "ta", "te", "tg",
    "th", "tk", "tr", "tt", "uk", "ur", "uz", "vi", "xh", "yi", "yo", "yue", "zh", "zu",
]  # fmt: skip
SPENT = [
    "AED", "ARS", "AUD", "BDT", "BGN", "BHD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK",
    "EGP", "ETB", "EUR", "GBP", "GHS", "HKD", "HRK", "HUF", "IDR", "ILS", "INR", "IQD", "IRR", "ISK",
    "JOD", "JPY", "KES", "KRW", "KWD", "KZT", "LBP", "LKR", "MAD", "MMK", "MXN", "MYR", "NGN", "NOK",
    "NPR", "NZD", "OMR", "PEN", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB", "SAR", "SEK", "SGD",
    "THB", "TND", "TRY", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "VND", "ZAR",
]  # fmt: skip
NO_COUNTRIES = {"EU", "EZ", "UN", "QO", "XA", "XB", "ZZ", "HK", "MO"}
"""No countries, and two whose names in CLDR say what they belong to; `aliases.json` has them."""


def table() -> dict[str, dict[str, list[str]]]:
    """Kind -> code of ISO 3166-1, ISO 639 or ISO 4217 -> its names."""
    found: dict[str, dict[str, list[str]]] = {"country": {}, "language": {}, "currency": {}}
    for code in ("en", *LOCALES):
        locale = locale_of(code)
        for country in sorted(map(str, locale.territories)):
            if len(country) == 2 and country.isalpha() and country not in NO_COUNTRIES:
                found["country"].setdefault(country, []).append(locale.territories[country])
        for kind, codes, names in (
            ("language", SPOKEN, locale.languages),
            ("currency", SPENT, locale.currencies),
        ):
            for one in codes:
                found[kind].setdefault(one, []).extend([names[one]] if one in names else [])
        plurals = locale._data["currency_names_plural"]
        for one in SPENT:
            found["currency"][one] += dict(plurals.get(one) or {}).values()
    return {kind: _named(rows) for kind, rows in found.items()}


def _named(rows: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Code -> its names, each once. What stands in brackets is a name too, unless it names another thing."""
    parts = {code: [name.partition(" (") for name in names if name] for code, names in rows.items()}
    of_one = {first: code for code, names in parts.items() for first, _, _ in names}
    found: dict[str, list[str]] = {}
    for code, names in parts.items():
        seconds = ((first, second.rstrip(")")) for first, _, second in names)
        flat = (name for pair in seconds for name in pair if of_one.get(name, code) == code)
        found[code] = [name for name in dict.fromkeys(flat) if name and not name.isdigit()]
    return found


if __name__ == "__main__":
    kinds = []
    for kind, rows in table().items():
        lines = [
            f"{json.dumps(code)}: {json.dumps(names, ensure_ascii=False)}" for code, names in rows.items()
        ]
        kinds.append(f"{json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n}")
    TABLE.write_text("{\n" + ",\n".join(kinds) + "\n}\n", "utf-8")
