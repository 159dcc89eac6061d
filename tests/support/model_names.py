"""Names of models: those that pydantic-ai knows, older and current ones of vendors, and of local hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from pydantic_ai.models import KnownModelName

__all__ = ["CURRENT", "LOCAL", "NAMES", "OLDER"]

LOCAL = ("alpha", "llama3.2:3b", "qwen3:8b", "deepseek-r1", "gemma-3", "Qwen/Qwen3-8B", "mistral-small")
CURRENT = {
    "openai": (
        "gpt-4o",
        "gpt-4.1-mini",
        "gpt-5",
        "gpt-5-mini",
        "gpt-5.1",
        "gpt-6-luna",
        "gpt-6.1-sol",
        "o3",
    ),
    "anthropic": (
        "claude-haiku-5-5",
        "claude-sonnet-5-5",
        "claude-opus-5-5",
        "claude-opus-4-8",
        "claude-sonnet-4-6",
    ),
    "google": (
        "gemini-2.5-pro",
        "gemini-3.1-pro-preview",
        "gemini-3.8-flash",
        "gemini-4-argon",
        "gemma-3-27b-it",
    ),
    "mistral": (
        "mistral-large-latest",
        "mistral-small-latest",
        "magistral-medium-latest",
        "codestral-latest",
    ),
}
"""Kind -> models of the vendor for whose debates no library is needed."""
OLDER = (
    "gpt-3.5-turbo",
    "gpt-4",
    "gpt-4.1",
    "gpt-5-nano",
    "gpt-5-pro",
    "gpt-5-codex",
    "gpt-5-2025-08-07",
    "gpt-5.2",
    "gpt-5.2-pro",
    "gpt-5.4-mini",
    "gpt-5.5",
    "gpt-5-chat-latest",
    "o1",
    "o1-mini",
    "o1-pro",
    "o3-mini",
    "o4-mini",
    "claude-3-5-haiku-20241022",
    "claude-3-opus",
    "claude-3-7-sonnet-latest",
    "claude-sonnet-4-20250514",
    "claude-sonnet-4-0",
    "claude-opus-4@20250514",
    "claude-opus-4-1",
    "claude-opus-4-5-20251101",
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-mythos-5",
    "claude-mythos-preview",
    "gemini-1.5-pro",
    "gemini-2.0-flash",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-2.5-flash-image",
    "gemini-3-pro-preview",
    "gemini-3-flash-preview",
    "gemini-3.5-flash",
    "gemini-3.7-flash",
    "gemini-flash-latest",
    "mistral-medium-2604",
    "mistral-medium-3.5",
    "mistral-large-4",
    "mistral-small-2506",
    "magistral-small-2509",
    "claude-opus-6",
    "gemini-5-flash",
    "gpt-7",
    "mistral-large-5",
)
"""Models that pydantic-ai does not name any longer, or not yet."""


def names() -> Iterator[str]:
    """The models that pydantic-ai knows, as hosts of their own and compatible hosts name them."""
    for known in get_args(KnownModelName.__value__):
        vendor, _, name = known.partition(":")
        yield from (known, name, name.rpartition("/")[2], f"{vendor}/{name}")


NAMES = (*LOCAL, *sorted({*names(), *sum(CURRENT.values(), OLDER)}))
