"""Calls of the asker's tools as answers: how a reply proposes them, and which proposals are the same.

A proposal is one JSON object, `{"tool_calls": [{"name": …, "arguments": {…}}]}`, at the end of a reply.
Models also write it in the forms that they were trained on, which are read too: a function inside the call,
arguments as text, an object of nothing but name and arguments.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...caching.regex import regex
from ...markup.reasoning import split
from ...parsing.json_objects import Located, field, find_objects
from ...tool_calls import ToolCall

__all__ = ["Proposal", "is_attempt", "read_proposal", "short_calls", "written_calls"]

LONGEST = 200
"""Characters of a short answer with whole arguments; in a longer one each call has a digest of them."""
CALL, JOINT = "call ", "; "
"""Of a short answer: what each call begins with, and what stands between two."""
LAST_WORDS = 200
"""Characters of text after a proposal; before more text, the object is an example within a text."""

_MAY_BE = regex(r"tool_calls?\b|arguments\b")
_ATTEMPT = regex(
    r"[\"'“]tool_calls?[\"'”]\s*:|<tool_calls?>|\{\s*[\"'“]name[\"'”]\s*:[^{}]{1,200}[\"'“]arguments[\"'”]\s*:"
)
_BETWEEN = regex(r"(?:[\s,;\[\]`~]|json\b|</?tool_calls?>)*")
"""What stands between the objects of one proposal: the marks of a list, a fence or a tag."""
_OPENING = regex(r"(?:```[ \t]*\w*|~~~[ \t]*\w*|<tool_calls?>|\[|\s|final answer\W*:)+\Z", 2)
_QUOTED = regex(r"\s*>")
_NAME, _ARGUMENTS = ("name", "tool", "tool_name"), ("arguments", "parameters", "input", "args")
_BARE = frozenset(("name", "arguments", "type", "id", "call_id"))
_PLAIN_NAME = regex(r"[\w.:/-]+")
_SHORT = regex(r'call (?:[\w.:/-]+|"(?:[^"\\]|\\.)*") (?P<digest>\(sha256 [0-9a-f]{16}\))?')


@dataclass(frozen=True, slots=True)
class Proposal:
    """The calls that a reply proposes, in its order, and its text before them."""

    calls: tuple[ToolCall, ...]
    prose: str


@functools.lru_cache(maxsize=256)
def read_proposal(text: str) -> Proposal | None:
    """The calls that `text` ends on; None if it is an answer in words.

    Thinking and block quotations are ignored. Of several proposals the last counts. An object that more than
    a line of text follows is an example.
    """
    if not _MAY_BE.search(text):
        return None
    text = split(text).answer
    end, start, calls = len(text), len(text), list[ToolCall]()
    for one in reversed(list(find_objects(text))):
        found = None if _is_quoted(text, one) else _calls_in(one.value)
        if found is None or not (_BETWEEN.fullmatch(text, one.end, end) if calls else _ends(text, one.end)):
            break
        start = end = one.start
        calls[:0] = found
    return Proposal(tuple(calls), _OPENING.sub("", text[:start]).strip()) if calls else None


def is_attempt(text: str) -> bool:
    """Whether a reply without a readable proposal was meant to be one."""
    return _ATTEMPT.search(split(text).answer) is not None


def written_calls(calls: Sequence[ToolCall]) -> str:
    """Calls as a proposal has them, in their order."""
    entries = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
    return json.dumps({"tool_calls": entries}, ensure_ascii=False)


def short_calls(text: str) -> str | None:
    """The short answer of a reply that proposes calls, as in `call read {"line": 7}`; None for other text.

    Calls are the same if their names are and their arguments are equal as JSON; calls of one answer have no
    order. The short answer of a short answer is itself.
    """
    if text.startswith(CALL) and (short := _read_short(text)):
        return short
    proposal = read_proposal(text)
    if proposal is None:
        return None
    entries = sorted((_name(call), _arguments(call)) for call in proposal.calls)
    whole = JOINT.join(f"{CALL}{name} {arguments}" for name, arguments in entries)
    if len(whole) <= LONGEST:
        return whole
    return JOINT.join(sorted(f"{CALL}{name} (sha256 {_digest(arguments)})" for name, arguments in entries))


def _name(call: ToolCall) -> str:
    return call.name if _PLAIN_NAME.fullmatch(call.name) else json.dumps(call.name, ensure_ascii=False)


def _arguments(call: ToolCall) -> str:
    return json.dumps(_plain(call.arguments), sort_keys=True, ensure_ascii=False)


def _digest(arguments: str) -> str:
    return hashlib.sha256(arguments.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@functools.lru_cache(maxsize=1024)
def _read_short(text: str) -> str:
    """The short answer in canonical form that `text` is; empty if it is none."""
    at, found = 0, list[str]()
    while match := _SHORT.match(text, at):
        at, piece = match.end(), match[0]
        if match["digest"] is None:
            try:
                value, at = json.JSONDecoder().raw_decode(text, at)
            except (ValueError, RecursionError):
                return ""
            if not isinstance(value, dict):
                return ""
            piece += json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)
        found.append(piece)
        if at == len(text):
            return JOINT.join(sorted(found))
        if not text.startswith(JOINT, at):
            return ""
        at += len(JOINT)
    return ""


def _plain(value: Any) -> Any:
    """`value` with whole numbers as such: 1.0 is 1 in JSON, and true is not."""
    match value:
        case Mapping():
            return {key: _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _ends(text: str, end: int) -> bool:
    """Whether an object that ends there is the end of the reply, but for a few words."""
    rest = text[_BETWEEN.match(text, end).end() :]  # type: ignore[union-attr]  # it matches nothing too
    return len(rest) <= LAST_WORDS


def _is_quoted(text: str, one: Located) -> bool:
    return _QUOTED.match(text, text.rfind("\n", 0, one.start) + 1) is not None


def _calls_in(document: Mapping[str, Any]) -> list[ToolCall] | None:
    """The calls in an object, or None if it is not a proposal."""
    listed = field(document, "tool_calls", "tool_call")
    if listed is None:
        # Any other object may have a name, so a bare call has nothing but what a call has.
        bare = {"name", "arguments"} <= document.keys() <= _BARE or _function(document) is not None
        call = _call(document) if bare else None
        return None if call is None else [call]
    calls = [_call(one) for one in (listed if isinstance(listed, list) else [listed])]
    found = [call for call in calls if call is not None]
    return found if found and len(found) == len(calls) else None


def _function(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    function = document.get("function")
    return (
        function if isinstance(function, Mapping) and document.keys() <= {"function", "type", "id"} else None
    )


def _call(entry: object) -> ToolCall | None:
    if not isinstance(entry, Mapping):
        return None
    function = entry.get("function")
    entry = function if isinstance(function, Mapping) else entry
    name, arguments = field(entry, *_NAME), field(entry, *_ARGUMENTS)
    name = function if isinstance(function, str) and name is None else name
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}", strict=False)
        except (ValueError, RecursionError):
            return None
    if not isinstance(name, str) or not name.strip() or not isinstance(arguments, Mapping | None):
        return None
    try:
        return ToolCall("", name.strip(), dict(arguments or {}))
    except ValueError:
        return None
