"""Evidence: how much the statements of seats support an answer, and who agrees on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from ...core.answers.replies.extract import final_answer
from ...core.answers.same.grouping import find_group, group_answers
from ...core.models import Seat
from ...core.prose.substance import is_rubbish
from ...core.steps import Decision, Reply
from ...core.voting.stopping import STRONGEST_FIRST, posterior

__all__ = [
    "LATER",
    "OPEN",
    "POOLED",
    "VOTES",
    "Statement",
    "agreed",
    "routed_decision",
    "rule_of_votes",
    "stated",
    "support",
    "support_of",
]

LATER = 0.25
"""The weight of an answer that a seat gave after it read others; a first answer weighs 1."""
VOTES = "posterior of the votes"
"""The name of the rule of `support` where no seat has read another."""
POOLED = f"posterior of first answers and, at {100 * LATER:.0f} %, of later ones"
"""The name of the rule of `support` after a debate."""
OPEN = "share of seats that hold the answer"
"""The name of the rule of `support` after a debate about an answer that is not short."""


@dataclass(frozen=True, slots=True)
class Statement:
    """An answer that a seat gave. group: its answer group; None if it has none that could be counted.

    turn: 0 for a first answer, and another number for each time that the seats answered again.
    """

    seat: Seat
    group: str | None
    turn: int = 0

    @classmethod
    def of(cls, seat: Seat, text: str, group: str | None, turn: int = 0) -> Statement:
        """Return the statement of a text. One that says nothing states nothing, whatever was read in it."""
        return cls(seat, None if is_rubbish(text) else group, turn)


def support(statements: Sequence[Statement], answer: str | None) -> float | None:
    """Return the posterior of the answer group `answer`, in [0, 1]; None if nothing could be counted.

    Each model counts one, in each turn: it is one witness, and its seats share that, so what it repeats is no
    further evidence. Learned weights do not count, though votes are counted with them. They change with every
    outcome, and confidence is calibrated on outcomes of other weights (design/reliability.md).
    """
    counted = [one for one in statements if one.group is not None]
    if answer is None or not counted:
        return None
    seats = Counter((one.seat.model, one.turn) for one in counted)
    parts = defaultdict[str, list[float]](list)
    for one in counted:
        weight = LATER if one.turn else 1.0
        parts[one.group or ""].append(weight / seats[one.seat.model, one.turn])
    # Exact sums: the result does not depend on the order of the statements.
    return posterior({group: fsum(some) for group, some in parts.items()}).get(answer, 0.0)


def rule_of_votes(weighted: bool, strongest_first: bool) -> str:
    """Return the name of the rule of `support` of votes, which are calibrated apart by it.

    weighted: weights decide which answer leads. strongest_first: further seats were called only if the
    strongest differed.
    """
    return ", ".join([VOTES, *(["weighted"] * weighted), *([STRONGEST_FIRST] * strongest_first)])


def support_of(short: str | None, statements: Sequence[Statement]) -> float | None:
    """Return the support of a short answer by statements whose `group` is a short answer as it was read."""
    groups = group_answers([one.group for one in statements])
    # Most statements are of few answers, and to find a group compares them with all others.
    names = {answer: find_group(answer, groups) for answer in {short, *(one.group for one in statements)}}
    grouped = [replace(one, group=names[one.group]) for one in statements]
    return support(grouped, names[short] or short)


def stated(reply: Reply, turn: int, question: str | None = None) -> Statement:
    """Return the short answer of a reply as a statement, for `support_of`; a reply cut off has none."""
    short = None if reply.truncated else final_answer(reply.text, question)
    return Statement.of(reply.seat, reply.text, short, turn)


def routed_decision(decision: Decision, protocol: str, detail: Mapping[str, Any]) -> Decision:
    """Return the decision of another protocol, with that protocol in the name of its rule of support.

    The same posterior says different things after a vote and after a debate, so their outcomes are of
    different kinds. detail: what is added to that of the decision.
    """
    rule = decision.support_rule and f"{protocol}: {decision.support_rule}"
    return replace(decision, support_rule=rule, detail={**decision.detail, **detail})


def agreed(statements: Iterable[tuple[Seat, bool]]) -> dict[str, int]:
    """Return `detail.agreed` from each seat, or sample of it, and whether it ended on the decision's answer.

    seats, of: how many did, of all that count. models, of_models: how many different models those are.
    """
    every = list(statements)
    behind = [seat for seat, agrees in every if agrees]
    return {
        "seats": len(behind),
        "of": len(every),
        "models": len({seat.model for seat in behind}),
        "of_models": len({seat.model for seat, _ in every}),
    }
