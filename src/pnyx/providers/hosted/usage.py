"""Usage as each dialect reports it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import Usage

__all__ = ["ANTHROPIC", "GOOGLE", "OPENAI", "Meter", "counts_in", "find"]

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
                except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
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


def _openai(
    report: Mapping[str, Any],
    sent_names: tuple[str, ...] = ("prompt_tokens",),
    output_names: tuple[str, ...] = ("completion_tokens",),
) -> tuple[int, ...]:
    cached, reasoning, written = (_first(report, paths) for paths in (CACHED, REASONING, WRITTEN))
    sent = _count(_named(report, sent_names))
    hour = _optional(report, "prompt_tokens_details", "cache_creation", "ephemeral_1h_input_tokens")
    hour = hour if 0 <= hour <= written else 0
    if cached == report.get("num_cached_tokens"):
        cached = min(cached, sent)  # Mistral counts them in blocks
    if cached > sent:  # behind a gateway that passes on Anthropic's count of the other tokens
        sent += cached + written
    rest = _rest(report, sent)
    counted = _count(_named(report, output_names, *((rest,) if rest >= 0 else ())))
    output = _output(counted, rest)
    if APART & report.keys():
        output += reasoning
    elif reasoning > output and rest == output:
        reasoning = output  # vLLM counts the tags of thoughts among them, but not beside the completion
    elif reasoning > output:
        output += reasoning
    return sent, cached, output, reasoning or output - counted, written - hour, hour


def _named(report: Mapping[str, Any], names: tuple[str, ...], *default: int) -> Any:
    """The first of some counts that a report has; `LookupError` without a default if it has none."""
    found = [report[name] for name in names if report.get(name) is not None] + list(default)
    return found[0]


CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("input_tokens_details", "cached_tokens"),  # the Responses API
    ("cached_tokens",),  # Moonshot
    ("precached_prompt_tokens",),  # GigaChat
    ("cached_input_tokens",),  # Vercel
    ("input_token_details", "cache_read"),  # LangChain
    ("num_cached_tokens",),  # Mistral
    ("cache_read_input_tokens",),  # LiteLLM, for hosts with Anthropic's API
)
"""Where hosts with OpenAI's names count the tokens that they read from a cache."""
REASONING = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),  # the Responses API and DashScope
    ("output_tokens_details", "thinking_tokens"),  # Anthropic
    ("reasoning_tokens",),  # Perplexity
    ("completion_tokens_details", "thinkingTokens"),  # Clova
    ("output_token_details", "reasoning"),  # LangChain
    ("reasoning_output_tokens",),  # LM Studio's own API
)
"""Where they count those of reasoning."""
WRITTEN = (
    ("prompt_tokens_details", "cache_write_tokens"),  # OpenRouter
    ("prompt_tokens_details", "cache_creation_input_tokens"),  # DashScope
    ("prompt_tokens_details", "cache_creation_tokens"),  # LiteLLM
    ("cache_creation_input_tokens",),  # LiteLLM and Vercel, for hosts with Anthropic's API
)
"""Where they count those that they write to one."""
APART = frozenset(("citation_tokens", "num_search_queries", "market_cost"))
"""Fields of hosts that count and bill reasoning beside the completion: Perplexity and Vercel's gateway."""


def _first(report: Mapping[str, Any], paths: Iterable[tuple[str, ...]]) -> int:
    """The first count of some paths that is not zero."""
    return next(filter(None, (_optional(report, *path) for path in paths)), 0)


def _rest(report: Mapping[str, Any], sent: int) -> int:
    """What the total counts beside the input; negative without a total that is a number."""
    try:
        return _count(report.get("total_tokens")) - sent
    except ValueError:
        return -1


def _output(counted: int, rest: int) -> int:
    """The output tokens. Some hosts, such as xAI's and Google's, count reasoning in the total alone."""
    return rest if 0 <= counted < rest <= MAX_OUTPUT else counted


def _anthropic(report: Mapping[str, Any]) -> tuple[int, ...]:
    cached = _optional(report, "cache_read_input_tokens")
    written = _optional(report, "cache_creation_input_tokens")
    hour = _optional(report, "cache_creation", "ephemeral_1h_input_tokens")
    hour = hour if 0 <= hour <= written else 0
    return (
        _count(report["input_tokens"]) + cached + written,
        cached,
        _count(report["output_tokens"]),
        _first(report, REASONING),
        written - hour,
        hour,
    )


