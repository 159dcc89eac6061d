"""Positions in a debate: the strongest case of the other side, its flaws, and the decision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..answers.reading.labels import find_label
from ..answers.replies.extract import final_answer, same
from ..answers.replies.missing import is_missing
from ..caching.regex import regex
from .authorship import OwnWords, own_words
from .directives import Unreadable, strip_punctuation
from .form import Form
from .json_objects import field, object_schema

__all__ = ["POSITION", "Position", "position_form", "read_position"]


@dataclass(frozen=True, slots=True)
class Position:
    """A seat's position. answer: the short answer of its decision, None if there is none.

    steelman, critique: empty if the seat left them out.
    """

    steelman: str
    critique: str
    decision: str
    answer: str | None


_STRING = {"type": "string"}
POSITION = object_schema(
    "position", {"steelman": _STRING, "critique": _STRING, "decision": _STRING, "answer": _STRING}
)
_MARKS = regex(r"[\W_]*(?:(?:\d{1,2}|[ivx]{1,3})[.)]\s[\W_]*)?", re.IGNORECASE)
_HEADING = regex(
    r"(?:(?:part|section|step)\s+\w+[\W_]{1,5}|(?:my|final)\s+)?"
    r"(?:(?P<steelman>steel[\s-]?man(?:ning|ned|s)?)|(?P<critique>critiques?|criticisms?)"
    r"|(?P<decision>decision))\b(?:\s+(?:of|for|on|against)\b[^:：\n]{0,80}?|\s*\([^()\n]{0,80}\))?"
    r"[*_`]*\s*(?:[:：]|[-–—]+\s|\Z)[*_`\s]*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_WANTED = "give the sections STEELMAN, CRITIQUE and DECISION once, the last with your answer and why"
_MOST = 10
"""The most decisions in one reply; each is compared with the first."""


def _concludes(line: str) -> bool:
    """Whether `line` begins with the label of a final answer, in any language."""
    label = find_label(line)
    return bool(label and label.final)


def read_position(text: str, question: str | None = None) -> Position:
    """The position on `question` in `text`.

    It stands in sections STEELMAN, CRITIQUE and DECISION or in a JSON object. Without a DECISION heading, the
    decision starts at the paragraph with the line `Final answer:`. Raises `Unreadable` if there is no
    decision, or if there are two with different answers.
    """
    reply = own_words(text, _HEADING)
    found = [position for document in reply.objects if (position := _in_object(document, question))]
    found += _in_sections(reply, question)
    if not found:
        raise Unreadable(f"no DECISION was found: {_WANTED}")
    first, *others = found
    if any(not same(first.answer or first.decision, one.answer or one.decision, question) for one in others):
        raise Unreadable(f"it decides more than once, for different answers: {_WANTED}")
    return first


def position_form(question: str | None = None) -> Form[Position]:
    """The form of a position on `question`, which can decide how its short answer is read."""

    def from_data(data: Mapping[str, Any]) -> Position:
        position = _in_object(data, question)
        if position is None:
            raise Unreadable(f"no DECISION was found: {_WANTED}")
        return position

    return Form(POSITION, from_data, lambda text: read_position(text, question))


def _in_object(document: Mapping[str, Any], question: str | None) -> Position | None:
    def text_of(*names: str) -> str:
        value = field(document, *names)
        return str(value).strip() if isinstance(value, str | int | float) else ""

    decision, written = text_of("decision", "answer", "final_answer"), text_of("answer", "final_answer")
    if not decision:
        return None
    answer = _named_answer(written, question)
    ends = final_answer(decision, question)
    concludes = any(_concludes(line) for line in decision.splitlines())
    if concludes and ends and answer and written != decision and not same(ends, answer, question):
        raise Unreadable(f"its decision ends on another answer than the one it names: {_WANTED}")
    return Position(text_of("steelman"), text_of("critique"), decision, answer or ends)


def _named_answer(written: str, question: str | None) -> str:
    """The answer in the `answer` field, which may start with "Final answer:"; empty if there is none."""
    value = (final_answer(written, question) or "") if _concludes(written) else written
    return "" if is_missing(value, question) else value


@dataclass(slots=True)
class _Section:
    """The lines under a heading. author_lines: `written`, with lines emptied that are not the author's
    own."""

    name: str
    author_lines: list[str]
    written: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.written).strip()


def _in_sections(reply: OwnWords, question: str | None) -> list[Position]:
    """One position for each DECISION; all share the other sections."""
    sections = [_Section("", [], [])]
    for line, written in zip(reply.lines, reply.written, strict=True):
        marks = _MARKS.match(line)
        if marks and (heading := _HEADING.fullmatch(line, marks.end())):
            name = next(name for name in ("steelman", "critique", "decision") if heading[name])
            sections.append(_Section(name, [heading["rest"]], [heading["rest"]]))
        else:
            sections[-1].author_lines.append(line)
            sections[-1].written.append(written)
    if not any(section.name == "decision" for section in sections):
        sections = [part for section in sections for part in _split(section)]
    decisions = [s for s in sections if s.name == "decision" and strip_punctuation("\n".join(s.author_lines))]
    if len(decisions) > _MOST:
        raise Unreadable(f"it decides {len(decisions)} times: {_WANTED}")
    steelman, critique = (
        "\n\n".join(s.text for s in sections if s.name == name) for name in ("steelman", "critique")
    )
    return [
        Position(steelman, critique, s.text, final_answer("\n".join(s.author_lines), question))
        for s in decisions
    ]


def _split(section: _Section) -> list[_Section]:
    """`section`, split before the paragraph with the final answer, which begins the decision."""
    start = next((n for n, line in enumerate(section.author_lines) if _concludes(line)), None)
    if start is None:
        return [section]
    while start and section.author_lines[start - 1].strip():
        start -= 1
    return [
        _Section(section.name, section.author_lines[:start], section.written[:start]),
        _Section("decision", section.author_lines[start:], section.written[start:]),
    ]
