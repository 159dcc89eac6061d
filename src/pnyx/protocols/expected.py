"""The calls of a usual run of each protocol, for its expected cost. Lengths: `core.context.reply_sizes`.

What depends on the question is set as follows: challenges repeat halfway between the second round and the
last; the answers of a debate differ, and it is stuck as soon as it can be; a council has a majority after one
round; a question has three subtasks; `auto` chooses consensus; samples stop halfway;
`escalate` asks half of the dearer seats.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.context import reply_sizes as sizes
from ..core.models import cheapest
from ..core.protocol import Chosen, ExpectedCalls, Scope

__all__ = [
    "aggregate",
    "auto",
    "consensus",
    "council",
    "decompose",
    "deliberate",
    "escalate",
    "moa",
    "sample",
    "single",
    "voting",
]

ANSWER, REVIEW, REBUTTAL = sizes.ANSWER.usual, sizes.REVIEW.usual, sizes.REBUTTAL.usual
CHALLENGE, BALLOT = sizes.CHALLENGE.usual, sizes.BALLOT.usual


def _first(scope: Scope) -> ExpectedCalls:
    """Return the calls for first answers, which responses replace."""
    return ExpectedCalls(0 if scope.responses else len(scope.seats), ANSWER)


def _read(scope: Scope) -> int:
    """Return the tokens of all first answers."""
    return (scope.responses or len(scope.seats)) * ANSWER


def single(_: Scope) -> list[ExpectedCalls]:
    return [ExpectedCalls(1, ANSWER, by="strongest")]


def sample(scope: Scope) -> list[ExpectedCalls]:
    most = scope.options["samples"]
    return [ExpectedCalls((2 + most) / 2 if scope.options["adaptive"] and most > 2 else most, ANSWER)]


def voting(scope: Scope) -> list[ExpectedCalls]:
    judgements = 1 + scope.options["swap"]
    return [_first(scope), ExpectedCalls(judgements, ANSWER, _read(scope), "strongest")]


def aggregate(scope: Scope) -> list[ExpectedCalls]:
    one = ExpectedCalls(1, ANSWER + REVIEW, _read(scope), "strongest")
    if scope.options["aggregators"] == "each":
        one = replace(one, count=len(scope.seats), by="all")
    return [_first(scope), one]


def moa(scope: Scope) -> list[ExpectedCalls]:
    further, read = (scope.options["layers"] - 1) * len(scope.seats), _read(scope)
    return [
        _first(scope),
        ExpectedCalls(further, ANSWER, read),
        ExpectedCalls(1, ANSWER, read, "strongest"),
    ]


def consensus(scope: Scope) -> list[ExpectedCalls]:
    most, count = scope.options["rounds"], min(scope.options["challengers"], len(scope.seats))
    rounds, read = (min(2, most) + most) / 2, ANSWER + count * CHALLENGE
    return [
        ExpectedCalls(1, ANSWER, by="strongest"),
        ExpectedCalls(rounds - 1, ANSWER, read, "strongest"),
        ExpectedCalls(rounds * count, CHALLENGE, ANSWER),
        ExpectedCalls(rounds, ANSWER, read, "strongest"),
    ]


def deliberate(scope: Scope) -> list[ExpectedCalls]:
    seats, rounds, read = len(scope.seats), min(scope.options["rounds"], 2), _read(scope)
    return [
        _first(scope),
        ExpectedCalls(rounds * seats, ANSWER, read),
        ExpectedCalls(seats, ANSWER, (rounds + 1) * read),
    ]


def escalate(scope: Scope) -> list[ExpectedCalls]:
    labels = tuple(seat.label for seat in cheapest(scope.seats))
    pair, others = labels[:2], labels[2:]
    return [ExpectedCalls(len(pair), ANSWER, by=pair), ExpectedCalls(len(others) / 2, ANSWER, by=others)]


def council(scope: Scope) -> list[ExpectedCalls]:
    n = len(scope.seats)
    calls, read = list[ExpectedCalls](), 0
    # Every seat reads all that was written before.
    for writes in (ANSWER, (n - 1) * REVIEW, REBUTTAL, BALLOT):
        calls.append(ExpectedCalls(n, writes, read))
        read += n * writes
    return [*calls, ExpectedCalls(1, ANSWER, read), ExpectedCalls(n, sizes.APPROVAL.usual, read + ANSWER)]


def decompose(scope: Scope) -> list[ExpectedCalls]:
    tasks, plan = min(3, scope.options["max_subtasks"]), ExpectedCalls(1, sizes.PLAN.usual, by="cheapest")
    if scope.chosen:  # the question was of one part
        return [plan, *scope.expected(*scope.chosen)]
    inner = scope.expected(scope.options["inner"])
    return [
        plan,
        *(replace(calls, count=tasks * calls.count) for calls in inner),
        ExpectedCalls(1, ANSWER, tasks * ANSWER, "strongest"),
    ]


def auto(scope: Scope) -> list[ExpectedCalls]:
    # On a panel of small models words classify, and there is a vote without a debate.
    small = scope.options["routing"] != "classic" and all(seat.short_prompts for seat in scope.seats)
    # Before the question is classified, a vote that may be debated is as likely as a debate.
    usual: list[Chosen] = [("voting" if small else "deliberate", {}), ("consensus", {})]
    routes = [scope.expected(*route) for route in ([scope.chosen] if scope.chosen else usual)]
    return [
        ExpectedCalls(0 if small else 1, sizes.QUESTION_CLASS.usual, by="cheapest"),
        *(replace(calls, count=calls.count / len(routes)) for route in routes for calls in route),
    ]
