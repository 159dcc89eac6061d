"""What a completion says: its answer and its reasoning, whether it is an answer, and its record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...core.events import CallFinished, CallStarted
from ...core.markup.reasoning import split
from ...core.models import Usage
from ...core.sycophancy.detect import is_blank, is_refusal
from ...core.text import estimate_tokens
from ...errors import ProviderError
from ...providers.base import Completion

__all__ = [
    "LONGEST_DETAIL",
    "Response",
    "absence",
    "copy_reply",
    "no_answer",
    "separate",
    "stored_reasoning",
    "stored_sources",
]

LONGEST_REASONING = 100_000
"""Characters of reasoning that are recorded."""
LONGEST_DETAIL = 200
"""Characters of a host's word for a finish reason that are recorded."""
SOURCES, ADDRESS = 20, 500
"""The most cited sources that are recorded, and the longest address. A shortened address would not work."""


@dataclass(frozen=True, slots=True)
class Response:
    """The response to one request: a completion or an error."""

    started: CallStarted
    result: Completion | ProviderError
    elapsed_s: float


def separate(done: Completion) -> Completion:
    """Return the completion with reasoning that its text contains in `reasoning`, apart from the answer."""
    done = _without_tags_in_reasoning(done)
    found = split(done.text)
    if found.answer == done.text:
        return done
    inline = "" if found.reasoning in done.reasoning else found.reasoning
    return replace(
        done, text=found.answer, reasoning="\n\n".join(filter(None, (done.reasoning.strip(), inline)))
    )


def _without_tags_in_reasoning(done: Completion) -> Completion:
    """The completion, whose field of reasoning may hold the tags too, and behind them the answer."""
    if not done.reasoning:
        return done
    found = split(done.reasoning)
    if not found.reasoning or (found.answer.strip() and (done.text.strip() or done.tool_calls)):
        return done
    return replace(done, reasoning=found.reasoning, text=done.text if done.text.strip() else found.answer)


def absence(done: Completion, reason: str) -> str | None:
    """Return why a reply counts as an abstention, or None. reason: of one without an answer."""
    if done.finish_reason == "filter":
        return "refusal"  # also where nothing was written before
    if is_blank(done.text):
        return reason
    return "refusal" if is_refusal(done.text) else None


def no_answer(done: Completion, usage: Usage, setting: str) -> str:
    """Return why a reply has no answer. usage: as billed. setting: what limits replies, with its value."""
    if done.finish_reason == "length":
        thought = usage.reasoning_tokens
        if not thought and done.usage is not None:
            thought = usage.output_tokens  # nothing else came out of them
        if not thought and done.reasoning:
            thought = estimate_tokens(done.reasoning)
        if thought:
            return (
                f"no answer: {thought:,} tokens went to reasoning; raise {setting} or lower reasoning_effort"
            )
        return f"no answer before the limit of the reply; raise {setting}"
    return "no answer: the reply is all reasoning" if done.reasoning.strip() else "empty"


def stored_reasoning(done: Completion, redact: Callable[[str], str]) -> str | None:
    """Return the reasoning as it is recorded, or None if there is none."""
    reasoning = redact(done.reasoning.strip())
    if len(reasoning) <= LONGEST_REASONING:
        return reasoning or None
    more = len(reasoning) - LONGEST_REASONING
    return f"{reasoning[:LONGEST_REASONING]}\n[{more:,} more characters were not recorded]"


def stored_sources(done: Completion, redact: Callable[[str], str]) -> tuple[str, ...]:
    """Return the addresses of the sources that are recorded."""
    return tuple(redact(url) for url in done.sources if len(url) <= ADDRESS)[:SOURCES]


def copy_reply(inherited: CallFinished, fingerprint: str, **common: Any) -> CallFinished:
    """Return the record of a reply that the run takes from the one that it was forked from, at no cost.

    common: the fields that all events of the call share.
    """
    return CallFinished(
        **common,
        attempt=0,
        fingerprint=fingerprint,
        model=inherited.model,
        text=inherited.text,
        data=inherited.data,
        tool_calls=inherited.tool_calls,
        finish_reason=inherited.finish_reason,
        finish_detail=inherited.finish_detail,
        cost_usd=0.0,
        absent=inherited.absent,
        sources=inherited.sources,
        source=inherited.source,
        reasoning=inherited.reasoning,
        copied=True,
    )
