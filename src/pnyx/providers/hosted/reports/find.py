"""Finds the failures that documents of any status and dialect report.

A host may report a failure as an HTTP status, inside a reply of status 200, or as an event of a stream, and a
gateway may wrap the report of the host behind it in one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ....core.caching.regex import regex
from ..failure_codes import MINIMAX, status_of_code
from ..page_titles import is_xml, page_title, xml_code
from ..waits import fields_of_waits
from .read import has_words, read_failure, spelt, status_number
from .report import Report
from .texts import first_document

__all__ = ["read_report", "report", "unknown_words"]


def report(document: Any) -> Report | None:
    """The failure that a reply's document reports; None for a document without one."""
    if not isinstance(document, Mapping):
        return None
    if not document.keys() & _REPORTS and any(document.get(name) for name in _ANSWERS):
        return None
    found = _report(document)
    return found and replace(found, waits=fields_of_waits(document))


def _report(document: Mapping[str, Any]) -> Report | None:
    # DeepInfra has a failure by another spelling beside no choices.
    if document.keys() & _ANSWERS and not spelt(document).keys() & _REPORTS:
        said = report({name: document[name] for name in ("message", "msg", "detail") if name in document})
        return said and replace(said, may_be_note=True)
    document = spelt(document)
    if (found := document.get("error")) and not _is_no_failure(found):
        return read_failure(document if found is True else found, document)
    if isinstance(wrapped := document.get("Response"), Mapping):  # of Tencent
        found = wrapped.get("Error") or wrapped.get("ErrorMsg")
        if isinstance(found, Mapping) and not _is_no_failure(found):
            return read_failure(found, found)
    if isinstance(output := document.get("Output"), Mapping) and "__type" in output:  # of Bedrock's gateway
        return read_failure(output, document)
    if isinstance(state := document.get("status"), Mapping) and _FIVE.fullmatch(str(state.get("code"))):
        return Report(int(str(state["code"])[:3]), str(state.get("message") or state), str(state["code"]))
    base = document.get("base_resp")  # of MiniMax
    if isinstance(base, Mapping) and base.get("status_code"):
        code = str(base["status_code"])
        return Report(MINIMAX.get(code, 0), str(base.get("status_msg") or base), code)
    for name in _FAILURES:
        if (found := document.get(name)) and not _is_no_failure(found):
            return read_failure(found, document)
    if _ANSWERS & document.keys() or isinstance(document.get("message"), Mapping):
        return None
    if len(document) == 1 and str(name := next(iter(document))).endswith("Exception"):  # of Bedrock
        found = read_failure(document[name], document)
        return Report(found.status or status_of_code(name), found.message, f"{name} {found.code}".strip())
    marked = document.get("type") == "error" or document.get("object") == "error"
    marked = marked or not _is_no_failure(document.get("error_code")) or _has_failed(document)
    words = {name: value for name, value in document.items() if not _is_no_failure(value)}
    bare = has_words(words) and document.get("code") not in (0, 200, "0", "200")
    if marked or bare:
        return replace(read_failure(document, document), may_be_note=not marked)
    if found := next((report(part) for part in document.values() if _is_report(part)), None):
        return found
    if "type" in document or "object" in document:
        return None  # an event of a known API says by its type what it reports
    nested = next((report(part) for part in document.values() if _holds_report(part)), None)
    return nested and replace(nested, may_be_note=True)


def unknown_words(document: Any) -> str:
    """What a document of a form that nobody knows says; "" for one that may be part of a reply."""
    if isinstance(document, str) and document.lstrip()[:1] == "{":
        return ""
    if isinstance(document, Mapping) and (
        document.keys() & _KNOWN or isinstance(document.get("message"), Mapping)
    ):
        return ""
    return " ".join(_values(document))


def _values(part: Any, depth: int = 0) -> Iterator[str]:
    """Yield the words and numbers in a document."""
    if isinstance(part, Mapping | list) and depth < MAX_DEPTH:
        for one in part.values() if isinstance(part, Mapping) else part:
            yield from _values(one, depth + 1)
    elif isinstance(part, str | int) and not isinstance(part, bool):
        yield str(part)


MAX_DEPTH = 8
"""Of the parts of a document whose words are read."""


def _is_report(part: Any) -> bool:
    """Whether a part of a document has a number and words of a failure, as the header of Spark's own API."""
    if not isinstance(part, Mapping) or not str(part.get("code", "")).isdecimal():
        return False
    return not _is_no_failure(part["code"]) and not _is_no_failure(part.get("message"))


def _holds_report(part: Any) -> bool:
    return isinstance(part, Mapping) and bool(part.keys() & _REPORTS) and not part.keys() & _ANSWERS


def _has_failed(document: Mapping[str, Any]) -> bool:
    """Whether a document without words says by its status that it is a failure, and has no answer."""
    if document.keys() & _ANSWERS_OF_STATUS:
        return False
    state = str(document.get("statusCode") or document.get("status") or document.get("code") or "").lower()
    return bool(status_number(state)) or state in _FAILED


_FAILED = {"failed", "failure", "error", "canceled", "cancelled"}
_ANSWERS_OF_STATUS = {"object", "output", "response"}
"""Keys of documents with a status whose readers know what it means."""
_FIVE = regex(r"[45]\d{4}")
"""A code of Naver's Clova: an HTTP status and two digits."""


def _is_no_failure(found: Any) -> bool:
    """Whether an error says that there is none, as some gateways send beside every answer."""
    values = found.values() if isinstance(found, Mapping) else found if isinstance(found, list) else (found,)
    return all(value in (None, 0, 200) or str(value).strip().lower() in _NO_FAILURE for value in values)


_NO_FAILURE = {"", "0", "200", "none", "null", "false", "ok", "success", "succeeded", "no error", "no errors"}
_ANSWERS = {"choices", "candidates", "content", "delta", "content_block", "promptFeedback"}
"""Keys of documents that belong to an answer."""
_KNOWN = _ANSWERS | {"type", "object", "token", "usage", "completion", "generated_text"}
_FAILURES = ("err", "fault", "Error", "error_msg")
_REPORTS = {"error", "Response", "base_resp", *_FAILURES}
"""Keys of failures, which a document may report beside an answer."""


def read_report(status: int, body: str) -> Report:
    """The failure in the body of a response with an error status: JSON of any dialect, a page, or text."""
    try:
        document = first_document(_EVENT.sub("", body, count=1))
    except (ValueError, RecursionError):
        if body.lstrip()[:1] == "<":
            return Report(status, page_title(body), xml_code(body), is_page=not is_xml(body))
        text = " ".join(body.split())
        return replace(read_failure({"message": text}, {}), status=status) if text else Report(status, "")
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, Mapping):
        return Report(status, str(document))
    document = spelt(document)
    found = report(document) or read_failure(document.get("error") or document, document)
    if status == 424:  # of Bedrock, with the status of the host behind it
        status = status_number(document.get("originalStatusCode")) or status
    return Report(status, found.message, found.code, found.param, found.items, found.details)


_EVENT = regex(r"^\s*(?:event: ?\w*\s+)?data: ?(?=[{\[])")
"""What stands before a report that comes as an event of a stream, of MiMo and Huawei."""
