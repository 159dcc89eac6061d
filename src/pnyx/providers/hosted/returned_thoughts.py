"""Thoughts of turns with tool calls, which some models want back with the results.

DeepSeek, Kimi and MiMo refuse a request without them, Gemini one without a signature of them. Other hosts
refuse the field, even those that send it (Groq, Cerebras). So a host gets them once it has asked for them, at
the price of one request that is not billed.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from ...core.caching.regex import regex
from ..base import Call
from .reports import Report

__all__ = ["Wanted", "return_thoughts", "wanted_thoughts"]

Wanted: TypeAlias = Literal["", "field", "block", "signature"]
"""How a model wants its thoughts back: in a field of the message, as a block before its calls, or as no more
than a signature of the first call."""
FIELD = "reasoning_content"
NO_THOUGHTS = " "
"""Where a turn has none: Moonshot takes no empty text."""
ANY_SIGNATURE = "skip_thought_signature_validator"
"""What Google's documentation says to send for a call whose signature is not known."""
_WORDS: tuple[tuple[re.Pattern[str], Wanted], ...] = (
    (regex(r"content\[\]\.thinking\b.{0,60}must be passed back", re.IGNORECASE), "block"),
    (regex(rf"{FIELD}\b.{{0,60}}(?:must be passed back|is missing)", re.IGNORECASE), "field"),
    (regex(rf"missing\W{{1,3}}{FIELD}", re.IGNORECASE), "field"),
    (regex(r"missing an? \W?thought_?signature", re.IGNORECASE), "signature"),
)


def wanted_thoughts(found: Report, body: dict[str, Any]) -> Wanted:
    """How the host wants thoughts back; "" if it does not say that `body` lacks them, or if it has them."""
    wanted: Wanted = next((wanted for pattern, wanted in _WORDS if pattern.search(found.english)), "")
    return wanted if any(not _has(turn, wanted) for turn in _turns(body)) else ""


def _turns(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns of the model, all of which have tool calls."""
    return [turn for turn in body.get("messages", ()) if turn.get("role") == "assistant"]


def _has(turn: dict[str, Any], wanted: Wanted) -> bool:
    match wanted:
        case "field":
            return bool(turn.get("reasoning") or turn.get(FIELD))
        case "block":
            return any(part.get("type") == "thinking" for part in turn["content"])
    return "extra_content" in next(iter(turn.get("tool_calls") or ()), {})


def return_thoughts(body: dict[str, Any], call: Call, wanted: Wanted, field: str = FIELD) -> None:
    """Add the thoughts of the turns of `call` to its request, as its model has `wanted` them.

    field: in which the host reads them.
    """
    thoughts = [message.thoughts for message in call.messages if message.role == "assistant"]
    for turn, thought in zip(_turns(body), thoughts, strict=False):
        calls = turn.get("tool_calls")
        if wanted == "block" and isinstance(turn["content"], list):
            turn["content"].insert(0, {"type": "thinking", "thinking": thought, "signature": ""})
        elif wanted == "signature" and calls:
            calls[0]["extra_content"] = {"google": {"thought_signature": ANY_SIGNATURE}}
        elif calls and (wanted == "field" or field in turn):
            turn[field] = thought or NO_THOUGHTS
