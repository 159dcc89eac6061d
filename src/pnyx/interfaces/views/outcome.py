"""The outcome of a run as single lines: how it was decided, why it stopped, its usage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...core.caching.regex import regex
from ...core.decision import AGREEMENT_KNOWN, UNDECIDED
from ...core.models import money
from .certainty import agreement
from .transcript import quantity, seconds

__all__ = ["headline", "panel_line", "refuses_key", "stop_message", "usage_line"]

_HEAD = regex(r".*? needed(?=: | \()", re.DOTALL)
"""The message of a lost quorum, before its reasons."""


def headline(result: Mapping[str, Any]) -> str:
    """How the answer was decided: "decided after 3 rounds, not converged"."""
    rounds, status = quantity(result["rounds"], "round"), result["status"]
    cut = ", cut off at the token limit" if result["detail"].get("truncated") else ""
    if status in UNDECIDED:
        return f"best answer so far{cut}; no decision after {rounds}"
    if status == "single":
        return f"answer of one model, unchallenged{cut}"
    if status == "stalled":
        return f"stalled after {rounds}: the same objections again{cut}"
    counts = agreement(result)
    if counts is not None and counts[3] == 1 < counts[1] and status in AGREEMENT_KNOWN:
        status = f"{status} of samples of one model"
    converged = {True: ", converged", False: ", not converged", None: ""}[result["converged"]]
    return f"{status} after {rounds}{converged}{cut}"


def stop_message(result: Mapping[str, Any], known: Collection[str] = ()) -> str:
    """Why there is no decision and what to do: "paused: Budget too small: …. Resume with: pnyx resume …".

    known: reasons that the reader has just read, which are not repeated.
    """
    status, reason = result["status"], result["stop_reason"]
    message = str(result["detail"].get("message") or "")
    reasons = {drop["reason"] for drop in result.get("dropped", ()) if drop["reason"] in message}
    if reasons and reasons <= set(known) and (head := _HEAD.match(message)):
        message = head[0]
    for trouble in known:
        message = message.replace(f", after {trouble.removesuffix('.')}", "")
    if status == "paused" and reason != "budget" and "pnyx resume" not in message:
        message += f". Resume with: pnyx resume {result['run_id']}"
    if not message or reason == status:
        return str(status)
    # The message contains the reason.
    if reason and (reason == "budget" or message.startswith(f"{reason}. ")):
        return f"{status}: {message}"
    return f"{status} ({reason}): {message}" if reason else f"{status}: {message}"


def refuses_key(kind: str, message: str) -> bool:
    """Whether a host does not accept the API key. kind, message: of the `ProviderError`."""
    # Google has no separate status for a wrong API key.
    return kind == "auth" or (kind == "refused" and "api key" in message.lower())


def panel_line(models: Iterable[str]) -> str:
    """The panel, of which a protocol may ask a part: "panel of 3: lab:alpha*2, lab:beta"."""
    seats = Counter(models)
    names = (f"{model}*{n}" if n > 1 else model for model, n in seats.items())
    return f"panel of {seats.total()}: {', '.join(names)}"


def usage_line(result: Mapping[str, Any]) -> str:
    """The size of the panel, of which a protocol may ask a part, and the usage: calls, tokens, cost, time."""
    usage = result["usage"]
    cached = f" ({usage['cached_tokens']:,} cached)" if usage["cached_tokens"] else ""
    return " · ".join(
        [
            f"panel of {len(result['seats'])}",
            quantity(usage["calls"], "call"),
            f"{usage['input_tokens']:,} tokens in{cached}, {usage['output_tokens']:,} out",
            money(usage["cost_usd"]),
            seconds(result["elapsed_s"]),
        ]
    )
