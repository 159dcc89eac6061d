"""What came of a run in a line each: how it was decided, why it was not, what it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.decision import UNDECIDED
from ...core.models import money
from .transcript import quantity, seconds

__all__ = ["headline", "taken", "why"]


def headline(result: Mapping[str, Any]) -> str:
    """What kind of answer it is, in a line: "decided after 3 rounds, not converged"."""
    rounds = quantity(result["rounds"], "round")
    cut = ", cut off at its limit of tokens" if result["detail"].get("truncated") else ""
    if result["status"] in UNDECIDED:
        return f"the best answer so far; nothing was decided in {rounds}"
    if result["status"] == "single":
        return f"one model's answer, which nobody challenged{cut}"
    converged = {True: ", converged", False: ", not converged", None: ""}[result["converged"]]
    return f"{result['status']} after {rounds}{converged}{cut}"


def why(result: Mapping[str, Any]) -> str:
    """Why there is no decision, and what to do: "paused: Budget too small: …. Resume with: pnyx resume …"."""
    status, reason = result["status"], result["stop_reason"]
    message = str(result["detail"].get("message") or "")
    if status == "paused" and reason != "budget" and "pnyx resume" not in message:
        message += f". Resume with: pnyx resume {result['run_id']}"
    if not message or reason == status:
        return str(status)
    # The message contains the reason.
    if reason and (reason == "budget" or message.startswith(f"{reason}. ")):
        return f"{status}: {message}"
    return f"{status} ({reason}): {message}" if reason else f"{status}: {message}"


def taken(result: Mapping[str, Any]) -> str:
    """What the run took: seats, calls, tokens, money, time."""
    usage = result["usage"]
    cached = f" ({usage['cached_tokens']:,} cached)" if usage["cached_tokens"] else ""
    return " · ".join(
        [
            quantity(len(result["seats"]), "seat"),
            quantity(usage["calls"], "call"),
            f"{usage['input_tokens']:,} tokens in{cached}, {usage['output_tokens']:,} out",
            money(usage["cost_usd"]),
            seconds(result["elapsed_s"]),
        ]
    )
