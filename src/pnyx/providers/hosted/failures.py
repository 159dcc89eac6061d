"""Failures as hosts report them, with any status: what kind they are, and whether they cost.

A host may report a failure as an HTTP status, inside a reply of status 200, or as an event of a stream.
`report` finds it in a document; `failure` decides its kind from the status, the code and the words. The
tables are `failure_words`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from ...core.regex import regex
from ...errors import ProviderError
from .failure_words import CODES, FILTERED, QUOTA, TEMPORARY, TOO_LARGE, TOO_LONG

__all__ = [
    "HostError",
    "Report",
    "failure",
    "one_line",
    "quote",
    "read_report",
    "report",
    "retry_after",
    "unreadable",
]

MAX_CHARS = 300
QUOTE_CHARS = 200
_RETRY_INFO = regex(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_TRY_AGAIN = regex(
    r"(?:try again|retry|wait)\D{0,40}?(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|min"
    r"|minutes?)\b",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "mi": 60.0, "m": 60.0, "s": 1.0}
_OF_A_MODEL = regex(r"model|deployment|engine|endpoint", re.IGNORECASE)
MAY_HAVE_COST = (504, 524)
"""A gateway waited in vain: the host may have finished the reply, and billed it."""
NOT_BY_CODE = 600
"""A number of a host's own from here on is no HTTP status."""


@dataclass(frozen=True, slots=True)
class Report:
    """A failure in a host's own words. status: HTTP, 0 if unknown. code: the host's name of it."""

    status: int
    message: str
    code: str = ""
    param: str = ""

    @property
    def words(self) -> str:
        """All that the kind can be read from."""
        return f"{self.code} {self.message}"


class HostError(ProviderError):
    """A failure that a host reported."""

    def __init__(self, kind: str, report: Report, retry_after: float | None, billed: bool) -> None:
        shown = " ".join(filter(None, (f"HTTP {report.status}:" if report.status else "", report.message)))
        if kind == "not_found" and not _OF_A_MODEL.search(report.words):
            shown = f"{shown.removesuffix('.')}: check base_url"
        super().__init__(kind, shown, retry_after=retry_after, billed=billed)
        self.report = report


def failure(found: Report, headers: Mapping[str, str] | None = None, body: str = "") -> HostError:
    """The error for what a host reports. headers: looked up in lower case. body: of an error status.

    Nothing is billed, except perhaps behind a gateway that timed out.
    """
    kind = _kind(found)
    wait = None
    if kind in ("rate_limited", "overloaded"):
        wait = retry_after(headers or {}, body or found.message)
    return HostError(kind, found, wait, billed=found.status in MAY_HAVE_COST)


def _kind(found: Report) -> str:
    status = found.status or _status_of_code(found.code)
    # An empty account does not fill by waiting, whatever its status. Google's quota, of a minute, does.
    if status == 402 or (QUOTA.search(found.words) and "RESOURCE_EXHAUSTED" not in found.code):
        return "refused"
    if status == 413 or (status in (0, 400, 422, 500) and TOO_LONG.search(found.words)):
        return "too_long"
    if status == 429 and TOO_LARGE.search(found.words):
        return "too_long"
    if FILTERED.search(found.words):
        return "refused"
    if status in (401, 403):
        return "rate_limited" if status == 403 and TEMPORARY.search(found.words) else "auth"
    if status == 404:
        return "not_found"
    if status == 429:
        return "rate_limited"
    if status >= 500 or status in (408, 409, 425, 498, 499):
        return "overloaded"
    if status == 0:
        return "overloaded" if TEMPORARY.search(found.words) else "malformed"
    return "refused"


def _status_of_code(code: str) -> int:
    """The status that a host's code stands for, 0 if unknown."""
    name = re.sub(r"[^a-z]", "", code.lower())
    return next((status for names, status in CODES if name in names), 0)


