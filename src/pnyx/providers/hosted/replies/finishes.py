"""The words by which hosts say why a reply ended.

One table for all dialects: gateways pass on the words of the API behind them.
"""

from __future__ import annotations

from ....core.regex import regex
from ...base import FinishReason

__all__ = ["FAILURES", "FINISHES", "word_of"]

_LENGTH = (
    *("length", "max_tokens", "max_output_tokens", "max_length", "token_limit", "error_limit"),
    *(
        "max_new_tokens",
        "truncated",
        "model_length",
        "model_context_window_exceeded",
        "context_length_exceeded",
        "pause_turn",
    ),
)
_FILTER = (
    # OpenAI, Azure, Anthropic, Zhipu, Tencent, Cohere, Bedrock, Databricks
    *("content_filter", "refusal", "moderation", "sensitive", "error_toxic", "content_filtered"),
    *("blocked", "guardrail", "guardrail_intervened", "guardrails", "input_guardrail_triggered"),
    # Gemini
    *("safety", "recitation", "blocklist", "prohibited_content", "spii", "language", "model_armor"),
    *("image_safety", "image_prohibited_content", "image_recitation"),
)
_TOOL = ("tool_calls", "tool_call", "tool_use", "function_call")

FINISHES: dict[str, FinishReason] = {
    **dict.fromkeys(_LENGTH, "length"),
    **dict.fromkeys(_FILTER, "filter"),
    **dict.fromkeys(_TOOL, "tool"),
}
"""The host's word -> ours, as `word_of` spells it. Any other word counts as "stop"."""

FAILURES: dict[str, int] = {
    **dict.fromkeys(("error", "internal_error", "failed", "unknown_error", "model_error"), 500),
    **dict.fromkeys(("insufficient_system_resource", "network_error", "engine_overloaded"), 503),
    **dict.fromkeys(("overloaded", "abort", "aborted", "timeout", "cancelled", "unavailable"), 503),
    **dict.fromkeys(("server_error", "upstream_error"), 500),
}
"""The host's word for an end that is a failure -> the HTTP status that it amounts to."""


def word_of(finish: str) -> str:
    """A host's word as the tables spell it: "contentFilter" and "content-filter" are "content_filter"."""
    return _HUMP.sub("_", finish.strip()).replace("-", "_").lower() if finish else ""


_HUMP = regex(r"(?<=[a-z])(?=[A-Z])")
