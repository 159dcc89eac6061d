"""What a run is expected to cost: from its protocol's usual calls, the usual lengths, and its seats' prices.

Once the run has made calls, what they cost corrects this.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from typing import Any, NamedTuple

from ...core.context.reply_sizes import ANSWER, RAISE
from ...core.models import NUSD, Price, Seat, Usage, cheapest, strongest
from ...core.protocol import Chosen, ExpectedCalls
from ...errors import ConfigError
from ...protocols.call_bounds import expected_calls, routes
from ..calls.context_window import image_tokens
from ..spec import Spec

__all__ = ["Expectation", "PricedCalls", "expect", "expect_dearest", "kind_of", "panel_of", "usual_replies"]

PROMPT_TOKENS = 600
"""The usual length of one of our prompts without its question and material."""
BYTES_PER_TOKEN = 4
"""In prose."""
FILE_SHARE = 0.5
"""Of the most tokens that a file may have: four bytes a token in prose, fewer in numbers and hashes."""
TOOL_TURNS = 2
"""Calls in place of one where seats have tools."""
PRIOR_CALLS = 2
"""Usual calls as many as which the expectation counts, against those that were made."""


@dataclass(frozen=True, slots=True)
class PricedCalls:
    """Calls of one kind: their number, and what one costs in nUSD.

    usual: with a reply of the usual length. prompt: without a reply. longest: with the longest one.
    """

    count: float
    usual: float
    prompt: float
    longest: float


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected cost of a run in nUSD, by its usual calls, in their order; `plan` has one or more."""

    plan: Sequence[PricedCalls]

    @property
    def calls(self) -> float:
        """The number of calls."""
        return sum(one.count for one in self.plan)

    @property
    def cost(self) -> int:
        """The cost of the run."""
        return round(sum(one.count * one.usual for one in self.plan))

    @property
    def dearest(self) -> int:
        """The cost of the dearest call."""
        return ceil(max(one.usual for one in self.plan))

    @property
    def prompt(self) -> int:
        """The cost of the dearest prompt, without a reply."""
        return ceil(max(one.prompt for one in self.plan))

    @property
    def most(self) -> int:
        """The cost of these calls if every reply is as long as it may be. A run may make more of them: the
        bound of a dry run is that of `views.plan`."""
        return ceil(sum(one.count * one.longest for one in self.plan))

    def first(self, calls: float) -> float:
        """Return what the first `calls` calls are expected to cost. Those beyond the plan cost its mean."""
        cost, left = 0.0, calls
        for one in self.plan:
            count = min(one.count, left)
            cost, left = cost + count * one.usual, left - count
        return cost + left * self.cost / self.calls

    def remaining(self, spent: int, calls: int, factor: float | None) -> int:
        """Return what a run still needs to finish, in nUSD: rather too much at first, and a call more.

        spent: by its first `calls` calls. factor: the cost of earlier runs of the kind as a share of the
        expected one. None if there are none: then the replies to come may be as long as they may be.
        """
        total = max(self.total(spent, calls, factor), self.cost * (factor or 0.0))
        mean = spent / calls if calls else self.cost / self.calls
        prior = self._prior(calls)
        call = self.dearest * total / self.cost if self.cost else 0.0
        usual = max(total - spent, mean) * (1.1 + (0.3 if factor else 0.9) * prior) + call
        if factor:
            return ceil(usual)
        return ceil(max(usual, prior * max(1 - calls / self.calls, 0.0) * self.most))

    def total(self, spent: int, calls: int, factor: float | None) -> float:
        """Return what the run is expected to cost in all, in nUSD. Arguments: as in `remaining`."""
        planned, first = self.cost * (factor or 1.0), self.first(calls)
        if not first:
            return max(planned, float(spent))
        prior = self._prior(calls)
        return max(prior * planned + (1 - prior) * spent / first * max(self.cost, first), float(spent))

    def _prior(self, calls: int) -> float:
        """Return the weight of the expectation against what the first `calls` calls of a run cost.

        By what they are expected to cost: a dear answer says more of the rest than a classification does.
        """
        own = PRIOR_CALLS * self.cost / self.calls
        return own / (own + self.first(calls)) if own else 1.0


