"""Thoughts of turns with tool calls, which some models want back with the results.

DeepSeek, Kimi and MiMo refuse a request without them, Gemini one without a signature of them, and Anthropic
one without both. Other hosts refuse the field, even those that send it (Groq, Cerebras). So a host gets what
it wants once it has asked for it, at the price of one request that is not billed.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from ...core.caching.regex import regex
from ..base import Call
from .reports.report import Report

__all__ = ["Wanted", "has_thoughts", "return_thoughts", "wanted_thoughts"]

Wanted: TypeAlias = Literal["", "thoughts", "signature", "none"]
"""What a model wants with the calls of its earlier turns: its thoughts, any signature of them, or thoughts
with their own signature, which are not kept, so that it is asked for none."""
FIELD = "reasoning_content"
NO_THOUGHTS = " "
"""Where a turn has none: Moonshot takes no empty text."""
ANY_SIGNATURE = "skip_thought_signature_validator"
"""What Google's documentation says to send for a call whose signature is not known."""
OFF = {"type": "disabled"}
_WORDS: tuple[tuple[re.Pattern[str], Wanted], ...] = (
    (
        regex(
            rf"(?:{FIELD}|content\[\]\.thinking)\b.{{0,60}}(?:must be passed back|is missing)", re.IGNORECASE
        ),
        "thoughts",
    ),
    (regex(rf"missing\W{{1,3}}{FIELD}", re.IGNORECASE), "thoughts"),
    (regex(r"missing an? \W?thought_?signature", re.IGNORECASE), "signature"),
    (regex(r"must start with a thinking block", re.IGNORECASE), "none"),
)


def wanted_thoughts(found: Report) -> Wanted:
    """What the host says that it misses in the turns of a request; "" if it does not say so."""
    return next((wanted for pattern, wanted in _WORDS if pattern.search(found.english)), "")


def has_thoughts(body: dict[str, Any], wanted: Wanted) -> bool:
    """Whether all turns of a request have what is `wanted`."""
    return all(_has(turn, wanted, body) for turn in _turns(body))


def _turns(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns of the model, all of which have tool calls."""
    return [turn for turn in body.get("messages", ()) if turn.get("role") == "assistant"]


def _has(turn: dict[str, Any], wanted: Wanted, body: dict[str, Any]) -> bool:
    if wanted == "none":
        return body.get("thinking") == OFF
    if wanted == "signature":
        return "extra_content" in next(iter(turn.get("tool_calls") or ()), {})
    parts = turn["content"] if isinstance(turn.get("content"), list) else ()
    return bool(turn.get("reasoning") or turn.get(FIELD)) or any(
        part.get("type") == "thinking" for part in parts
    )


def return_thoughts(body: dict[str, Any], call: Call, wanted: Wanted, field: str = FIELD) -> None:
    """Add to the request for `call` what its model has `wanted` with the calls of its turns.

    field: in which a host with OpenAI's API reads thoughts.
    """
    if wanted == "none":
        body["thinking"] = dict(OFF)
    thoughts = [message.thoughts for message in call.messages if message.role == "assistant"]
    for turn, thought in zip(_turns(body), thoughts, strict=False):
        calls = turn.get("tool_calls")
        if wanted == "signature" and calls:
            calls[0]["extra_content"] = {"google": {"thought_signature": ANY_SIGNATURE}}
        elif calls and (wanted == "thoughts" or field in turn):
            turn[field] = thought or NO_THOUGHTS
        elif wanted == "thoughts" and isinstance(turn.get("content"), list):
            turn["content"].insert(0, {"type": "thinking", "thinking": thought, "signature": ""})
