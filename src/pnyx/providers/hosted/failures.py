"""What kind of failure a host reports, and whether it cost.

The kind is decided from the status, the codes and the words; the tables are `failure_words`, the cases
`tests/hosts/errors.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus

from ...core.caching.regex import regex
from ...errors import ProviderError
from .failure_words import (
    ADVICE,
    ALLOWANCE,
    BAD_KEY,
    FAILED_GENERATION,
    FILTERED,
    FORM,
    GONE,
    JUDGED,
    KEY,
    LONGER,
    MODEL,
    MONEY,
    NO_CHANNEL,
    NO_MODEL,
    NO_PLACE,
    NOT_NOW,
    PASSING,
    PER_MINUTE,
    PERIOD,
    PLACE,
    QUOTA,
    RATE,
    SPENT,
    STARTING,
    TEMPORARY,
    THROTTLED,
    UNABLE,
    UNSAFE,
)
from .length_words import OF_MODEL, OF_TEXT, OVERFLOW, TOO_LARGE, TOO_LONG
from .output_limits import affordable, is_about_sizes, plain_numbers
from .page_titles import is_xml, page_title, xml_code
from .reports.find import read_report, report
from .reports.report import Report
from .trouble import NO_TLS
from .waits import retry_after

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
LONG_WAIT_S = 60.0
"""A longer wait is not waited for, so its message says it."""
CHECK = "check base_url and the network"
PROXY = "set HTTPS_PROXY or HTTP_PROXY to http://USER:PASSWORD@HOST:PORT"
MAY_HAVE_COST = (504, 524)
"""A gateway waited in vain: the host may have finished the reply, and billed it."""
TEMPORARY_STATUSES = (408, 409, 423, 424, 425, 498, 499)
UNSURE = (0, 400, 401, 403, 422, 429)
PERMANENT_STATUSES = (501, 505, 510, 511)
_OF_A_MODEL = regex(r"model|deployment|engine|(?<!unexpected )endpoint|\bfunction '|模型", re.IGNORECASE)
_NAME = regex(r"\b[A-Z][\w-]{7,}")
"""In Google's details, the cause that its words leave out: a balance, or which quota."""
_TO_TLS = regex(
    r"HTTP request (?:was sent )?to (?:an )?HTTPS|plain HTTP to an?\s(?:SSL|TLS|HTTPS)"
    r"|combination of host and port requires TLS",
    re.IGNORECASE,
)
"""What nginx, servers in Go, Apache and Tomcat say to a request without TLS."""


_TOKEN_RATE = regex(r"\btokens\b[^.]{0,40}\bwait\b", re.IGNORECASE)
"""Too many tokens in some time, and not in one prompt: Bedrock says so without a number."""


class HostError(ProviderError):
    """A failure that a host reported.

    wait: seconds, as the host asks for. about_request: a request without what it refuses may be accepted.
    output_tokens: what the host counts of the reply until then, for the message alone.
    """

    def __init__(
        self, kind: str, report: Report, wait: float | None, billed: bool, about_request: bool
    ) -> None:
        words = report.message or _phrase(report.status)
        shown = " ".join(filter(None, (f"HTTP {report.status}:" if report.status else "", words)))
        if kind == "not_found" and not _OF_A_MODEL.search(report.words):
            shown = f"{shown.removesuffix('.')}: check base_url"
        elif report.is_page and kind in ("auth", "refused"):
            check = "check the key and base_url" if report.status == 401 else CHECK
            shown = f"{shown} (a web page and no API: {check})"
        elif kind in ("rate_limited", "refused") and (names := dict.fromkeys(_NAME.findall(report.details))):
            shown = f"{shown} ({', '.join(names)})"
        if wait is not None and wait > LONG_WAIT_S and retry_after({}, report.message) is None:
            shown = f"{shown.removesuffix('.')} (it asks for a wait of {wait:,.0f} s)"
        super().__init__(kind, shown, retry_after=wait, billed=billed)
        self.report = report
        self.about_request = about_request
        self.output_tokens = 0


def failure(found: Report, headers: Mapping[str, str] | None = None, body: str = "") -> HostError:
    """The error for what a host reports. headers, body: of an error status, the former looked up in lower
    case; a report inside a reply of status 200 has none.

    An error inside a reply is never billed. An error status may be if a gateway answered in place of its
    host, because that took too long, or if it refuses what the model wrote.
    """
    if 300 <= found.status < 400:
        # A request with a key goes nowhere else than to the configured host.
        target = (headers or {}).get("location") or "an address that it does not name"
        found = replace(found, message=f"it redirects to {target}: check base_url")
    if found.status == 407:
        found = replace(found, message=f"the proxy asks for a user and a password: {PROXY}", is_page=False)
    if found.status in (400, 426, 497) and _TO_TLS.search(f"{found.message} {body[: MAX_CHARS * 4]}"):
        found = replace(found, message=NO_TLS, is_page=False)
    final = _final_kind(found)
    kind = final or _kind(found)
    wait = None
    if kind in ("rate_limited", "overloaded"):
        wait = retry_after(headers or {}, body or f"{found.message} {found.details} {found.waits}")
    wrote = kind == "malformed" and found.status != 0
    about_request = (final == "" and not wrote) or affordable(found.english) is not None
    billed = headers is not None and (wrote or found.status in MAY_HAVE_COST)
    return HostError(kind, found, wait, billed, about_request)


