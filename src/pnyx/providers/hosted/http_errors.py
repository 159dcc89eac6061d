"""HTTP responses with an error status as a `ProviderError`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ...core.regex import regex
from ...errors import ProviderError

__all__ = ["one_line", "refusal", "retry_after"]

MAX_CHARS = 300
_TOO_LONG = regex(
    r"context.?(length|window)|maximum context|prompt is too long|too many tokens|input token count"
    r"|number of tokens allowed|reduce the length|request_too_large|too large for model",
    re.IGNORECASE,
)
_EXHAUSTED = regex(r"insufficient_quota|billing_hard_limit|credit_balance|spend_limit", re.IGNORECASE)
_RETRY_INFO = regex(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')


def refusal(status: int, headers: Mapping[str, str], body: str, *, billed: bool = False) -> ProviderError:
    """The error for a response of `status` (300 or more). headers: looked up in lower case.

    Behind a gateway that timed out (504, 524), the host may have finished and billed the reply.
    """
    message = f"HTTP {status}: {_message(body)}"
    if status in (401, 403):
        kind = "auth"
    elif status == 404:
        kind = "not_found"
    elif status == 429:
        # An empty account does not fill by waiting.
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
    header = headers.get("retry-after")
    if (wait := _seconds(header)) is not None:
        return wait
    if header is not None:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        # A date without a zone is in UTC: RFC 9110, section 5.6.7.
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (date - datetime.now(UTC)).total_seconds())
    info = _RETRY_INFO.search(body)
    return float(info[1]) if info else None


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


def _message(body: str) -> str:
    """The message in the body of an error: from the JSON of any dialect, else the text."""
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


def one_line(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` as one short printable line, without `secrets`."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "[redacted]")
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * MAX_CHARS]).split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"
