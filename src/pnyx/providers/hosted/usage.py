"""Usage as each dialect reports it, read before an SDK sees it.

The SDKs refuse a whole reply for an odd count in it, or drop the count. So the report is set aside
unchanged, and the SDK gets one that it accepts.
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

MAX_OUTPUT = 1_000_000
"""Tokens that one reply may have: a larger total is ignored."""


@dataclass(frozen=True, slots=True)
class Meter:
    """One dialect's report of usage.

    key: its name, at the top of a document or under `within`. marks: a pattern of documents that have, or
    should have, a report. filler: what the SDK gets instead, None for nothing. count: returns the merged
    reports as (input, cached, output, reasoning) tokens; raises if they are not whole numbers. search_path:
    where the reports count the host's web searches.
    """

    key: str
    marks: re.Pattern[bytes]
    filler: Mapping[str, int] | None
    count: Callable[[Mapping[str, Any]], tuple[int, ...]]
    within: str = ""
    search_path: tuple[str, ...] = ()

    def extract(self, raw: bytes, reports: dict[str, Any]) -> bytes:
        """Return `raw`, a JSON document, with its report moved to `reports`; unchanged if it is not JSON."""
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
            # Reports in one stream are cumulative, and later ones leave out what did not change.
            reports.update({k: v for k, v in report.items() if v is not None})
        if self.filler is not None:
            holder[self.key] = self.filler
        return json.dumps(document).encode()

    def extract_events(self, block: bytes, reports: dict[str, Any]) -> bytes:
        """Return `block`, whole lines of server-sent events, with their reports moved to `reports`."""
        if not self.marks.search(block):
            return block
        lines = block.split(b"\n")
        for i, line in enumerate(lines):
            if line.startswith(b"data:"):
                lines[i] = b"data: " + self.extract(line[5:].strip(), reports)
        return b"\n".join(lines)

    def usage(self, reports: Mapping[str, Any]) -> Usage | None:
        """The reports as tokens, however odd, or None if they are not whole numbers or all zero."""
        try:
            counts = self.count(reports)
        except (AttributeError, LookupError, ValueError, OverflowError):
            return None
        return Usage(*counts) if any(counts) else None

    def searches(self, reports: Mapping[str, Any]) -> int | None:
        """How many searches the reports count, or None if they have no whole number of them."""
        found: Any = reports
        try:
            for name in self.search_path:
                found = found[name]
            return _count(found)
        except (LookupError, TypeError, ValueError, OverflowError):
            return None


def _openai(report: Mapping[str, Any]) -> tuple[int, ...]:
    # DeepSeek has another name for cached tokens.
    cached = _optional(report, "prompt_tokens_details", "cached_tokens") or _optional(
        report, "prompt_cache_hit_tokens"
    )
    reasoning = _optional(report, "completion_tokens_details", "reasoning_tokens")
    sent = _count(report["prompt_tokens"])
    return sent, cached, _output(report, sent), reasoning


def _output(report: Mapping[str, Any], sent: int) -> int:
    """The output tokens. Some hosts, such as xAI's and Google's, count reasoning in the total alone."""
    output = _count(report["completion_tokens"])
    try:
        rest = _optional(report, "total_tokens") - sent
    except ValueError:
        return output
    return rest if sent >= 0 and 0 <= output < rest <= MAX_OUTPUT else output


def _anthropic(report: Mapping[str, Any]) -> tuple[int, ...]:
    cached = _optional(report, "cache_read_input_tokens")
    sent = _count(report["input_tokens"]) + cached + _optional(report, "cache_creation_input_tokens")
    return (
        sent,
        cached,
        _count(report["output_tokens"]),
        _optional(report, "output_tokens_details", "thinking_tokens"),
    )


def _google(report: Mapping[str, Any]) -> tuple[int, ...]:
    sent = _count(report["promptTokenCount"]) + _optional(report, "toolUsePromptTokenCount")
    thoughts = _optional(report, "thoughtsTokenCount")
    output = _optional(report, "candidatesTokenCount") + thoughts
    return sent, _optional(report, "cachedContentTokenCount"), output, thoughts


def _optional(report: Mapping[str, Any], *path: str) -> int:
    """A count that a report may leave out; 0 without it."""
    found: Any = report
    for name in path:
        found = found.get(name, {})
    return _count(found) if found or found == 0 else 0


def _count(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int | float) or number % 1:
        raise ValueError(number)
    return int(number)


OPENAI = Meter(
    "usage",
    regex(rb'"usage"\s*:\s*[^\sn]'),
    None,
    _openai,
    search_path=("server_tool_use_details", "web_search_requests"),
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
    search_path=("server_tool_use", "web_search_requests"),
)
GOOGLE = Meter("usageMetadata", regex(rb'"usageMetadata"'), None, _google)