def _phrase(status: int) -> str:
    """The standard words for a status that came without any."""
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "no words" if status else ""


def _final_kind(found: Report) -> str:
    """The kind of a failure that no other request and no wait changes; "" for another failure."""
    status, words = _standard(found.status), found.words
    if 402 in (status, found.named_status) and status != 429:
        return "refused"
    # An empty account does not fill by waiting, whatever its status.
    if _is_spent(status, _without_advice(found)):
        return "refused"
    of_time = RATE.search(words) or retry_after({}, found.message) is not None
    if not (status or found.named_status) and found.has(ALLOWANCE) and not of_time:
        return "refused"
    if status != 429 and _is_filtered(status, found) and not found.has(OVERFLOW):
        return "refused"
    if (
        NO_PLACE.search(words)
        or (status in UNSURE and found.has(PLACE))
        or (status in (0, 500) and UNABLE.search(words))
    ):
        return "refused"
    of_model = NO_MODEL.search(words) is not None
    of_key = status != 500 and found.named_status not in (404, 429) and found.has(KEY) and not of_model
    # OpenCode refuses a model that it has not with the status of a key.
    if status == 401 and NOT_NOW.search(words):
        return ""
    if status == 401 and found.named_status != 404 and (of_key or not of_model or BAD_KEY.search(words)):
        return "auth"
    if status in (0, 400, 403, 422, 498, 500) and (BAD_KEY.search(words) or of_key):
        return "auth"
    return "auth" if found.named_status == 401 and status in (0, 400, 403) else ""


def _is_filtered(status: int, found: Report) -> bool:
    """Whether a filter refuses the request. Words of a broken server may be about a filter that failed."""
    if status >= 500:
        return bool(FILTERED.search(found.code) or JUDGED.search(found.english))
    return bool(FILTERED.search(found.words)) or found.has(UNSAFE)


def _without_advice(found: Report) -> Report:
    """`found` without advice on how to raise a limit, if a rate remains: buying credits is not its cause."""
    cause = replace(found, message=ADVICE.sub("", found.english))
    return cause if RATE.search(cause.english) else found


def _is_spent(status: int, found: Report) -> bool:
    """Whether money is used up, or an allowance of a day or longer, of which the host says no other wait."""
    words, throttled = found.words, THROTTLED.search(found.code)
    if status in (0, 429) and PER_MINUTE.search(found.english) and not LONGER.search(found.english):
        return False
    if found.named_status == 402 or SPENT.search(words) or (QUOTA.search(words) and not throttled):
        return True
    if status not in UNSURE:
        return False
    if found.has(MONEY) or not found.has(PERIOD) or throttled:
        return found.has(MONEY)
    return retry_after({}, found.message) is None


def _kind(found: Report) -> str:
    named, words = found.named_status, found.words
    status = _standard(found.status) or named
    if status == 500 and found.is_of_rpc:
        status = named  # of the host behind a gateway
    unsure = status in (0, 400, 422, 424, 500)
    of_time = named == 429 or _TOKEN_RATE.search(words) or (status == 0 and PER_MINUTE.search(words))
    if unsure and of_time and not TOO_LARGE.search(words):
        return "rate_limited"
    if status in (0, 400, 422, 424, 500) and FAILED_GENERATION.search(words):
        return "malformed"
    if (
        status in (413, 417)
        or (unsure and named == 413)
        or ((unsure or status == 403) and _is_too_long(found))
        or (status in (502, 503) and found.has(OVERFLOW))  # of the host behind a gateway
    ):
        return "too_long"
    if status == 429 and TOO_LARGE.search(words):
        return "too_long"
    if status in (0, 400, 404, 422) and STARTING.search(words) and not GONE.search(found.english):
        return "overloaded"
    if (
        status in (404, 405, 410)
        or (status == 503 and named == 404)
        or (status in (0, 503) and NO_CHANNEL.search(words))
        or (
            status in (0, 400, 401, 403, 422)
            and (named == 404 or NO_MODEL.search(words) or found.has(MODEL))
            and not NOT_NOW.search(words)
        )
    ):
        return "not_found"
    if status in (420, 429) or (status in (0, 400, 403, 422) and (named == 429 or RATE.search(words))):
        return "rate_limited"
    if status in (401, 403):
        # A key that is refused is not taken after a wait.
        if retry_after({}, found.message) is not None:
            return "rate_limited"
        if PASSING.search(words):
            return "overloaded"
        return "refused" if found.has(FORM) else "auth"
    if status in TEMPORARY_STATUSES or (status >= 500 and status not in PERMANENT_STATUSES):
        return "overloaded"
    if status in (0, 400) and ((named >= 500 and TEMPORARY.search(words)) or PASSING.search(words)):
        return "overloaded"
    if status == 0 and TEMPORARY.search(words):
        return "overloaded"
    return "refused" if found.status or status else "malformed"


