"""The usual models of every vendor: strong ones for the default panel, cheap ones beside them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FAST", "STRONG"]

STRONG: Mapping[str, tuple[str, ...]] = {
    "openai": ("gpt-6.1-sol",),
    "anthropic": ("claude-opus-5-5",),
    "google": ("gemini-4-argon",),
    "mistral": ("mistral-large-4",),
    "deepseek": ("deepseek-v4-pro",),
    "openrouter": ("openai/gpt-6.1-sol", "anthropic/claude-opus-5.5", "google/gemini-4-argon"),
}
"""Kind -> its models in the default panel. OpenRouter's are MAKER/MODEL, for makers without a key."""
FAST: Mapping[str, tuple[str, ...]] = {
    "openai": ("gpt-6-luna",),
    "anthropic": ("claude-haiku-5-5",),
    "google": ("gemini-3.8-flash",),
    "mistral": ("mistral-small-2603",),
    "deepseek": ("deepseek-v4-flash",),
    "openrouter": ("openai/gpt-6-luna", "anthropic/claude-haiku-5.5", "google/gemini-3.8-flash"),
}
"""Kind -> cheap and fast models of the same makers, for `pnyx init`."""
