"""What a host's refusal means: HTTP status, headers and body as a `ProviderError`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ...core.regex import regex
from ...errors import ProviderError

__all__ = ["plain", "refusal", "retry_after"]

MAX_CHARS = 300
_TOO_LONG = regex(
    r"context.?(length|window)|maximum context|prompt is too long|too many tokens|input token count"
    r"|number of tokens allowed|reduce the length|request_too_large|too large for model",
    re.IGNORECASE,
)
_EXHAUSTED = regex(r"insufficient_quota|billing_hard_limit|credit_balance|spend_limit", re.IGNORECASE)
_RETRY_INFO = regex(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')


def refusal(status: int, headers: Mapping[str, str], body: str, *, billed: bool = False) -> ProviderError:
    """The error for an answer of `status` (300 or more). headers: looked up in lower case.

    A gateway that gave up waiting (504, 524) may leave a finished and billed generation behind it.
    """
    message = f"HTTP {status}: {_said(body)}"
    if status in (401, 403):
        kind = "auth"
    elif status == 404:
        kind = "not_found"
    elif status == 429:
        # Waiting does not refill an account.
        kind = "refused" if _EXHAUSTED.search(body) else "rate_limited"
    elif status >= 500:
        kind = "overloaded"
    elif status == 413 or (status in (400, 422) and _TOO_LONG.search(body)):
        kind = "too_long"
    else:
        kind = "refused"
    wait = retry_after(headers, body) if kind in ("rate_limited", "overloaded") else None
    return ProviderError(kind, message, retry_after=wait, billed=billed or status in (504, 524))


def retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Seconds to wait, from `retry-after-ms`, `Retry-After` (seconds or a date) or Google's RetryInfo."""
    if (wait := _seconds(headers.get("retry-after-ms"))) is not None:
        return wait / 1000
    told = headers.get("retry-after")
    if (wait := _seconds(told)) is not None:
        return wait
    if told is not None:
        try:
            date = parsedate_to_datetime(told)
        except ValueError:
            return None
        # A date without a zone is in UTC: RFC 9110, section 5.6.7.
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (date - datetime.now(UTC)).total_seconds())
    info = _RETRY_INFO.search(body)
    return float(info[1]) if info else None


def _seconds(told: str | None) -> float | None:
    try:
        seconds = float(told or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


def _said(body: str) -> str:
    """What the host says in the body of an error: the message in the JSON of any dialect, else the text."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return re.sub(r"<[^>]*>", " ", body)
    if isinstance(document, list) and document:
        document = document[0]
    for _ in range(2):
        if isinstance(document, dict):
            document = document.get("error") or document.get("message") or document.get("detail") or document
    return document if isinstance(document, str) else json.dumps(document)


def plain(text: str, secrets: tuple[str, ...] = ()) -> str:
    """One short printable line of `text`, without `secrets`."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "[redacted]")
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * MAX_CHARS]).split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"
