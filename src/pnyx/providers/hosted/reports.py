"""Failures in a host's own words, found in replies of any status and dialect.

A host may report a failure as an HTTP status, inside a reply of status 200, or as an event of a stream, and a
gateway may wrap the report of the host behind it in one of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.caching.regex import regex
from .failure_codes import MINIMAX, status_of_code
from .failure_phrases import in_english, in_one_sentence
from .page_titles import page_title
from .report_texts import first_document, read_document

__all__ = ["Report", "read_report", "report"]

MAX_CHARS, MAX_WORDS = 20_000, 4_000
"""Characters of a message that are searched for a document, and read; a host may send much more."""
MAX_CODES = 20
MAX_DEPTH = 4
"""Of reports inside reports."""


@dataclass(frozen=True, slots=True)
class Report:
    """A failure in a host's own words.

    status: HTTP, 0 if unknown. code: the host's names of it. param: the part of the request that it names, as
    a path. items: a report for each part, if it names several. details: names in a longer report. is_page:
    the words are the title of a web page.
    """

    status: int
    message: str
    code: str = ""
    param: str = ""
    items: tuple[Report, ...] = ()
    details: str = field(default="", repr=False)
    is_page: bool = False

    def __post_init__(self) -> None:
        for name in ("message", "code", "param", "details"):
            object.__setattr__(self, name, getattr(self, name)[:MAX_WORDS])

    @property
    def words(self) -> str:
        """All that the kind can be read from."""
        return _ADDRESS.sub("", f"{self.code} {self.details} {self.english}")

    def has(self, stems: tuple[re.Pattern[str], ...]) -> bool:
        """Whether a sentence of the message has a word of each kind, in any order."""
        return in_one_sentence(stems, _ADDRESS.sub("", self.english))

    @property
    def english(self) -> str:
        """The message as the tables of failures can read it."""
        return in_english(self.message)

    @property
    def named_status(self) -> int:
        """The HTTP status that the codes amount to, 0 if they name none; the most telling one."""
        parts = re.split(r"[\s#]+", f"{self.code} {self.details}")
        found = [status for part in (self.code, *parts[:MAX_CODES]) if (status := status_of_code(part))]
        return next((status for status in found if status not in (400, 500)), found[0] if found else 0)


def report(document: Any) -> Report | None:
    """The failure that a reply's document reports; None for a document without one."""
    if not isinstance(document, Mapping):
        return None
    if not document.keys() & _REPORTS:
        # DeepInfra has a failure by another spelling beside no choices.
        if any(document.get(name) for name in _ANSWERS):
            return None
        if document.keys() & _ANSWERS and not _spelt(document).keys() & _REPORTS:
            return None
    document = _spelt(document)
    if (found := document.get("error")) and not _is_no_failure(found):
        return _report(document if found is True else found, document)
    if isinstance(wrapped := document.get("Response"), Mapping) and isinstance(wrapped.get("Error"), Mapping):
        found = {str(name).lower(): value for name, value in wrapped["Error"].items()}  # of Tencent
        return _report(found, found)
    if isinstance(output := document.get("Output"), Mapping) and "__type" in output:  # of Bedrock's gateway
        return _report(output, document)
    if isinstance(state := document.get("status"), Mapping) and _FIVE.fullmatch(str(state.get("code"))):
        return Report(int(str(state["code"])[:3]), str(state.get("message") or state), str(state["code"]))
    base = document.get("base_resp")  # of MiniMax
    if isinstance(base, Mapping) and base.get("status_code"):
        code = str(base["status_code"])
        return Report(MINIMAX.get(code, 0), str(base.get("status_msg") or base), code)
    for name in _FAILURES:
        if (found := document.get(name)) and not _is_no_failure(found):
            return _report(found, document)
    if _ANSWERS & document.keys() or isinstance(document.get("message"), Mapping):
        return None
    if len(document) == 1 and str(name := next(iter(document))).endswith("Exception"):  # of Bedrock
        found = _report(document[name], document)
        return Report(found.status or status_of_code(name), found.message, f"{name} {found.code}".strip())
    marked = document.get("type") == "error" or document.get("object") == "error"
    marked = marked or not _is_no_failure(document.get("error_code"))
    bare = _has_words(document) and document.get("code") not in (0, 200, "0", "200")
    if marked or bare or _has_failed(document):
        return _report(document, document)
    return next((report(part) for part in document.values() if _is_report(part)), None)


