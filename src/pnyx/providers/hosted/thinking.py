"""How much a model may think, as each kind of host wants to read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from ...core.thinking import Effort
from ..base import Call

__all__ = [
    "LEAST_GEMINI_PRO",
    "SHARES",
    "ThinkingStyle",
    "claude_budget",
    "effort_of",
    "thinking_settings",
    "wanted_effort",
]

ThinkingStyle: TypeAlias = Literal["effort", "anthropic", "google", "mistral", "openrouter"]
LEAST_BUDGET = 1024
"""The fewest tokens of thinking that Anthropic's API accepts, which must be below the output limit."""
LEAST_GEMINI_PRO = 128
"""The same of Gemini Pro, which always thinks."""
SHARES = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""The part of the output limit that may be thinking, where a host wants a number."""
LOW_TOKENS, MEDIUM_TOKENS = 2_000, 8_000
"""The most tokens of thinking that amount to low and to medium effort, where a host has only levels."""


def thinking_settings(
    call: Call, profile: Mapping[str, Any], style: ThinkingStyle, reasons: bool
) -> dict[str, Any]:
    """Settings of pydantic-ai for the effort and the tokens of `call`; none if the call sets none.

    profile: what pydantic-ai knows of the model. reasons: see `set_thinking`.
    """
    effort, budget = wanted_effort(call), call.thinking_tokens
    if effort is None:
        return {}
    if style == "anthropic" and any(message.tool_calls for message in call.messages):
        return {}  # thoughts of earlier turns would have to be sent back
    levels = profile.get("anthropic_disallows_budget_thinking") or profile.get(
        "google_supports_thinking_level"
    )
    if effort != "none" and style in ("anthropic", "google") and not levels:
        wanted = budget or round(SHARES[effort] * call.max_tokens)
        if style == "google":
            budget = max(_least_of_gemini(call.model), min(wanted, call.max_tokens - call.max_tokens // 4))
            return {"google_thinking_config": {"thinking_budget": budget, "include_thoughts": True}}
        budget = claude_budget(wanted, call.max_tokens)
        # Thinking needs the default temperature.
        enabled = {"type": "enabled", "budget_tokens": budget}
        return {"anthropic_thinking": enabled, "temperature": None} if budget else {}
    if style == "openrouter" and budget and effort != "none":
        return {"openrouter_reasoning": {"max_tokens": budget}}
    if profile.get("supports_thinking") or style != "effort":
        return {"thinking": False if effort == "none" else effort}
    # A host of any kind: it knows the parameter of OpenAI, or refuses it, and is then not sent it again.
    return {"openai_reasoning_effort": effort} if reasons or effort != "none" else {}


def claude_budget(wanted: int, max_tokens: int) -> int:
    """Tokens of thinking that leave room for an answer; 0 if there is too little for both."""
    most = max_tokens - LEAST_BUDGET
    return 0 if most < LEAST_BUDGET else max(LEAST_BUDGET, min(wanted, most))


def _least_of_gemini(model: str) -> int:
    """The fewest tokens of thinking that a Gemini model of the generation 2.5 takes, if it thinks."""
    return 512 if "lite" in model else LEAST_GEMINI_PRO if "pro" in model else 1


def wanted_effort(call: Call) -> Effort | None:
    """How much the model should think, as a level; None if the call does not say."""
    tokens = call.thinking_tokens
    return call.effort or (None if tokens is None else effort_of(tokens))


def effort_of(tokens: int) -> Effort:
    """The level that comes closest to a limit of tokens."""
    if not tokens:
        return "none"
    return "low" if tokens <= LOW_TOKENS else "medium" if tokens <= MEDIUM_TOKENS else "high"
