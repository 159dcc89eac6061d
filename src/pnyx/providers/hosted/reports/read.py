"""Reads the words, codes and parameter of one failure, also of one inside another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ....core.caching.regex import regex
from ..failure_codes import status_of_codes
from .listed import MESSAGES, is_words, listed, objects, path
from .report import Report
from .texts import read_document

__all__ = ["has_words", "read_failure", "spelt", "status_number"]

MAX_CHARS = 20_000
"""Characters of a message that are searched for a document; a host may send much more."""
MAX_DEPTH = 4
"""Of reports inside reports."""


def read_failure(found: Any, around: Mapping[str, Any], depth: int = 0) -> Report:
    """The failure in the value of an `error` key, or in a document that is one."""
    if isinstance(found, list) and found and isinstance(found[0], Mapping):
        found = found[0]
    if not isinstance(found, Mapping):
        names = [around.get(name) for name in ("code", "status", "status_code", "error_type", "error_code")]
        names += [found] if _ONE_NAME.fullmatch(str(found)) else []
        code = " ".join(dict.fromkeys(str(name) for name in names if name))
        if (inner := _inner(found)) is not None and depth < MAX_DEPTH:
            return _framed(_wrapped(inner, around, code, depth), found)
        # Spring, Fastify and Nest have the phrase of the status as `error`, and the words beside it.
        words = next((one for name in MESSAGES if isinstance(one := around.get(name), str)), "")
        items = listed(around, found)  # of Zod, as Venice sends them
        words = words if not items else "; ".join(one.message for one in items)
        text = f"{found}: {words}" if words not in str(found) else str(found)
        status = next(filter(None, map(status_number, (*names, found))), 0) or status_of_codes(
            str(name) for name in names if name
        )
        part = next(filter(has_words, around.values()), None)  # of Databricks
        if part is not None and words in str(found) and depth < MAX_DEPTH:
            inside = _wrapped(part, around, code, depth)
            return replace(inside, message=f"{text}: {inside.message}")
        return Report(status, text, code, items[0].param if items else "", items)
    found = spelt(found)
    numbers = [found.get(name) for name in _NUMBERS]
    numbers += [around.get(name) for name in ("code", "status", "status_code")] if around is not found else []
    status = next(filter(None, map(status_number, numbers)), 0)
    names = [found.get(name) for name in _CODES]
    code = " ".join(dict.fromkeys(str(name) for name in names if isinstance(name, str | int) and name))
    said = [found[name] for name in (*MESSAGES, "title", "text", "info", "reason") if found.get(name)]
    message = next((one for one in said if isinstance(one, str | list)), said[0] if said else None)
    if isinstance(message, str) and _ONE_WORD.fullmatch(message):
        message = ": ".join(dict.fromkeys(one for one in said if isinstance(one, str)))
    status = status or status_of_codes(str(name) for name in names if name)
    if items := listed(found, message) or listed(around, message):
        is_text = isinstance(message, str) and read_document(message) is None and _inner(message) is None
        first = [str(message)] if is_text else []
        text = "; ".join(dict.fromkeys([*first, *(one.message for one in items)]))
        return Report(status, text, code, items[0].param, items)
    if (inner := _inner(message)) is not None and depth < MAX_DEPTH:
        return _framed(_wrapped(inner, found, code, depth), message)
    text = (
        message
        if isinstance(message, str)
        else json.dumps(message or dict(found), ensure_ascii=False, default=str) * bool(message or found)
    )
    raw, behind = _quoted(found), None
    if raw and str(raw) not in text:
        if (inner := _inner(raw)) is not None and depth < MAX_DEPTH:
            behind = _framed(_wrapped(inner, {}, code, depth), raw)
            code = behind.code
        text = f"{text}: {behind.message if behind else raw}"
    details = " ".join(_details(found.get("details")))
    param = path(found.get("param") or found.get("target"))
    if " " in param:  # of MiMo, whose message never says more than that a parameter is wrong
        text, param = f"{text}: {param}", ""
    if behind and not param:
        return Report(status, text, code, behind.param, behind.items, details)
    return Report(status, text, code, param, details=details)


def has_words(part: Any) -> bool:
    """Whether a part of a document has words, which a number is not."""
    return isinstance(part, Mapping) and any(
        part.get(name) and not isinstance(part[name], int | float) for name in MESSAGES
    )


def _quoted(found: Mapping[str, Any]) -> str | Mapping[str, Any] | None:
    """What a gateway quotes of the host behind it: in a field of its own, or as JSON in any other one."""
    metadata = found.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if isinstance(raw, str | Mapping):
        return raw
    if has_words(inner := found.get("innererror")):  # of Azure
        return inner
    if is_words(found.get("details")):
        return "; ".join(map(str, found["details"]))
    return next((value for value in found.values() if isinstance(value, str) and _inner(value)), None)


def _wrapped(inner: Mapping[str, Any], around: Mapping[str, Any], code: str, depth: int) -> Report:
    """The report of the host behind a gateway; `code` and `around` are the gateway's."""
    inner = spelt(inner)
    found = read_failure(inner.get("error") or inner, inner, depth + 1)
    status = next(
        filter(None, (status_number(around.get(name)) for name in ("code", "status"))), found.status
    )
    codes = " ".join(filter(None, (found.code, code)))
    return Report(status, found.message, codes, found.param, found.items, found.details)


