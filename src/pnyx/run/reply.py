"""What a completion says: whether it is an answer, and its record."""

from __future__ import annotations

from typing import Any

from ..core.events import CallFinished
from ..core.sycophancy.detect import is_blank, is_refusal
from ..providers.base import Completion

__all__ = ["absence", "copy_reply"]


def absence(done: Completion) -> str | None:
    """Return why a reply counts as an abstention, or None."""
    if is_blank(done.text):
        return "empty"
    return "refusal" if done.finish_reason == "filter" or is_refusal(done.text) else None


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
        copied=True,
    )
