"""Seats, token usage and prices. Does not know the catalogue or any provider."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .thinking import Effort

__all__ = [
    "MOST",
    "NO_PAYER",
    "NUSD",
    "REVISION",
    "WRITE",
    "Payer",
    "Price",
    "Seat",
    "Usage",
    "cheapest",
    "money",
    "strengths",
    "strongest",
    "total_usd",
]

NUSD = 1_000_000_000
"""Nano-USD per USD. Ledgers count whole nano-USD, so that sums are exact in every process."""
REVISION = 3
"""The revision of what protocols do. A run keeps the one that it started with, so that it can be resumed."""
WRITE, WRITE_1H = 1.25, 2.0
"""What input written to a prompt cache costs, as a multiple of other input: kept for minutes, for an hour."""
MOST = 1e9
"""The largest cap in USD: in nano-USD it fits the 64 bits of a database, with room for additions. Also the
longest wait in seconds."""


def money(usd: float | None) -> str:
    """An amount in USD with as many digits as it needs; an unknown price is never shown as $0."""
    if usd is None:
        return "cost unknown"
    if usd == 0:
        return "$0"
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}" if usd >= 0.0001 else f"${usd:.9f}".rstrip("0")


def total_usd(amounts: Iterable[float | None]) -> float | None:
    """The sum of amounts in USD; None if one of them is unknown."""
    known = list[float]()
    for amount in amounts:
        if amount is None:
            return None
        known.append(amount)
    return math.fsum(known)


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call. `output_tokens` includes reasoning tokens.

    `input_tokens` includes cached tokens, which are read from the host's prompt cache, and those written to
    it: `cache_write_tokens`, and `cache_write_1h_tokens` for an entry that is kept for an hour.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
        )


def _nusd(micro_usd: float) -> int:
    # Prices such as 0.1 are not exact in binary; the error in the last digits must not round up.
    return math.ceil(round(micro_usd * 1000, 3))


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens on a date (`as_of`, ISO 8601).

    If `cached` or `reasoning` is None, such tokens cost as much as other input or output. cache_write: of
    input that a host writes to its prompt cache; None: hosts are not expected to bill it apart, and what they
    report all the same costs `WRITE` times the input. An entry kept for an hour costs `WRITE_1H` times it.
    """

    input: float
    output: float
    cached: float | None = None
    reasoning: float | None = None
    as_of: str = ""
    source: str = ""
    cache_write: float | None = None

    def cost(self, usage: Usage) -> int:
        """The cost of the call in nano-USD, rounded up."""
        cached = self.input if self.cached is None else self.cached
        reasoning = self.output if self.reasoning is None else self.reasoning
        write = WRITE * self.input if self.cache_write is None else self.cache_write
        written = usage.cache_write_tokens + usage.cache_write_1h_tokens
        micro_usd = (
            (usage.input_tokens - usage.cached_tokens - written) * self.input
            + usage.cached_tokens * cached
            + usage.cache_write_tokens * write
            + usage.cache_write_1h_tokens * max(WRITE_1H * self.input, write)
            + (usage.output_tokens - usage.reasoning_tokens) * self.output
            + usage.reasoning_tokens * reasoning
        )
        return _nusd(micro_usd)

    def ceiling(self, input_tokens: int, output_tokens: int) -> int:
        """The most that a call of this size can cost, in nano-USD: all tokens at the higher rate."""
        input_rate = max(self.input, self.cached or 0.0, self.cache_write or 0.0)
        output_rate = max(self.output, self.reasoning or 0.0)
        return _nusd(input_tokens * input_rate + output_tokens * output_rate)


@dataclass(frozen=True, slots=True)
class Seat:
    """One place on the panel, as a protocol sees it.

    label: the name that other seats see ("Participant B").
    model: the reference "provider:model"; never part of a prompt.
    price: None if unknown. parameters: in billions, None if unknown.
    proposer_eligible: False for models that always search the web.
    short_prompts: whether the model answers better to the short variant of a prompt.
    context, max_output: in tokens; None if unknown.
    weight: the weight of its vote, learned from outcomes; None if nothing was learned. judged: the number of
    its judged answers behind that weight; None if unknown.
    effort, thinking_tokens: configured for the model, see `Thinking`. images: whether the model reads images.
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
    judged: int | None = None
    effort: Effort | None = None
    thinking_tokens: int | None = None
    images: bool = False

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]

    @property
    def name(self) -> str:
        """The model's name at its host."""
        return self.model.partition(":")[2]


def strongest(seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
    """The seats, strongest first: by learned weight, then output price, then parameters, then their order."""
    return tuple(
        sorted(
            seats,
            key=lambda s: (-(s.weight or 0.0), -(s.price.output if s.price else 0.0), -(s.parameters or 0.0)),
        )
    )


def cheapest(seats: tuple[Seat, ...], revision: int = REVISION) -> tuple[Seat, ...]:
    """The seats by input price, then output price, lowest first; unknown prices last, then in their order.

    Runs of revision 1 do not compare output prices.
    """

    def cost(seat: Seat) -> tuple[float, float]:
        if seat.price is None:
            return math.inf, math.inf
        return seat.price.input, seat.price.output if revision > 1 else 0.0

    return tuple(sorted(seats, key=cost))


def strengths(seats: Sequence[Seat]) -> dict[str, float]:
    """label -> vote weight; the weights sum to 1.

    Learned weights if every seat has one; else ln(1 + output price) if all prices are known and positive;
    else ln(1 + parameters) if all are known; else equal weights.
    """
    weights = [seat.weight for seat in seats if seat.weight is not None]
    if len(weights) < len(seats) or not any(weights):
        prices = [seat.price.output if seat.price else 0.0 for seat in seats]
        sizes = [seat.parameters or 0.0 for seat in seats]
        known = next((xs for xs in (prices, sizes) if all(x > 0 for x in xs)), [1.0] * len(seats))
        weights = [math.log1p(x) for x in known]
    return {seat.label: weight / sum(weights) for seat, weight in zip(seats, weights, strict=True)}


@dataclass(frozen=True, slots=True)
class Payer:
    """What the costs of a run are reported under.

    owner: name of the server's key that started the run, or "local". panel: the saved panel that the request
    named, "" for none. models: seat label -> model.
    """

    owner: str
    protocol: str
    panel: str = ""
    models: Mapping[str, str] = field(default_factory=dict)


NO_PAYER = Payer("", "")
"""The payer of a run whose calls are not reported."""
