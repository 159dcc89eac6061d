"""The words by which hosts say why a reply ended.

One table for all dialects: gateways pass on the words of the API behind them.
"""

from __future__ import annotations

from ....core.caching.regex import regex
from ...base import FinishReason

__all__ = ["failure_status", "reason_of"]

_LENGTH = (
    *("length", "max_tokens", "max_length", "token_limit", "truncated", "model_length", "pause_turn"),
    *("error_limit", "model_context_window_exceeded"),
)
_FILTER = (
    # OpenAI, Azure, Anthropic, Zhipu, Tencent, Cohere, Bedrock, Databricks
    *("content_filter", "refusal", "moderation", "sensitive", "error_toxic", "content_filtered"),
    *("guardrail", "guardrail_intervened", "guardrails", "input_guardrail_triggered"),
    *("data_inspection", "data_inspection_failed"),
    # Gemini
    *("safety", "recitation", "prohibited_content", "spii", "language", "model_armor"),
    *("image_safety", "image_prohibited_content", "image_recitation"),
)
_MALFORMED = (
    *("malformed_function_call", "malformed_response", "malformed_tool_call", "malformed_tool_use"),
    *("malformed_model_output", "unexpected_tool_call", "too_many_tool_calls", "invalid_tool_call"),
    *("tool_use_failed", "invalid_tool_use", "tool_parse_error", "other"),
)
"""The host could not read what the model wrote: Gemini, which may say no more than OTHER, Bedrock, Groq and
their gateways."""
_TOOL = ("tool_calls", "tool_call", "tool_use", "function_call")

FINISHES: dict[str, FinishReason] = {
    **dict.fromkeys(_LENGTH, "length"),
    **dict.fromkeys(_FILTER, "filter"),
    **dict.fromkeys(_TOOL, "tool"),
    **dict.fromkeys(_MALFORMED, "malformed"),
}
"""The host's word -> ours, as `word_of` spells it. Any other word counts as "stop"."""

FAILURES: dict[str, int] = {
    **dict.fromkeys(("error", "internal_error", "failed", "unknown_error", "model_error"), 500),
    **dict.fromkeys(("insufficient_system_resource", "network_error", "engine_overloaded"), 503),
    **dict.fromkeys(
        ("overloaded", "abort", "aborted", "interrupted", "timeout", "cancelled", "unavailable"), 503
    ),
    **dict.fromkeys(("load", "unload"), 503),  # Ollama has only loaded the model
    **dict.fromkeys(("server_error", "upstream_error"), 500),
    **dict.fromkeys(("rate_limit", "rate_limited", "rate_limit_error", "rate_limit_exceeded"), 429),
}
"""The host's word for an end that is a failure -> the HTTP status that it amounts to."""

_FILTER_WORDS = regex(
    r"safety|filter|block|blacklist|moderat|guardrail|sensitiv|prohibit|risk|censor|violat|refus|toxic|recitation|copyright|polic"
    r"|unsafe|harmful|jailbreak|flagged|inappropriate|nsfw|\bpii|responsible_ai"
)
"""Parts of words that are in no table, and mean a filter."""
_LENGTH_WORDS = regex(
    r"truncat|limit|length|incomplete|_full$|max_?(?:\w+_)?(?:tokens?|time)|context_\w+_exceeded|cut_?off"
)
"""Parts of words that mean a limit."""
_FAILURE_WORDS = regex(
    r"(?:error|failed|failure|exception|unavailable|timed?_?out|overloaded|interrupted|cancell?ed|abort(?:ed)?|crash(?:ed)?"
    r"|oom|out_of_memory|died|killed|preempted|evicted|lost|disconnect(?:ed)?|shut_?down)$|^error_"
)
"""Parts of words that are in no table, and mean a failure."""


def reason_of(finish: str) -> FinishReason:
    """What a host's word for an end means; "stop" if nothing else is known of it."""
    word = word_of(finish)
    if word in FINISHES:
        return FINISHES[word]
    if word in FAILURES:
        return "stop"
    return "filter" if _FILTER_WORDS.search(word) else "length" if _LENGTH_WORDS.search(word) else "stop"


def failure_status(finish: str) -> int:
    """The HTTP status that an end amounts to; 0 for one that is no failure."""
    word = word_of(finish)
    if word in FAILURES:
        return FAILURES[word]
    return 500 if _FAILURE_WORDS.search(word) and reason_of(finish) == "stop" else 0


def word_of(finish: str) -> str:
    """A host's word as the tables spell it: "contentFilter" and "content-filter" are "content_filter"."""
    return _HUMP.sub("_", finish.strip()).replace("-", "_").lower() if finish else ""


_HUMP = regex(r"(?<=[a-z])(?=[A-Z])")