def _is_report(part: Any) -> bool:
    """Whether a part of a document has a number and words of a failure, as the header of Spark's own API."""
    if not isinstance(part, Mapping) or not str(part.get("code", "")).isdecimal():
        return False
    return not _is_no_failure(part["code"]) and not _is_no_failure(part.get("message"))


def _spelt(document: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _has_failed(document: Mapping[str, Any]) -> bool:
    """Whether a document without words says by its status that it is a failure, and has no answer."""
    if document.keys() & _ANSWERS_OF_STATUS:
        return False
    state = str(document.get("statusCode") or document.get("status") or "").lower()
    return bool(_status(state)) or state in _FAILED


_FAILED = {"failed", "failure", "error", "canceled", "cancelled"}
_ANSWERS_OF_STATUS = {"object", "output", "response"}
"""Keys of documents with a status whose readers know what it means."""
_FIVE = regex(r"[45]\d{4}")
"""A code of Naver's Clova: an HTTP status and two digits."""


def _is_no_failure(found: Any) -> bool:
    """Whether an error says that there is none, as some gateways send beside every answer."""
    values = found.values() if isinstance(found, Mapping) else (found,)
    return all(value in (None, 0, 200) or str(value).strip().lower() in _NO_FAILURE for value in values)


_NO_FAILURE = {"", "0", "200", "none", "null", "false", "ok", "success", "succeeded", "no error", "no errors"}
_ANSWERS = {"choices", "candidates", "content", "delta", "content_block", "promptFeedback"}
"""Keys of documents that belong to an answer."""
_FAILURES = ("err", "fault", "Error", "error_msg")
_REPORTS = {"error", "Response", "base_resp", *_FAILURES}
"""Keys of failures, which a document may report beside an answer."""


def read_report(status: int, body: str) -> Report:
    """The failure in the body of a response with an error status: JSON of any dialect, a page, or text."""
    try:
        document = first_document(_EVENT.sub("", body, count=1))
    except (ValueError, RecursionError):
        if body.lstrip()[:1] == "<":
            return Report(status, page_title(body), is_page=True)
        text = " ".join(body.split())
        return replace(_report({"message": text}, {}), status=status) if text else Report(status, "")
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, Mapping):
        return Report(status, str(document))
    document = _spelt(document)
    found = report(document) or _report(document.get("error") or document, document)
    if status == 424:  # of Bedrock, with the status of the host behind it
        status = _status(document.get("originalStatusCode")) or status
    return Report(status, found.message, found.code, found.param, found.items, found.details)


_EVENT = regex(r"^\s*(?:event: ?\w*\s+)?data: ?(?=[{\[])")
"""What stands before a report that comes as an event of a stream, of MiMo and Huawei."""
_ADDRESS = regex(r"https?://\S+")
"""Addresses of documentation contain words of other failures."""


