"""What is known about how good an answer is, in words: agreement, objections, rigor, confidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.decision import UNDECIDED
from .transcript import quantity

__all__ = [
    "Agreement",
    "agreement",
    "agreement_words",
    "certainty",
    "objections_words",
]

Agreement = tuple[int, int, int, int]
"""The seats (or samples) that end on the answer, of how many; and the different models, of how many."""
NOT_CALIBRATED = "not calibrated"


def agreement(result: Mapping[str, Any]) -> Agreement | None:
    """Return `detail.agreed`; None if the protocol does not count, or counts in a way of its own."""
    found = result["detail"].get("agreed")
    if not isinstance(found, Mapping):
        return None
    counts = [found.get(name) for name in ("seats", "of", "models", "of_models")]
    numbers = [n for n in counts if isinstance(n, int) and n >= 0]
    if len(numbers) < len(counts) or not numbers[1]:
        return None
    seats, of, models, of_models = numbers
    return seats, of, models, of_models


def agreement_words(result: Mapping[str, Any]) -> str | None:
    """How many seats and models end on the answer; None if that is unknown.

    Seats of one model are samples of it: that they agree is no independent evidence, and is not so called.
    """
    counts = agreement(result)
    if counts is None:
        share = result["agreement"]
        return None if share is None else f"{100 * share:.0f} % of the votes"
    seats, of, models, of_models = counts
    if of == 1:
        return "one answer of one model"
    if of_models == 1:
        return f"{seats} of {of} samples of one model"
    what = "seats" if of <= len(result["seats"]) else "answers"
    return f"{seats} of {of} {what} agree, {models} of {of_models} models"


def objections_words(result: Mapping[str, Any]) -> str | None:
    """How many objections stand; None if there are none, and no other model could have objected."""
    n, counts = len(result["dissent"]), agreement(result)
    if not n and counts is not None and counts[3] == 1:
        return None
    return f"{quantity(n, 'objection')} {'stands' if n == 1 else 'stand'}" if n else "no objection stands"


def _rigor_words(result: Mapping[str, Any]) -> str | None:
    """The rigor and its formula, in one sentence; None without one."""
    if result["rigor"] is None:
        return None
    challenges = result["detail"].get("challenges")
    every = [c for c in challenges if isinstance(c, Mapping)] if isinstance(challenges, list) else []
    if not every:
        return f"{result['rigor']:.2f}, the share of critiques that were substantive"
    if any("substantive" not in one for one in every):
        return f"{result['rigor']:.2f}, by the formula of an earlier version"
    good = sum(bool(one["substantive"]) for one in every)
    were = "was" if good == 1 else "were"
    return f"{result['rigor']:.2f}: {good} of {quantity(len(every), 'critique')} {were} substantive"


def _confidence_words(result: Mapping[str, Any]) -> str:
    """The probability that the answer is right, its interval and rule; or that none is known."""
    learned = result["detail"].get("calibration")
    # What an earlier version stored as confidence was learned from nothing, or from too little.
    if result["confidence"] is None or not isinstance(learned, Mapping):
        return NOT_CALIBRATED
    interval = f"{100 * learned['level']:.0f} % interval {learned['low']:.2f} to {learned['high']:.2f}"
    return f"{result['confidence']:.2f} ({interval}; {result['confidence_rule']})"


def certainty(result: Mapping[str, Any]) -> dict[str, str]:
    """Return all of it, each under its name; unknown parts are left out. Empty without a decision.

    `web/src/debate/certainty.ts` has the same words for the page; `web/tests/certainty.json` cases for both.
    """
    if result["status"] in UNDECIDED:
        return {}
    parts = {
        "agreement": agreement_words(result),
        "objections": objections_words(result),
        "rigor": _rigor_words(result),
        "confidence": _confidence_words(result),
    }
    return {name: words for name, words in parts.items() if words is not None}