def expect(spec: Spec, chosen: Chosen | None = None) -> Expectation | None:
    """Return what a run of `spec` is expected to cost; None if a price or its calls are unknown.

    chosen: the protocol that answers in place of that of `spec`, once that is known.
    """
    if any(seat.price is None for seat in spec.callable_seats):
        return None
    if spec.searches and spec.search_price is None:
        return None
    turns, callers = _turns(spec), dict[str, _Caller]()
    searches = (spec.search_price or 0.0) * NUSD if spec.searches else 0.0
    prompt = _prompt_tokens(spec)
    plan = []
    for calls in _usual_calls(spec, chosen) or ():
        seats = _seats_of(spec, calls)
        for seat in seats:
            if seat.label not in callers:
                callers[seat.label] = _Caller.of(spec, seat, prompt)
        every = zip(*(callers[seat.label].costs(calls) for seat in seats), strict=True)
        usual, none, longest = (sum(costs) / len(seats) + searches for costs in every)
        plan.append(PricedCalls(turns * calls.count, usual, none, longest))
    return Expectation(plan) if plan else None


def expect_dearest(spec: Spec) -> Expectation | None:
    """Return the same with the dearest of the protocols that may answer in place of that of `spec`."""
    known = routes(spec.protocol_def, spec.seats, spec.all_options, spec.tables)
    found = [one for chosen in known if (one := expect(spec, chosen)) is not None]
    return max(found, key=lambda one: one.cost) if found else expect(spec)


def usual_replies(spec: Spec) -> int | None:
    """Return the number of replies of a usual run of `spec`; None if its protocol does not state it."""
    calls = _usual_calls(spec)
    if calls is None:
        return None
    return ceil(_turns(spec) * sum(one.count for one in calls))


def kind_of(spec: Spec) -> str:
    """Return a name for runs that cost about the same share of what is expected."""
    seats = sorted((seat.model, seat.role) for seat in spec.seats)
    parts: list[Any] = [spec.protocol, dict(spec.options), seats, bool(spec.responses), spec.tools]
    parts += [spec.ground, *([spec.judge.model] if spec.judge else [])]
    return _name([*parts, *spec.asked_thinking])


def panel_of(spec: Spec) -> str:
    """Return a name for runs of the same models that are asked for as much thinking: replies are alike."""
    return "panel:" + _name([sorted({seat.model for seat in spec.callable_seats}), *spec.asked_thinking])


def _name(parts: list[Any]) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _usual_calls(spec: Spec, chosen: Chosen | None = None) -> list[ExpectedCalls] | None:
    protocol, responses = spec.protocol_def, len(spec.responses)
    try:
        calls = expected_calls(protocol, spec.seats, spec.all_options, spec.tables, responses, chosen)
    except ConfigError:
        return None
    return [one for one in calls if one.count > 0]


def _prompt_tokens(spec: Spec) -> float:
    """The usual tokens of a prompt, without images and replies of others."""
    question = len(spec.question.encode()) + sum(len(one.text.encode()) for one in spec.context)
    files = FILE_SHARE * sum(one.tokens for one in spec.files if not one.is_image)
    return PROMPT_TOKENS + question / BYTES_PER_TOKEN + files


def _turns(spec: Spec) -> int:
    """Requests of a call, with those that only use tools."""
    return TOOL_TURNS if spec.tools else 1


def _seats_of(spec: Spec, calls: ExpectedCalls) -> Sequence[Seat]:
    """Return the seats that make these calls."""
    match calls.by:
        case tuple() as labels:
            return tuple(seat for seat in spec.seats if seat.label in labels)
        case "strongest":
            return spec.panel.closers(strongest(spec.seats))[:1]
        case "cheapest":
            return cheapest(spec.seats, spec.revision)[:1]
        case _:
            return spec.seats


class _Caller(NamedTuple):
    """A seat as it makes its calls. prompt: tokens that all of its prompts have. most: of a usual reply.
    thinking: usual tokens of it, in an answer. longest: tokens of the longest reply."""

    price: Price
    context: int | None
    prompt: float
    most: int
    thinking: int
    longest: int

    @classmethod
    def of(cls, spec: Spec, seat: Seat, prompt: float) -> _Caller:
        """prompt: tokens that the prompts of all seats have."""
        most = spec.limits.max_output_tokens
        return cls(
            seat.price or Price(0.0, 0.0),
            seat.context,
            prompt + image_tokens(seat, spec.files),
            min(most, seat.max_output or most),
            (spec.thinking(seat, "", None).tokens or 0) // 2,
            spec.output_limit(seat, RAISE),
        )

    def costs(self, calls: ExpectedCalls) -> tuple[int, int, int]:
        """Return the cost of one of these calls in nUSD: with a usual reply, without one, and the longest."""
        prompt = self.prompt + calls.reads
        tokens = round(prompt if self.context is None else min(prompt, self.context))
        usual = min(calls.writes, self.most) + (self.thinking if calls.writes >= ANSWER.usual else 0)
        usual, none, longest = (
            self.price.cost(Usage(tokens, 0, writes, 0)) for writes in (usual, 0, self.longest)
        )
        return usual, none, longest