def _inner(value: Any) -> Mapping[str, Any] | None:
    """The document that a message is, or that it holds as text, alone or among other words."""
    if not isinstance(value, str):
        return value if isinstance(value, Mapping) and value else None
    match = _DOCUMENT.fullmatch(value[:MAX_CHARS])
    document = read_document(match["document"]) if match else None
    if match is None or not isinstance(document, Mapping) or not document:
        return None
    words = document.get("message")
    is_report = any(map(document.get, _REPORTED)) or isinstance(words, str) or has_words(words)
    is_report = is_report or _ONE_WORD.fullmatch(str(document.get("code"))) is not None
    return document if is_report or not match["before"].strip("[ \n") else None


def _framed(inner: Report, value: Any) -> Report:
    """The report in a document with the words around it in `value`: "AnthropicException - {...}"."""
    if not isinstance(value, str) or (match := _DOCUMENT.fullmatch(value[:MAX_CHARS])) is None:
        return inner
    before, after = match["before"], match["after"].rstrip("]")
    before = before if "]" in before else before.lstrip("[")
    return replace(inner, message=f"{before}{inner.message}{after}".strip())


_ONE_NAME = regex(r"[A-Za-z]\w{2,80}")
_ONE_WORD = regex(r"[a-z]+(?:_[a-z]+)+")  # a code, with its words in another field
_DOCUMENT = regex(r"(?P<before>[^{]*)(?P<document>\{.*\})(?P<after>[^}]*)", re.DOTALL)


def _details(value: Any) -> Iterator[str]:
    """Yield the names in Google's details: the reason, and the quotas that are used up."""
    for one in objects(value):
        yield from (str(one[name]) for name in ("reason", "quotaId") if one.get(name))
        if one.get("retryDelay"):
            yield f"retry in {one['retryDelay']}"
        yield from _details(one.get("violations"))


_REPORTED = ("error", "errors", "detail", "msg", "error_msg")
"""Keys of a report that no schema and no request has."""
_NUMBERS = ("code", "status", "status_code", "statusCode", "http_code", "httpCode", "http_status")
"""Where a report may have an HTTP status."""
_CODES = ("code", "type", "status", "reason", "name", "__type", "error_code", "error_type")


def spelt(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """`document` with the names in `_SPELLINGS` for other spellings of them."""
    names = {name: _SPELLINGS.get(re.sub(r"[^a-z]", "", str(name).lower()), name) for name in document}
    return {names[name]: value for name, value in document.items()}


_SPELLINGS = {
    **dict.fromkeys(("errormessage", "errormsg", "errmsg", "retmsg", "resultmsg", "statusmsg"), "error_msg"),
    "errordescription": "error_msg",
    **dict.fromkeys(("errorcode", "errcode", "errno", "retcode", "resultcode"), "error_code"),
    **dict.fromkeys(("errortype", "errtype"), "error_type"),
    **{name: name for name in ("message", "msg", "code")},  # AWS and Tencent write them with a capital
}
"""Small letters of a name -> the name that the tables have."""


def status_number(value: Any) -> int:
    """An HTTP error status, as a number or as text; 0 for anything else."""
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[3-5]\d\d", text) and not isinstance(value, bool) else 0
