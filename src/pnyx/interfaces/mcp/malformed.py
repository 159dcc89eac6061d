"""The error responses for lines that are no message, so that no client waits for one in vain."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError

from ..requests.json_body import explain_json

__all__ = ["MOST_BYTES", "refusal_of"]

MOST_BYTES = 16 << 20
"""Most bytes of one message."""


def refusal_of(line: str | None) -> JSONRPCError | None:
    """Return the response to a line that is no message, with the id of its request, or null if it has none.

    None for a blank line, and for what is a response itself. line: None for one that is too long.
    """
    if line is None:
        return _refusal(INVALID_REQUEST, f"a message has at most {MOST_BYTES >> 20} MiB")
    if not line.strip():
        return None
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as exc:
        return _refusal(PARSE_ERROR, f"a message is one line of JSON, and this is {explain_json(exc)}")
    if isinstance(document, list):
        return _refusal(INVALID_REQUEST, "MCP has no batches: send each message on a line of its own")
    if not isinstance(document, dict):
        return _refusal(INVALID_REQUEST, "a message is a JSON object")
    if "method" not in document and ("result" in document or "error" in document):
        return None
    id = document.get("id")
    known = isinstance(id, str | int) and not isinstance(id, bool)
    if isinstance(id, str) and any("\ud800" <= character <= "\udfff" for character in id):
        known = False  # no message can carry it
    return _refusal(INVALID_REQUEST, _mistake(document, known), id if known else None)


def _mistake(document: dict[str, Any], known: bool) -> str:
    """What is wrong with an object that is no message. known: whether its id is valid."""
    if document.get("jsonrpc") != "2.0":
        return 'a message has "jsonrpc": "2.0"'
    if "id" in document and not known:
        return "the id of a request is a whole number, or text without unpaired surrogates"
    if not isinstance(document.get("method"), str):
        return "a request has a method, which is text"
    if not isinstance(document.get("params", {}), dict):
        return "the params of a request are an object"
    return "this is not a JSON-RPC message"


def _refusal(code: int, message: str, id: str | int | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message))
