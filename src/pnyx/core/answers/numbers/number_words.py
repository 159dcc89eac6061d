"""Small numbers in words of many languages, and Chinese numerals of any size."""

from __future__ import annotations

from functools import cache

from ...caching.regex import regex
from ..words import table, unambiguous

__all__ = ["ENGLISH", "read_numeral"]

ENGLISH = {
    name: value
    for names, step in (
        ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
         " sixteen seventeen eighteen nineteen", 1),
        ("zero ten twenty thirty forty fifty sixty seventy eighty ninety", 10),
    )
    for value, name in zip(range(0, 100, step), names.split(), strict=False)
}  # fmt: skip
"""The English words of 0 to 19 and of the tens."""

_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_FORMAL = str.maketrans("壹贰叁肆伍陆柒捌玖拾佰仟貳參陸", "一二三四五六七八九十百千二三六")
"""The numerals of contracts and cheques."""
_NUMERAL = regex(f"[{''.join((*_DIGITS, *_TENS, *_LARGE))}廿卅]{{1,20}}")


def read_numeral(text: str) -> tuple[int, int] | None:
    """The number at the start of `text`, and the place behind it; None if there is no such word.

    A word of a table stands alone or before the word of a unit: `sieben`, `sieben Tage`.
    """
    if text[:1] > "z":
        text = text.translate(_FORMAL)
    if match := _NUMERAL.match(text):
        return _chinese(match[0].replace("廿", "二十").replace("卅", "三十")), match.end()
    if text.isascii() and not text[:1].isalpha():
        return None
    folded = text.casefold()
    words = folded.split(" ")
    for count in (3, 2, 1):
        head = " ".join(words[:count])
        if len(words) >= count and len(words) <= count + 2 and (value := _words().get(head)) is not None:
            return value, len(head)
    return None


@cache
def _words() -> dict[str, int]:
    rows = table("numbers").values()
    return unambiguous(
        (name, n) for row in rows for n, names in enumerate(row) for name in names.split("|") if name
    )


def _chinese(text: str) -> int:
    """The value of a Chinese numeral; digits alone are read in a row: 二〇二四 is 2024."""
    if len(text) > 1 and all(c in _DIGITS for c in text):
        return int("".join(str(_DIGITS[c]) for c in text))
    total = section = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _TENS:
            section, digit = section + (digit or 1) * _TENS[char], 0
        else:
            total, section, digit = (total + section + digit) * _LARGE[char], 0, 0
    if digit and len(text) > 1 and text[-2] in "百千万萬":
        # 一百五 is 150; 105 is 一百零五.
        digit *= {"百": 10, "千": 100}.get(text[-2], 1000)
    return total + section + digit