def _responses(report: Mapping[str, Any]) -> tuple[int, ...]:
    """Of OpenAI's Responses API: the names of Anthropic, but cached tokens are part of the input."""
    if not {"input_tokens_details", "input_token_details"} & report.keys():
        raise LookupError("input_tokens_details")
    return _openai(report, ("input_tokens",), ("output_tokens",))


def _google(report: Mapping[str, Any]) -> tuple[int, ...]:
    report = {_camel_case(name): value for name, value in report.items()}
    thoughts = _optional(report, "thoughtsTokenCount")
    output = _optional(report, "candidatesTokenCount") + thoughts
    rest = _optional(report, "totalTokenCount") - output  # without a count of the prompt, as for files
    sent = _count(_named(report, ("promptTokenCount",), *((rest,) if rest > 0 and output else ())))
    sent += _optional(report, "toolUsePromptTokenCount")
    if output == thoughts:  # left out, as if it were zero
        output = max(output, min(_optional(report, "totalTokenCount") - sent, MAX_OUTPUT))
    return sent, _optional(report, "cachedContentTokenCount"), output, thoughts


def _camel_case(name: str) -> str:
    """A field's name in JSON; some proxies use its name in the protocol buffers."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _snake_case(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report with the names of OpenAI and Anthropic, of a host that writes them in camel case."""
    found = {_snake(str(name)): value for name, value in report.items()}
    # Of Bedrock: what is written, and how much of it for how long.
    kept = found.get("cache_details")
    kept = [one for one in kept if isinstance(one, Mapping)] if isinstance(kept, list) else []
    hour = next((one.get("inputTokens", 0) for one in kept if one.get("ttl") == "1h"), 0)
    named = {
        f"cache_{ours}_input_tokens": found.get(
            f"cache_{its}_input_tokens", found.get(f"cache_{its}_input_token_count")
        )
        for ours, its in {"read": "read", "creation": "write"}.items()
    }
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


def _timed(report: Mapping[str, Any]) -> tuple[int, ...]:
    """Of llama.cpp's timings, which count the tokens that it has read and those from its cache apart."""
    cached = _optional(report, "cache_n")
    return _count(report["prompt_n"]) + cached, cached, _count(report["predicted_n"])


INPUT = (
    *("prompt_tokens", "input_tokens", "input_token_count", "prompt_token_count", "input_text_token_count"),
    *("input_text_tokens", "num_tokens_prompt_total", "tokens_evaluated", "prompt_eval_count"),
    *("input_length", "num_input_tokens", "tokens_input", "total_input_tokens", "input", "prompt_n"),
)
OUTPUT = (
    *("completion_tokens", "output_tokens", "output_token_count", "generated_token_count"),
    *("generation_token_count", "generated_tokens", "total_output_text_token_count", "token_count"),
    *("num_tokens_generated", "tokens_predicted", "eval_count", "output_length", "tokens_generated"),
    *("answer_tokens", "total_output_tokens", "output", "tokens", "predicted_n"),
)
"""Names of both counts in reports of other forms, as `_snake` spells them."""


def _other(report: Mapping[str, Any]) -> tuple[int, ...]:
    return _openai(report, INPUT, OUTPUT)


def find(value: Any, depth: int = 0) -> Mapping[str, Any] | None:
    """The first object in `value` that counts input and output, wherever a host has put it."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, Mapping) or depth > MAX_DEPTH:
        return None
    names = {_snake(str(name)) for name, one in value.items() if isinstance(one, int | float | str)}
    if not names.isdisjoint(INPUT) and not names.isdisjoint(OUTPUT):
        return value
    others = (one for name, one in value.items() if name != "tool_usage")
    return next((found for one in others if (found := find(one, depth + 1))), None)


def counts_in(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `leaves` that count tokens."""
    return {name: value for name, value in leaves.items() if _snake(name) in _COUNTED}


_COUNTED = frozenset((*INPUT, *OUTPUT, "total_tokens"))
MAX_DEPTH = 4
"""Of objects in which usage is searched."""


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


COUNTS = (
    _openai,
    _responses,
    _anthropic,
    _timed,
    _other,
    _google,
    lambda report: _anthropic(report.get("billed_units") or report["tokens"]),
)
"""Tried in turn if a report has not the names of its dialect: gateways pass on the host's behind them."""
OPENAI = Meter(_openai, ("server_tool_use_details", "web_search_requests"))
ANTHROPIC = Meter(_anthropic, ("server_tool_use", "web_search_requests"))
GOOGLE = Meter(_google)