def report(document: Any) -> Report | None:
    """The failure that a reply's document reports; None for a document without one."""
    if not isinstance(document, Mapping):
        return None
    if found := document.get("error"):
        return _report(document if found is True else found, document)
    base = document.get("base_resp")  # of MiniMax
    if isinstance(base, Mapping) and base.get("status_code"):
        return Report(0, str(base.get("status_msg") or base), str(base["status_code"]))
    if _ANSWERS & document.keys() or isinstance(document.get("message"), Mapping):
        return None
    marked = document.get("type") == "error" or document.get("object") == "error"
    bare = any(document.get(name) for name in _MESSAGES) and document.get("code") not in (0, 200, "0", "200")
    return _report(document, document) if marked or bare else None


_ANSWERS = {"choices", "candidates", "content", "delta", "content_block", "promptFeedback"}
"""Keys of documents that belong to an answer."""


def read_report(status: int, body: str) -> Report:
    """The failure in the body of a response with an error status: JSON of any dialect, or text."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return Report(status, " ".join(re.sub(r"<[^>]*>", " ", body).split()))
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, Mapping):
        return Report(status, str(document))
    found = _report(document.get("error") or document, document)
    return Report(status, found.message, found.code, found.param)


def _report(found: Any, around: Mapping[str, Any]) -> Report:
    """The failure in the value of an `error` key, or in a document that is one."""
    if not isinstance(found, Mapping):
        names = [around.get(name) for name in ("code", "status", "status_code", "error_type")]
        code = " ".join(str(name) for name in names if name)
        return Report(next(filter(None, map(_status, names)), 0) or _status_in(names), str(found), code)
    numbers = [found.get(name) for name in ("code", "status", "status_code", "http_code", "statusCode")]
    numbers += [around.get(name) for name in ("code", "status", "status_code")] if around is not found else []
    status = next(filter(None, map(_status, numbers)), 0)
    names = [found.get(name) for name in ("code", "type", "status", "reason", "name", "__type")]
    code = " ".join(dict.fromkeys(str(name) for name in names if isinstance(name, str | int) and name))
    message = next((found[name] for name in _MESSAGES if found.get(name)), None)
    if isinstance(message, list) and message and isinstance(message[0], Mapping):
        message = message[0]
    if isinstance(message, Mapping):
        return _report(message, found)
    text = message if isinstance(message, str) else json.dumps(message or dict(found), default=str)
    # A gateway quotes the host behind it here.
    metadata = found.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    text = f"{text}: {raw}" if isinstance(raw, str) and raw and raw not in text else text
    return Report(status or _status_in(names), text, code, str(found.get("param") or ""))


_MESSAGES = ("message", "msg", "detail", "error_msg", "error_message", "errors", "error", "description")


def _status(value: Any) -> int:
    """An HTTP error status, as a number or as text; 0 for anything else."""
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[3-5]\d\d", text) and not isinstance(value, bool) else 0


def _status_in(names: list[Any]) -> int:
    return next(filter(None, (_status_of_code(str(name)) for name in names if name)), 0)


def unreadable(problem: str, body: bytes) -> ProviderError:
    """The error for a body of status 200 that is neither JSON nor events."""
    text = quote(body)
    words = " ".join(re.sub(r"<[^>]*>", " ", text).split())
    if body.lstrip()[:1] == b"<":
        # No model has answered, and the same page comes again.
        message = f"a web page came instead of a reply: check base_url ({words})"
        return ProviderError("not_found", message)
    if TEMPORARY.search(words):
        return failure(Report(0, words))
    return ProviderError("malformed", f"{problem}: {words}", billed=True)


def quote(body: bytes) -> str:
    """The first words of `body`, for a message."""
    return body[:QUOTE_CHARS].decode("utf-8", "replace").strip()


def retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Seconds to wait: from `retry-after-ms`, `Retry-After` (seconds or a date), RetryInfo, or words."""
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
    if info := _RETRY_INFO.search(body):
        return float(info[1])
    words = _TRY_AGAIN.search(body)
    unit = words and (words[2].lower() if words[2].lower() in _UNITS else words[2].lower()[:2])
    return float(words[1]) * _UNITS.get(unit or "", 1.0) if words else None


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


def one_line(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` as one short printable line, without `secrets`."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "[redacted]")
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * MAX_CHARS]).split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"
