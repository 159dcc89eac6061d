"""Prices of the makers' own models, from the snapshot bundled with genai-prices. Nothing is fetched.

Import this module only to look a model up: it loads the snapshot, 0.3 s.

A ledger must not fall below the bill, so the price of the most expensive hour counts where prices vary.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import genai_prices
from genai_prices.data import providers
from genai_prices.types import ModelInfo, ModelPrice, StartDateConstraint, TieredPrices, TimeOfDateConstraint

from ..core.models import Price

__all__ = ["Listing", "look_up", "model_ids"]


@dataclass(frozen=True, slots=True)
class Listing:
    """A model in the snapshot. context: tokens up to which `price` holds, None if unknown."""

    price: Price | None
    context: int | None


def look_up(host: str, model: str, today: date, context: int | None = None) -> Listing | None:
    """The listing of `model` at `host`, an id of the snapshot, on a day; None if the snapshot has none.

    context: the configured window in tokens, if any; prices are then those of the most expensive tier that it
    reaches. Otherwise the base tier holds, and the window ends where that tier does.
    The price is None if requests are also charged for something other than tokens.
    """
    provider = next((provider for provider in providers if provider.id == host), None)
    found = provider.find_model(model) if provider else None
    if found is None:
        return None
    prices = _current_prices(found, today)
    if any(p.input_mtok is None or p.output_mtok is None or p.requests_kcount for p in prices):
        return Listing(None, context or found.context_window)

    def rate(name: str) -> float | None:
        rates = []
        for value in (getattr(price, name) for price in prices):
            if isinstance(value, TieredPrices):
                reached = [tier.price for tier in value.tiers if (context or 0) > tier.start]
                rates += [value.base, *reached]
            elif value is not None:
                rates.append(value)
        return float(max(rates)) if rates else None

    price = Price(
        input=rate("input_mtok") or 0.0,
        output=rate("output_mtok") or 0.0,
        cached=rate("cache_read_mtok"),
        reasoning=rate("output_reasoning_mtok"),
        cache_write=rate("cache_write_mtok"),
        as_of=today.isoformat(),
        source=f"genai-prices {genai_prices.__version__}",
    )
    values = [value for p in prices for value in (p.input_mtok, p.output_mtok)]
    starts = [tier.start for value in values if isinstance(value, TieredPrices) for tier in value.tiers]
    window = min((n for n in (found.context_window, *starts) if n), default=None)
    return Listing(price, context or window)


def model_ids(host: str, name: str) -> set[str]:
    """The models of `host`, an id of the snapshot; and `name`, if it is another name of one of them."""
    provider = next((provider for provider in providers if provider.id == host), None)
    if provider is None:
        return set()
    found = provider.find_model(name)
    return {model.id for model in provider.models} | ({name} if found else set())


def _current_prices(model: ModelInfo, today: date) -> list[ModelPrice]:
    """All prices that hold at some hour of the day; of prices that replace each other, the latest."""
    if isinstance(model.prices, ModelPrice):
        return [model.prices]
    found = []
    for entry in reversed(model.prices):
        if isinstance(entry.constraint, StartDateConstraint) and today < entry.constraint.start_date:
            continue
        found.append(entry.prices)
        if not isinstance(entry.constraint, TimeOfDateConstraint):
            break
    return found or [model.prices[0].prices]
