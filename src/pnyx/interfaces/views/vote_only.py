"""The vote before a debate beside its result, as one line: did talking help?

`web/src/debate/vote.ts` writes the same line for the page; `web/tests/vote_lines.json` has cases for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["vote_line"]


def vote_line(result: Mapping[str, Any]) -> str:
    """ "Vote before the debate: 42 (2 of 3); after: 42"; empty without short answers to compare.

    result: a result object. Votes with weights are shown by their share of the weight, unless the answer of
    each seat is known. The text has answers of models in it.
    """
    detail, final = result["detail"], result["final_answer"]
    vote, native = _mapping(detail.get("vote_only")), _mapping(detail.get("native"))
    answer, tally = vote.get("answer"), _mapping(vote.get("tally"))
    if not isinstance(answer, str) or result["status"] == "single":
        return ""
    # Any protocol, also of another package, may put anything into the detail.
    votes = {name: n for name, n in tally.items() if isinstance(n, int | float) and n > 0}
    if answer not in votes or (final is None and native and answer not in native.values()):
        return ""  # In the second case the vote was on long texts, which have no short answer.
    shown = f"{answer} ({_support(votes, native, answer)})"
    if not result["rounds"]:
        return f"Vote: {shown}; no debate was needed"
    then = "the judgement" if "judgements" in detail else "the debate"
    return f"Vote before {then}: {shown}; after: {'no short answer' if final is None else final}"


def _support(votes: Mapping[str, float], native: Mapping[str, Any], answer: str) -> str:
    if all(float(n).is_integer() for n in votes.values()):
        return f"{votes[answer]:.0f} of {max(round(sum(votes.values())), len(native))}"
    if answer in native.values():
        return f"{list(native.values()).count(answer)} of {len(native)}"
    return f"{100 * votes[answer] / sum(votes.values()):.0f} % of the weight"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
