"""What is known of models: seats, tokens and prices. Knows no catalogue and no provider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["MOST", "NUSD", "Price", "Seat", "Usage", "cheapest", "strengths", "strongest"]

NUSD = 1_000_000_000
"""Ledgers count whole nano-USD, so that sums are exact in every process; 1 USD = 10^9 nUSD."""
MOST = 1e9
"""The largest cap in USD: as nano-USD it fits the 64 bits of a database, with room for what is added to it.
No wait in seconds is longer either."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; cached ones are part of `input_tokens`, reasoning ones of `output_tokens`."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens on a date (`as_of`, ISO 8601).

    Where `cached` or `reasoning` is None, such tokens cost what other input or output costs.
    """

    input: float
    output: float
    cached: float | None = None
    reasoning: float | None = None
    as_of: str = ""
    source: str = ""

    def cost(self, usage: Usage) -> int:
        """What the call cost, in nUSD, rounded up."""
        cached = self.input if self.cached is None else self.cached
        reasoning = self.output if self.reasoning is None else self.reasoning
        micro_usd = (
            (usage.input_tokens - usage.cached_tokens) * self.input
            + usage.cached_tokens * cached
            + (usage.output_tokens - usage.reasoning_tokens) * self.output
            + usage.reasoning_tokens * reasoning
        )
        # Binary fractions of prices such as 0.1 leave dust in the last digits; it must not round up.
        return math.ceil(round(micro_usd * 1000, 3))

    def ceiling(self, input_tokens: int, output_tokens: int) -> int:
        """The most that a call of this size can cost, in nUSD: nothing cached, the dearer output rate."""
        dear_in = max(self.input, self.cached or 0.0)
        dear_out = max(self.output, self.reasoning or 0.0)
        return Price(dear_in, dear_out).cost(Usage(input_tokens, 0, output_tokens, 0))


@dataclass(frozen=True, slots=True)
class Seat:
    """One place on the panel, as a protocol sees it.

    label: what other seats see ("Participant B").
    model: the reference "provider:model"; never put into a prompt.
    price: None when unknown. parameters: billions, None when unknown.
    proposer_eligible: False for models that search the web by themselves.
    short_prompts: the model answers better to a prompt's short variant.
    context, max_output: tokens; None when unknown.
    weight: what its vote counts, learned from judged runs; None where nothing was learned.
    """

    label: str
    model: str
    role: str = ""
    price: Price | None = None
    parameters: float | None = None
    proposer_eligible: bool = True
    short_prompts: bool = False
    temperature: float | None = None
    context: int | None = None
    max_output: int | None = None
    weight: float | None = None

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]

    @property
    def name(self) -> str:
        """The model's name at its host."""
        return self.model.partition(":")[2]


def strongest(seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
    """Seats by strength: what their votes are known to be worth, where that is known; then proxies for it.

    Those are the output price, then the parameters, then the order given.
    """
    return tuple(
        sorted(
            seats,
            key=lambda s: (-(s.weight or 0.0), -(s.price.output if s.price else 0.0), -(s.parameters or 0.0)),
        )
    )


def cheapest(seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
    """Seats by input price, unknown prices last, then the order given."""
    return tuple(sorted(seats, key=lambda s: s.price.input if s.price else math.inf))


def strengths(seats: Sequence[Seat]) -> dict[str, float]:
    """label -> weight, together 1: what votes are worth, where that is known of all, or else proxies for it.

    Those are ln(1 + output price), then ln(1 + parameters), then all the same.
    """
    worth = [seat.weight for seat in seats if seat.weight is not None]
    if len(worth) < len(seats) or not any(worth):
        prices = [seat.price.output if seat.price else 0.0 for seat in seats]
        sizes = [seat.parameters or 0.0 for seat in seats]
        known = next((xs for xs in (prices, sizes) if all(x > 0 for x in xs)), [1.0] * len(seats))
        worth = [math.log1p(x) for x in known]
    return {seat.label: one / sum(worth) for seat, one in zip(seats, worth, strict=True)}
