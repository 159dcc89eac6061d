"""Usage as each dialect reports it, taken off the wire before an SDK sees it.

The SDKs refuse a whole answer for an odd count in it, or drop the count. Here the report is set
aside as it came, and the SDK gets one that it accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import Usage
from ...core.regex import regex

__all__ = ["ANTHROPIC", "GOOGLE", "MISTRAL", "OPENAI", "Meter"]

MOST_MADE = 1_000_000
"""Tokens that one answer may have: a total that tells of more is none."""


@dataclass(frozen=True, slots=True)
class Meter:
    """One dialect's report of usage.

    key: its name, at the top of a document or under `within`. marks: found in documents that hold, or should
    hold, a report. filler: what the SDK gets instead, None for nothing. count: the merged reports as
    (input, cached, output, reasoning) tokens; raises where they are not whole numbers. searched: where in
    them the host's own searches of the web are counted.
    """

    key: str
    marks: re.Pattern[bytes]
    filler: Mapping[str, int] | None
    count: Callable[[Mapping[str, Any]], tuple[int, ...]]
    within: str = ""
    searched: tuple[str, ...] = ()

    def take(self, raw: bytes, reports: dict[str, Any]) -> bytes:
        """`raw`, one JSON document, with its report moved to `reports`; unchanged where it is not one."""
        if not self.marks.search(raw):
            return raw
        try:
            document = json.loads(raw)
        except (ValueError, RecursionError):
            return raw
        holder = document.get(self.within) or document if isinstance(document, dict) else None
        if not isinstance(holder, dict):
            return raw
        report = holder.pop(self.key, None)
        if isinstance(report, dict):
            # Reports inside one stream are cumulative, and later ones leave out what did not change.
            reports.update({k: v for k, v in report.items() if v is not None})
        if self.filler is not None:
            holder[self.key] = self.filler
        return json.dumps(document).encode()

    def take_events(self, block: bytes, reports: dict[str, Any]) -> bytes:
        """`block`, whole lines of server-sent events, likewise."""
        if not self.marks.search(block):
            return block
        lines = block.split(b"\n")
        for i, line in enumerate(lines):
            if line.startswith(b"data:"):
                lines[i] = b"data: " + self.take(line[5:].strip(), reports)
        return b"\n".join(lines)

    def usage(self, reports: Mapping[str, Any]) -> Usage | None:
        """The reports as tokens, however odd, or None where they are not whole numbers or say nothing."""
        try:
            counts = self.count(reports)
        except (AttributeError, LookupError, ValueError, OverflowError):
            return None
        return Usage(*counts) if any(counts) else None

    def searches(self, reports: Mapping[str, Any]) -> int | None:
        """How many searches the reports tell of, or None where they do not, or tell no whole number."""
        found: Any = reports
        try:
            for name in self.searched:
                found = found[name]
            return _whole(found)
        except (LookupError, TypeError, ValueError, OverflowError):
            return None


def _openai(report: Mapping[str, Any]) -> tuple[int, ...]:
    # DeepSeek names its cached tokens otherwise.
    cached = _part(report, "prompt_tokens_details", "cached_tokens") or _part(
        report, "prompt_cache_hit_tokens"
    )
    reasoning = _part(report, "completion_tokens_details", "reasoning_tokens")
    sent = _whole(report["prompt_tokens"])
    return sent, cached, _made(report, sent), reasoning


def _made(report: Mapping[str, Any], sent: int) -> int:
    """The output. Some hosts, such as xAI's and Google's, count in the total alone what was thought."""
    told = _whole(report["completion_tokens"])
    try:
        whole = _part(report, "total_tokens") - sent
    except ValueError:
        return told
    return whole if sent >= 0 and 0 <= told < whole <= MOST_MADE else told


def _anthropic(report: Mapping[str, Any]) -> tuple[int, ...]:
    cached = _part(report, "cache_read_input_tokens")
    sent = _whole(report["input_tokens"]) + cached + _part(report, "cache_creation_input_tokens")
    return (
        sent,
        cached,
        _whole(report["output_tokens"]),
        _part(report, "output_tokens_details", "thinking_tokens"),
    )


def _google(report: Mapping[str, Any]) -> tuple[int, ...]:
    sent = _whole(report["promptTokenCount"]) + _part(report, "toolUsePromptTokenCount")
    thoughts = _part(report, "thoughtsTokenCount")
    made = _part(report, "candidatesTokenCount") + thoughts
    return sent, _part(report, "cachedContentTokenCount"), made, thoughts


def _part(report: Mapping[str, Any], *path: str) -> int:
    """A count that a report may leave out."""
    found: Any = report
    for name in path:
        found = found.get(name, {})
    return _whole(found) if found or found == 0 else 0


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int | float) or number % 1:
        raise ValueError(number)
    return int(number)


OPENAI = Meter(
    "usage",
    regex(rb'"usage"\s*:\s*[^\sn]'),
    None,
    _openai,
    searched=("server_tool_use_details", "web_search_requests"),
)
MISTRAL = Meter(
    "usage",
    regex(rb'"usage"\s*:\s*[^\sn]|"object"\s*:\s*"chat.completion"'),
    {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    _openai,
)
ANTHROPIC = Meter(
    "usage",
    regex(rb'"type"\s*:\s*"message(_start|_delta)?"'),
    {"input_tokens": 0, "output_tokens": 0},
    _anthropic,
    within="message",
    searched=("server_tool_use", "web_search_requests"),
)
GOOGLE = Meter("usageMetadata", regex(rb'"usageMetadata"'), None, _google)
