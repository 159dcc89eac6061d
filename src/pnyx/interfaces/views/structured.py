"""Structured replies for people: the object that a model wrote, as Markdown, never as raw JSON.

`web/src/debate/structured.ts` writes the same words for the page; `web/tests/structured.json` tests both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.caching.regex import regex
from ...core.events import CallFinished

__all__ = ["as_prose", "reply_text"]

BALLOTS = {"FINALIZE": "Endorses {label}.", "REVISE": "Asks for a revision.", "SPLIT": "Sees a split."}
APPROVALS = {"APPROVE": "Approves.", "REJECT": "Rejects."}
_FENCE = regex(r"[ \t]*(?:```|~~~)[\w-]*[ \t]*\n?\Z")
_FENCE_END = regex(r"\s*\n[ \t]*(?:```|~~~)[ \t]*(?=\n|\Z)")


def reply_text(event: CallFinished) -> str:
    """The text of a reply for people. What was asked for as an object is shown in words."""
    return event.text if event.source is None else as_prose(event.text)


def as_prose(text: str) -> str:
    """`text` with each of its outermost JSON objects in words. Other text stays as it is."""
    out: list[str] = []
    at = 0
    for start, end, value in _objects(text):
        before, after = text[at:start], text[end:]
        if (opening := _FENCE.search(before)) and (closing := _FENCE_END.match(after)):
            before, end = before[: opening.start()], end + closing.end()
        out += [before, _words(value)]
        at = end
    return "".join([*out, text[at:]]).strip() if out else text


def _objects(text: str) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Yield the outermost objects in `text` that are valid JSON: start, end and value."""
    at, decoder = text.find("{"), json.JSONDecoder()
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if value:
                yield at, end, value
        at = text.find("{", end)


def _words(value: Mapping[str, Any]) -> str:
    known = (_ballot, _approval, _plan, _groups)
    return next(filter(None, (write(value) for write in known)), "") or _fields(value)


def _ballot(value: Mapping[str, Any]) -> str:
    vote, ranking = value.get("vote"), value.get("ranking")
    if vote not in BALLOTS:
        return ""
    label = _text(value.get("label")) or "no proposal"
    order = "\n\nRanking: " + " > ".join(map(_text, ranking)) if isinstance(ranking, list) and ranking else ""
    return f"**{BALLOTS[vote].format(label=label)}** {_text(value.get('text'))}".strip() + order


def _approval(value: Mapping[str, Any]) -> str:
    verdict = value.get("verdict")
    return f"**{APPROVALS[verdict]}** {_text(value.get('reason'))}".strip() if verdict in APPROVALS else ""


def _plan(value: Mapping[str, Any]) -> str:
    subtasks = value.get("subtasks")
    if not isinstance(subtasks, list) or not all(isinstance(one, dict) for one in subtasks) or not subtasks:
        return ""
    lines = []
    for n, one in enumerate(subtasks, 1):
        needs = one.get("needs")
        after = f" (after {', '.join(map(_text, needs))})" if isinstance(needs, list) and needs else ""
        lines.append(f"{n}. **{_text(one.get('label'))}** {_text(one.get('question'))}{after}")
    return "\n".join(lines)


def _groups(value: Mapping[str, Any]) -> str:
    groups = value.get("groups")
    if set(value) != {"groups"} or not isinstance(groups, list) or not groups:
        return ""
    if not all(isinstance(group, list) for group in groups):
        return ""
    lines = (f"- {' and '.join(map(_text, group))}" for group in groups)
    return "\n".join(["Answers that mean the same:", "", *lines])


def _fields(value: Mapping[str, Any], indent: str = "") -> str:
    """The fields of an object that no form above knows: one paragraph each, or one item each below."""
    parts = []
    for name, one in value.items():
        title = re.sub(r"[_-]+", " ", name).strip()
        title = title[:1].upper() + title[1:]
        if isinstance(one, list | dict) and one:
            parts.append(f"{indent}- **{title}:**\n{_items(one, indent + '  ')}")
        elif indent:
            parts.append(f"{indent}- **{title}:** {_text(one) or 'none'}")
        else:
            parts.append(f"**{title}:** {_text(one) or 'none'}")
    return ("\n" if indent else "\n\n").join(parts)


def _items(value: Any, indent: str) -> str:
    if isinstance(value, dict):
        return _fields(value, indent)
    nested = isinstance(value, list) and any(isinstance(one, list | dict) for one in value)
    if not nested:
        return "\n".join(f"{indent}- {_text(one) or 'none'}" for one in value)
    return "\n".join(
        f"{indent}- {n}.\n{_items(one, indent + '  ')}"
        if isinstance(one, list | dict) and one
        else f"{indent}- {_text(one) or 'none'}"
        for n, one in enumerate(value, 1)
    )


def _text(value: Any) -> str:
    """A value as text: numbers and truth values in plain words, nothing for null."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value.strip()
        case list():
            return ", ".join(map(_text, value))
        case dict():
            return "; ".join(f"{name}: {_text(one)}" for name, one in value.items())
        case float():
            return str(int(value) if value.is_integer() and abs(value) < 1e15 else value)
        case _:
            return str(value)
