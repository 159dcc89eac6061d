"""How long a host asks to wait, from its headers and its words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from ...core.caching.regex import regex

__all__ = ["fields_of_waits", "retry_after"]

LONGEST_RESET_S = 60.0
"""A limit that is whole again only later has room for one request much sooner."""

MAX_CHARS = 8_000
"""Of a body, in which a wait is searched."""
_BLANKS = regex(r"[ \t\u00a0\u202f]+")
_DURATION = (
    r"(?:\d+(?:\.\d+)?\s*(?:more )?(?:days?|d|hours?|hrs?|h|milliseconds?|ms|minutes?|mins?|m|seconds?"
    r"|secs?|s)"
    r"(?![a-z])(?:\s*,)?\s*(?:and\s+)?)+"
)
_PART = regex(r"(?<!\d)(\d+(?:\.\d+)?)\s*(?:more )?([a-z]+)", re.IGNORECASE)
_WORDS = regex(
    r"\b(?:try again|retry|wait|available|reset|back ?off|cool(?:ing)?[ -]?down|limited for"
    r"|(?:request|call|attempt)s?(?: is| are)? (?:allowed|possible|accepted)|come back)\D{0,40}?"
    rf"({_DURATION})",
    re.IGNORECASE,
)
_ONE = regex(r"\b(?:an?|one) (?=(?:minute|hour|second)\b)", re.IGNORECASE)
_CLOCK = regex(
    r"(?:try again|retry|wait|available|replenished|allowed|reset)\D{0,40}?(\d\d):(\d\d):(\d\d)\b",
    re.IGNORECASE,
)
_AT = regex(
    r"\breset\w*\D{0,20}(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
_ELSEWHERE = {
    1.0: r"秒|s(?=\s?[后後])|초|sec?(?:on|un)?d[aeosi]*|segundos?|se[kc]und\w*|секунд\w*|saniye|giây|ثانية"
    r"|ثوان\w*|detik|วินาที|másodperc|δευτερόλεπτ\w*|सेकंड",
    60.0: r"分钟|分|분|min[uú]t\w*|минут\w*|dakika|phút|دقيقة|دقائق|хвилин\w*|menit|นาที|perc|λεπτ\w*|मिनट",
    3600.0: r"小时|時間|시간|heures?|stunden?|or[aeă]\b|horas?|godzin\w*|час\w*|saat|giờ|ساعة|ساعات|годин\w*"
    r"|hodin\w*|jam\b|ชั่วโมง|timmar|óra|ώρ\w*|घंट\w*",
}
"""Units of time in other languages, by their seconds."""
_UNIT = "|".join(f"(?P<u{int(seconds)}>{words})" for seconds, words in _ELSEWHERE.items())
_N = r"(?<!\d)(\d+(?:[.,]\d+)?)\s*"
_AFTER = regex(rf"{_N}(?:{_UNIT})[^。.]{{0,4}}(?:后|後|후|sonra|nữa|múlva|बाद|में)", re.IGNORECASE)
_OF = regex(rf"(?:等待?|รอ|อีก|ใน|หลังจาก)\s*{_N}(?:{_UNIT})", re.IGNORECASE)
_IN = regex(
    rf"\b(?:dans|tra|fra|en|em|za|через|بعد|over|dalam|setelah|sau|om|peste|în|σε|(?:за)?чекайте|tunggu"
    r"|in(?=\s\d+\s(?:sekunde|minuten|stunde)))"
    rf"\s+{_N}(?:de )?(?:{_UNIT})",
    re.IGNORECASE,
)
_FIELDS = regex(
    r"\b(retryDelay|retry[_-]?after(?:_?(?:s|seconds|ms))?|estimated_time|resets?_(?:in_)?seconds"
    r"|(?:cooldown|wait)_seconds)"
    r'\\?"?\s*[:=]\s*(?:\{\s*"seconds":\s*)?\\?"?(\d+(?:\.\d+)?)(ms|s)?(?!\w|\.\d)',
    re.IGNORECASE,
)
_RESET = regex(r'"x-ratelimit-reset(?:-requests|-tokens)?\\?"\s*:\s*\\?"?([\w.:-]+)', re.IGNORECASE)
_UNITS = {"d": 86_400.0, "h": 3600.0, "ms": 0.001, "mil": 0.001, "m": 60.0, "s": 1.0}

_RATELIMIT = regex(r"\b(?:remaining|r)=0\b.*\b(?:reset|t)=(\d+)")
"""The `RateLimit` header of the IETF's drafts: before the eighth one, and since."""