def _standard(status: int) -> int:
    """The status; 0 for one that no standard has: words say more than iFlow's 439 of an expired key."""
    return status if status in {*HTTPStatus, 420, *TEMPORARY_STATUSES} or status >= 500 else 0


def _is_too_long(found: Report) -> bool:
    return (
        bool(TOO_LONG.search(f"{found.code} {found.details}"))
        or found.has((TOO_LONG, OF_TEXT))
        or found.has(OVERFLOW)
        or found.has(OF_MODEL)
        or _is_long_text(found)
        or _is_over_a_limit(found.english)
        or is_about_sizes(plain_numbers(found.english))
    )


def _is_over_a_limit(message: str) -> bool:
    """Whether a message compares the length of the prompt with a lower number."""
    for pattern in (_OVER, _UNDER):
        for match in pattern.finditer(message):
            length, limit = (int(match[name].replace(",", "")) for name in ("length", "limit"))
            if length > limit and not _OF_OUTPUT.search(match[0]):
                return True
    counts = {int(match["length"].replace(",", "")) for match in _COUNT.finditer(message)}
    return len(counts) == 2 and _TOKENS.search(message) is not None and not _OF_OUTPUT.search(message)


_LENGTH, _LIMIT = (rf"(?<![\w.])(?P<{name}>\d[\d,]{{2,11}})(?![\w.]\d)" for name in ("length", "limit"))
_COUNT = regex(_LENGTH)
_TOKENS = regex(r"\btokens\b", re.IGNORECASE)
"""Two numbers of tokens are the length of the prompt and its limit, whatever the words between them."""
_OVER = regex(
    r"\b(?:tokens?|length|sequence|context|input|prompt|request|conversation|messages?)\b"
    rf"[^.;]{{0,60}}?{_LENGTH}[^.;]{{0,40}}?(?:exceed|(?:greater|more|longer|larger|higher) than|over|above|>"
    rf"|tokens long\b.{{0,20}}max|can (?:take|hold)|accepts|allows)[^.;]{{0,60}}?{_LIMIT}",
    re.IGNORECASE,
)
_UNDER = regex(
    rf"(?:up to|at most|max(?:imum)?|limit|no more than|longest)\b[^.;]{{0,40}}?{_LIMIT}[^.;]{{0,40}}?"
    rf"(?:\bbut\b|received|given|\bgot\b|\bhas\b|\bis\b|contains?|requested)[^.;]{{0,40}}?{_LENGTH} tokens",
    re.IGNORECASE,
)
_OF_OUTPUT = regex(
    r"max_?(?:new_|gen_)?tokens|max_gen|output|completion|generat|minute|quota|rate", re.IGNORECASE
)


def _is_long_text(found: Report) -> bool:
    """Whether a text of the conversation is over a limit of characters."""
    message = re.split(r" - |\berror: ", found.english)[-1]  # behind the words of a client or gateway
    long = "string_above_max_length" in f"{found.code} {message}" or "string too long" in message
    part = found.param or (match[1] if (match := _PART.search(message)) else "messages")
    is_text = re.split(r"[.\[]", part)[0] in ("messages", "input", "prompt", "contents")
    return long and is_text and not part.endswith((".id", ".name"))


_PART = regex(r"^\W*(?:invalid )?(?:['\"`](?=[\w.\[\]]+['\"`])|(?=[\w.\[\]]+: ))([\w.\[\]]+)", re.IGNORECASE)


def unreadable(problem: str, body: bytes) -> ProviderError:
    """The error for a body of status 200 that is neither JSON nor events."""
    text = quote(body)
    if body.lstrip()[:1] == b"<":
        page = body.decode("utf-8", "replace")
        title = page_title(page)[:QUOTE_CHARS]
        found = failure(Report(0, title, xml_code(page)))
        # A page may be that of a proxy without its host: "502 Bad Gateway".
        if found.kind != "malformed" and (is_xml(page) or found.kind in ("overloaded", "rate_limited")):
            return found
        # No model has answered, and the same page comes again.
        return ProviderError(
            "not_found", f"a web page came instead of a reply: check base_url and the network ({title})"
        )
    words = " ".join(text.split())
    found = failure(Report(0, words))
    return (
        found if found.kind != "malformed" else ProviderError("malformed", f"{problem}: {words}", billed=True)
    )


def quote(body: bytes) -> str:
    """The first words of `body`, for a message."""
    return body[:QUOTE_CHARS].decode("utf-8", "replace").strip()


def one_line(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` as one short printable line, without `secrets`."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "[redacted]")
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * MAX_CHARS]).split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"
