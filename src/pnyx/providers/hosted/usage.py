"""Usage as each dialect reports it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import Usage

__all__ = ["ANTHROPIC", "GOOGLE", "OPENAI", "Meter"]

MAX_OUTPUT = 1_000_000
"""Tokens that one reply may have: a larger total is ignored."""


MAX_DIGITS = 12
"""Of a count that is written as text."""


@dataclass(frozen=True, slots=True)
class Meter:
    """One dialect's report of usage.

    count: returns the merged reports as the counts of a `Usage`; raises if they are not whole numbers.
    search_path: where the reports count the host's web searches.
    """

    count: Callable[[Mapping[str, Any]], tuple[int, ...]]
    search_path: tuple[str, ...] = ()

    def usage(self, reports: Mapping[str, Any]) -> Usage | None:
        """The reports as tokens, however odd, or None if they are not whole numbers or all zero."""
        for spell in (dict, _snake_case):
            named = spell(reports)
            for count in (self.count, *COUNTS):
                try:
                    counts = count(named)
                except (AttributeError, LookupError, ValueError, OverflowError):
                    continue
                return Usage(*counts) if any(counts) else None
        return None

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
    cached = _first(report, CACHED)
    reasoning = _optional(report, "completion_tokens_details", "reasoning_tokens")
    sent = _count(report["prompt_tokens"])
    written = _first(report, WRITTEN)
    hour = _optional(report, "prompt_tokens_details", "cache_creation", "ephemeral_1h_input_tokens")
    hour = hour if 0 <= hour <= written else 0
    output = _output(report, sent)
    reasoning = reasoning or output - _count(report["completion_tokens"])
    return sent, cached, output, reasoning, written - hour, hour


CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("cached_tokens",),  # Moonshot
    ("num_cached_tokens",),  # Mistral
    ("cache_read_input_tokens",),  # LiteLLM, for hosts with Anthropic's API
)
"""Where hosts with OpenAI's names count the tokens that they read from a cache."""
WRITTEN = (
    ("prompt_tokens_details", "cache_write_tokens"),  # OpenRouter
    ("prompt_tokens_details", "cache_creation_input_tokens"),  # DashScope
    ("prompt_tokens_details", "cache_creation_tokens"),  # LiteLLM
    ("cache_creation_input_tokens",),  # LiteLLM and Vercel, for hosts with Anthropic's API
)
"""Where they count those that they write to one."""


def _first(report: Mapping[str, Any], paths: Iterable[tuple[str, ...]]) -> int:
    """The first count of some paths that is not zero."""
    return next(filter(None, (_optional(report, *path) for path in paths)), 0)


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
    written = _optional(report, "cache_creation_input_tokens")
    hour = _optional(report, "cache_creation", "ephemeral_1h_input_tokens")
    hour = hour if 0 <= hour <= written else 0
    return (
        _count(report["input_tokens"]) + cached + written,
        cached,
        _count(report["output_tokens"]),
        _optional(report, "output_tokens_details", "thinking_tokens"),
        written - hour,
        hour,
    )


def _responses(report: Mapping[str, Any]) -> tuple[int, ...]:
    """Of OpenAI's Responses API: the names of Anthropic, but cached tokens are part of the input."""
    details = report["input_tokens_details"]
    cached = _optional(details, "cached_tokens") if details else 0
    reasoning = _optional(report, "output_tokens_details", "reasoning_tokens")
    return _count(report["input_tokens"]), cached, _count(report["output_tokens"]), reasoning


def _google(report: Mapping[str, Any]) -> tuple[int, ...]:
    report = {_camel_case(name): value for name, value in report.items()}
    sent = _count(report["promptTokenCount"]) + _optional(report, "toolUsePromptTokenCount")
    thoughts = _optional(report, "thoughtsTokenCount")
    output = _optional(report, "candidatesTokenCount") + thoughts
    if output == thoughts:  # left out, as if it were zero
        output = max(output, min(_optional(report, "totalTokenCount") - sent, MAX_OUTPUT))
    return sent, _optional(report, "cachedContentTokenCount"), output, thoughts


def _camel_case(name: str) -> str:
    """A field's name in JSON; some proxies use its name in the protocol buffers."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _snake_case(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report with the names of OpenAI and Anthropic, of a host that writes them in camel case."""
    names = {name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in map(str, report)}
    found = {names[str(name)]: value for name, value in report.items()}
    # Of Bedrock: what is written, and how much of it for how long.
    kept = found.get("cache_details")
    kept = [one for one in kept if isinstance(one, Mapping)] if isinstance(kept, list) else []
    hour = next((one.get("inputTokens", 0) for one in kept if one.get("ttl") == "1h"), 0)
    named = {"cache_creation_input_tokens": found.get("cache_write_input_tokens")}
    return {**named, "cache_creation": {"ephemeral_1h_input_tokens": hour}, **found}


def _optional(report: Mapping[str, Any], *path: str) -> int:
    """A count that a report may leave out; 0 without it."""
    found: Any = report
    for name in path:
        found = (found or {}).get(name, {})
    return _count(found) if found or found == 0 else 0


def _count(number: Any) -> int:
    if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < MAX_DIGITS:
        number = int(number)  # as protocol buffers write whole numbers of 64 bits
    if isinstance(number, bool) or not isinstance(number, int | float) or number % 1:
        raise ValueError(number)
    return int(number)


COUNTS = (_openai, _responses, _anthropic, _google, lambda report: _anthropic(report["tokens"]))
"""Tried in turn if a report has not the names of its dialect: gateways pass on the host's behind them."""
OPENAI = Meter(_openai, ("server_tool_use_details", "web_search_requests"))
ANTHROPIC = Meter(_anthropic, ("server_tool_use", "web_search_requests"))
GOOGLE = Meter(_google)