RETRY_AFTER = ("retry-after", "x-retry-after", "x-ratelimit-retry-after", "x-ratelimit-reset-after")
RESETS = (
    *("ratelimit-reset", "x-ratelimit-reset", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"),
    *("x-ratelimit-reset-requests-minute", "x-ratelimit-reset-tokens-minute"),
    *("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-tokens-reset"),
    *("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-output-tokens-reset"),
)
"""Headers that say when a limit is whole again: a duration, a time, or seconds since 1970."""


def retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Seconds to wait, None if the host does not say.

    From `retry-after-ms`, `Retry-After` (seconds, a duration or a date), fields and words of the body, or the
    reset of a limit of which nothing remains. headers: looked up in lower case. Times are compared with that
    of the host, whose clock may differ from ours.
    """
    if wait := _seconds(headers.get("retry-after-ms")):  # Azure sends 0 beside a Retry-After of a second
        return wait / 1000
    now = _date(headers.get("date", "")) or datetime.now(UTC)
    for name in RETRY_AFTER:
        if (header := headers.get(name)) and (wait := _reset(header, now)) is not None:
            return wait
    body = _BLANKS.sub(" ", body[:MAX_CHARS])
    for found in (_field(body), _words(body, now), _quoted_reset(body, now)):
        if found is not None:
            return found
    waits = [_reset(headers[name], now) for name in RESETS if name in headers and _is_used_up(headers, name)]
    waits += [_seconds(match[1]) for match in _RATELIMIT.finditer(headers.get("ratelimit", ""))]
    known = [wait for wait in waits if wait is not None and wait <= LONGEST_RESET_S]
    return max(known, default=None)


def fields_of_waits(document: Any) -> str:
    """The fields of a document that may say how long to wait, as JSON; `retry_after` reads them in a body."""
    return " ".join(json.dumps({name: value}, default=str) for name, value in _fields_of_waits(document))


def _fields_of_waits(part: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(part, Mapping):
        yield from ((name, value) for name, value in part.items() if _WAITS.search(str(name)))
        part = list(part.values())
    if isinstance(part, list) and depth < MAX_DEPTH:
        for one in part[:MAX_PARTS]:
            yield from _fields_of_waits(one, depth + 1)


_WAITS = regex(r"retry|wait|cool|reset|estimated_time", re.IGNORECASE)
MAX_DEPTH = 5
MAX_PARTS = 50
"""Of a list in which fields are searched."""


def _field(body: str) -> float | None:
    match = _FIELDS.search(body)
    if match is None:
        return None
    in_ms = match[3] == "ms" or match[1].lower().endswith("ms")
    return float(match[2]) / (1000 if in_ms else 1)


def _quoted_reset(body: str, now: datetime) -> float | None:
    """The wait in a header that a gateway quotes in the body, as OpenRouter does."""
    match = _RESET.search(body)
    wait = _reset(match[1], now) if match else None
    return wait if wait is not None and wait <= LONGEST_RESET_S else None


def _words(body: str, now: datetime) -> float | None:
    if match := _CLOCK.search(body):
        return sum(int(part) * unit for part, unit in zip(match.groups(), (3600, 60, 1), strict=True))
    if match := _WORDS.search(_ONE.sub("1 ", body)):
        return _duration(match[1])
    if match := _AT.search(body):
        return _until(match[1], now) or None  # of a past time, the clocks differ
    match = _AFTER.search(body) or _IN.search(body) or _OF.search(body)
    if match is None:
        return None
    seconds = next(one for one in _ELSEWHERE if match[f"u{int(one)}"])
    return float(match[1].replace(",", ".")) * seconds


def _duration(text: str) -> float:
    """Seconds in a duration such as "1m30.5s", "120ms" or "6 minutes"."""
    return sum(float(number) * _unit(unit.lower()) for number, unit in _PART.findall(text))


def _unit(name: str) -> float:
    return next(_UNITS[name[:size]] for size in (3, 2, 1) if name[:size] in _UNITS)


def _is_used_up(headers: Mapping[str, str], reset: str) -> bool:
    """Whether nothing is known to remain of the limit that `reset` is about."""
    remaining = _seconds(headers.get(reset.replace("reset", "remaining")))
    return remaining is None or remaining == 0


def _reset(text: str, now: datetime) -> float | None:
    text = text.strip()
    if (number := _seconds(text)) is not None:
        for since_1970 in (number / 1000, number):
            if since_1970 > 1e9:
                return max(0.0, since_1970 - now.timestamp())
        return number
    return _duration(text) if re.fullmatch(_DURATION, text, re.IGNORECASE) else _until(text, now)


def _until(text: str, now: datetime) -> float | None:
    """Seconds to a date of RFC 9110 or of ISO 8601; None if it is neither."""
    date = _date(text)
    return None if date is None else max(0.0, (date - now).total_seconds())


def _date(text: str) -> datetime | None:
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = parse(text)
        except (ValueError, OverflowError):
            continue
        # A date without a zone is in UTC: RFC 9110, section 5.6.7.
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