def _report(found: Any, around: Mapping[str, Any], depth: int = 0) -> Report:
    """The failure in the value of an `error` key, or in a document that is one."""
    if isinstance(found, list) and found and isinstance(found[0], Mapping):
        found = found[0]
    if not isinstance(found, Mapping):
        names = [around.get(name) for name in ("code", "status", "status_code", "error_type", "error_code")]
        code = " ".join(str(name) for name in names if name)
        if (inner := _inner(found)) is not None and depth < MAX_DEPTH:
            return _framed(_wrapped(inner, around, code, depth), found)
        # Spring, Fastify and Nest have the phrase of the status as `error`, and the words beside it.
        words = next((one for name in _MESSAGES if isinstance(one := around.get(name), str)), "")
        items = _several(around, found)  # of Zod, as Venice sends them
        words = words if not items else "; ".join(one.message for one in items)
        text = f"{found}: {words}" if words not in str(found) else str(found)
        status = next(filter(None, map(_status, names)), 0) or _status_in(names)
        part = next(filter(_has_words, around.values()), None)  # of Databricks
        if part is not None and words in str(found) and depth < MAX_DEPTH:
            inside = _wrapped(part, around, code, depth)
            return replace(inside, message=f"{text}: {inside.message}")
        return Report(status, text, code, items[0].param if items else "", items)
    found = _spelt(found)
    numbers = [found.get(name) for name in ("code", "status", "status_code", "http_code", "statusCode")]
    numbers += [around.get(name) for name in ("code", "status", "status_code")] if around is not found else []
    status = next(filter(None, map(_status, numbers)), 0)
    names = [found.get(name) for name in _CODES]
    code = " ".join(dict.fromkeys(str(name) for name in names if isinstance(name, str | int) and name))
    said = [found[name] for name in (*_MESSAGES, "title", "text") if found.get(name)]
    message = next((one for one in said if isinstance(one, str | list)), said[0] if said else None)
    if isinstance(message, str) and _ONE_WORD.fullmatch(message):
        message = ": ".join(dict.fromkeys(one for one in said if isinstance(one, str)))
    status = status or _status_in(names)
    if items := _several(found, message) or _several(around, message):
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
    param = _path(found.get("param") or found.get("target"))
    if " " in param:  # of MiMo, whose message never says more than that a parameter is wrong
        text, param = f"{text}: {param}", ""
    if behind and not param:
        return Report(status, text, code, behind.param, behind.items, details)
    return Report(status, text, code, param, details=details)


def _has_words(part: Any) -> bool:
    return isinstance(part, Mapping) and any(part.get(name) for name in _MESSAGES)


def _quoted(found: Mapping[str, Any]) -> str | Mapping[str, Any] | None:
    """What a gateway quotes of the host behind it: in a field of its own, or as JSON in any other one."""
    metadata = found.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if isinstance(raw, str | Mapping):
        return raw
    if _has_words(inner := found.get("innererror")):  # of Azure
        return inner
    if _is_words(found.get("details")):
        return "; ".join(map(str, found["details"]))
    return next((value for value in found.values() if isinstance(value, str) and _inner(value)), None)


def _wrapped(inner: Mapping[str, Any], around: Mapping[str, Any], code: str, depth: int) -> Report:
    """The report of the host behind a gateway; `code` and `around` are the gateway's."""
    inner = _spelt(inner)
    found = _report(inner.get("error") or inner, inner, depth + 1)
    status = next(filter(None, (_status(around.get(name)) for name in ("code", "status"))), found.status)
    codes = " ".join(filter(None, (found.code, code)))
    return Report(status, found.message, codes, found.param, found.items, found.details)


def _several(found: Mapping[str, Any], message: Any) -> tuple[Report, ...]:
    """The failures that a report lists: in its message, beside it, or, as Django does, in place of one."""
    listed = [found.get(name) for name in ("errors", "issues", "extra")]
    listed += [mapping.get("fieldViolations") for mapping in _objects(found.get("details"))]  # of Google
    places = (message, *listed, None if message else found)
    named = {**details, **found} if isinstance(details := found.get("details"), Mapping) else found
    placed: list[Any] = [_with_place(*one) for one in named.items() if isinstance(one[1], list)]
    placed += [
        read_document(message) if isinstance(message, str) else None,
        [found] if "loc" in found else None,
    ]
    return next(filter(None, (*map(_items, places), *(_items(one, placed=True) for one in placed))), ())


def _items(found: Any, placed: bool = False) -> tuple[Report, ...]:
    """A report for each of several failures; none if `found` is no list of them.

    placed: or if the first does not say which part of the request it is about. ASP.NET has the messages by
    the field that they are about.
    """
    if isinstance(found, Mapping) and all(_is_words(said) for said in found.values()):
        found = [{"loc": name.removeprefix("$."), "msg": said[0]} for name, said in found.items()]
    listed = [one for one in found[:MAX_CODES] if isinstance(one, Mapping)] if isinstance(found, list) else []
    return tuple(map(_item, listed)) if listed and (not placed or _place(listed[0])) else ()


def _with_place(key: str, listed: list[Any]) -> list[Any]:
    """A list of names of parameters, such as `unsupported: ["seed"]`, as failures of each."""
    if _OFFERED.match(key) or not all(isinstance(one, str) and one.isidentifier() for one in listed):
        return listed
    return [{"loc": one, "msg": key} for one in listed]


