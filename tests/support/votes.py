"""The votes in a judge's prompt."""

from __future__ import annotations

import re

__all__ = ["judgement", "votes_in"]

_VOTE = re.compile(
    r"^<(m[0-9a-f]{10}) (?:Answer by )?(Participant [A-Z])>$(.*?)^</\1>$", re.DOTALL | re.MULTILINE
)
_FINAL = re.compile(r"Final answer: (-?\d+)")


def votes_in(prompt: str) -> dict[str, str]:
    """Return label -> its number, in the order of the prompt; empty if the prompt has no votes."""
    shown = {label: _FINAL.search(text) for _, label, text in _VOTE.findall(prompt)}
    return {label: final[1] for label, final in shown.items() if final}


def judgement(votes: dict[str, str], number: str) -> str:
    """Return a judgement for the first of `votes` with `number`."""
    label = next(label for label, own in votes.items() if own == number)
    return f"BEST: {label}\n\nFinal answer: {number}"
