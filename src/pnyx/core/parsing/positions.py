"""Positions in a debate: the other side at its strongest, what is wrong with it, and what one decides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..answers.extract import final_answer, same
from ..answers.values import is_missing
from ..regex import regex
from .authorship import Heard, hear
from .directives import Unreadable, said
from .json_objects import field, object_schema

__all__ = ["POSITION", "Position", "read_position"]


@dataclass(frozen=True, slots=True)
class Position:
    """What a seat holds. answer: the short answer it decides on, None where there is none.

    steelman, critique: empty where the seat left them out.
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
_FINAL = regex(r"[\W_]*final\s+answer\b", re.IGNORECASE)
_WANTED = "give the sections STEELMAN, CRITIQUE and DECISION once, the last with your answer and why"
_MOST = 10
"""Decisions in one reply that are compared for saying the same."""


def read_position(text: str) -> Position:
    """The position in `text`, from its sections STEELMAN, CRITIQUE and DECISION or a JSON object.

    Without the heading of the decision, the paragraph with the line `Final answer:` is the decision.
    Raises `Unreadable` when there is no decision, or when there are two for different answers.
    """
    heard = hear(text, _HEADING)
    found = [position for document in heard.objects if (position := _in_object(document))]
    found += _in_sections(heard)
    if not found:
        raise Unreadable(f"no DECISION was found: {_WANTED}")
    first, *others = found
    if any(not same(first.answer or first.decision, one.answer or one.decision) for one in others):
        raise Unreadable(f"it decides more than once, for different answers: {_WANTED}")
    return first


def _in_object(document: Mapping[str, Any]) -> Position | None:
    def told(*names: str) -> str:
        value = field(document, *names)
        return str(value).strip() if isinstance(value, str | int | float) else ""

    decision, written = told("decision", "answer", "final_answer"), told("answer", "final_answer")
    if not decision:
        return None
    answer = _named(written)
    ends = final_answer(decision)
    concludes = any(_FINAL.match(line) for line in decision.splitlines())
    if concludes and ends and answer and written != decision and not same(ends, answer):
        raise Unreadable(f"its decision ends on another answer than the one it names: {_WANTED}")
    return Position(told("steelman"), told("critique"), decision, answer or ends)


def _named(written: str) -> str:
    """The answer in a field of its own, where the line's label is often written too; empty without one."""
    value = (final_answer(written) or "") if _FINAL.match(written) else written
    return "" if is_missing(value) else value


@dataclass(slots=True)
class _Section:
    """Lines under a heading. own: those of `written` that are the writer's own words, others empty."""

    name: str
    own: list[str]
    written: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.written).strip()


def _in_sections(heard: Heard) -> list[Position]:
    """A position for each DECISION; they share the other sections."""
    sections = [_Section("", [], [])]
    for own, written in zip(heard.lines, heard.written, strict=True):
        marks = _MARKS.match(own)
        if marks and (heading := _HEADING.fullmatch(own, marks.end())):
            name = next(name for name in ("steelman", "critique", "decision") if heading[name])
            sections.append(_Section(name, [heading["rest"]], [heading["rest"]]))
        else:
            sections[-1].own.append(own)
            sections[-1].written.append(written)
    if not any(section.name == "decision" for section in sections):
        sections = [part for section in sections for part in _split(section)]
    decisions = [s for s in sections if s.name == "decision" and said("\n".join(s.own))]
    if len(decisions) > _MOST:
        raise Unreadable(f"it decides {len(decisions)} times: {_WANTED}")
    steelman, critique = (
        "\n\n".join(s.text for s in sections if s.name == name) for name in ("steelman", "critique")
    )
    return [Position(steelman, critique, s.text, final_answer("\n".join(s.own))) for s in decisions]


def _split(section: _Section) -> list[_Section]:
    """`section`, from the paragraph with the final answer on a decision."""
    start = next((n for n, line in enumerate(section.own) if _FINAL.match(line)), None)
    if start is None:
        return [section]
    while start and section.own[start - 1].strip():
        start -= 1
    return [
        _Section(section.name, section.own[:start], section.written[:start]),
        _Section("decision", section.own[start:], section.written[start:]),
    ]