_OFFERED = regex(r"support|allow|accept|valid|known|expect|permit|available|model|stack|loc", re.IGNORECASE)
"""Starts of keys whose lists name what would be fine, or nothing of a request."""


def _is_words(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and isinstance(found[0], str)


def _item(found: Mapping[str, Any]) -> Report:
    """One of several failures: of pydantic, whose `loc` starts with "body", or of a host like it."""
    path = _place(found)
    text = next((str(found[name]) for name in _MESSAGES if found.get(name)), json.dumps(found, default=str))
    kind = found.get("type") or found.get("code")
    return Report(0, f"{path}: {text}" if path else text, str(kind or ""), path)


def _place(found: Mapping[str, Any]) -> str:
    """The part of the request that one of several failures is about: JSON:API's `source`, Ajv's `params`."""
    places = dict(found)
    for inner in _objects([found.get("source"), found.get("params")]):
        places |= inner
    return _path(next((places[name] for name in _PLACES if places.get(name)), ""))


def _path(value: Any) -> str:
    """A part of the request, such as "tools[0].function"; a JSON pointer is one too."""
    if isinstance(value, list | tuple):
        return ".".join(str(part) for part in value if part != "body")
    if not isinstance(value, str) or value in ("None", "null"):
        return ""
    return value.lstrip("#/").replace("/", ".") if value.startswith(("/", "#/")) else value


def _inner(value: Any) -> Mapping[str, Any] | None:
    """The document that a message is, or that it holds as text, alone or among other words."""
    if not isinstance(value, str):
        return value if isinstance(value, Mapping) and value else None
    match = _DOCUMENT.fullmatch(value[:MAX_CHARS])
    document = read_document(match["document"]) if match else None
    if match is None or not isinstance(document, Mapping) or not document:
        return None
    words = document.get("message")
    is_report = any(map(document.get, _REPORTED)) or isinstance(words, str) or _has_words(words)
    is_report = is_report or _ONE_WORD.fullmatch(str(document.get("code"))) is not None
    return document if is_report or not match["before"].strip("[ \n") else None


def _framed(inner: Report, value: Any) -> Report:
    """The report in a document with the words around it in `value`: "AnthropicException - {...}"."""
    if not isinstance(value, str) or (match := _DOCUMENT.fullmatch(value[:MAX_CHARS])) is None:
        return inner
    before, after = match["before"], match["after"].rstrip("]")
    before = before if "]" in before else before.lstrip("[")
    return replace(inner, message=f"{before}{inner.message}{after}".strip())


_ONE_WORD = regex(r"[a-z]+(?:_[a-z]+)+")  # a code, with its words in another field
_DOCUMENT = regex(r"(?P<before>[^{]*)(?P<document>\{.*\})(?P<after>[^}]*)", re.DOTALL)


def _details(value: Any) -> Iterator[str]:
    """Yield the names in Google's details: the reason, and the quotas that are used up."""
    for one in _objects(value):
        yield from (str(one[name]) for name in ("reason", "quotaId") if one.get(name))
        if one.get("retryDelay"):
            yield f"retry in {one['retryDelay']}"
        yield from _details(one.get("violations"))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


_EXTRA = "additionalProperty"
_REPORTED = ("error", "errors", "detail", "msg", "error_msg")
"""Keys of a report that no schema and no request has."""
_PLACES = ("loc", "path", "param", "field", "key", "pointer", "instancePath", "parameter", "name", _EXTRA)
_MESSAGES = ("message", "msg", "detail", "error_msg", "errors", "error", "description", "faultstring")
_CODES = ("code", "type", "status", "reason", "name", "__type", "error_code", "error_type")


def _status(value: Any) -> int:
    """An HTTP error status, as a number or as text; 0 for anything else."""
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[3-5]\d\d", text) and not isinstance(value, bool) else 0


def _status_in(names: list[Any]) -> int:
    found = [status for name in names if name and (status := status_of_code(str(name)))]
    return next((status for status in found if status not in (400, 500)), found[0] if found else 0)
