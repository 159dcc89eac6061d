"""Bounds of a run's calls, tokens and cost, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...config.layers import dotted
from ...core.models import NUSD, Seat, money
from ...core.text import estimate_tokens
from ...protocols.call_bounds import call_bounds
from ...run.calls.context_window import image_tokens
from ...run.spec import Spec
from ...run.spending.expectation import expect

__all__ = ["CONDITION", "Plan", "as_json", "plan", "price_words", "why_unknown"]

CONDITION = "if no seat fails and no call is retried"
"""When the bounds hold. A reply that is cut off is a call that is retried."""
TEMPLATE_TOKENS = 1000
"""More tokens than any of our prompts has without its material."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The least and the most calls, and the most tokens and USD; None: unknown. They hold under `CONDITION`.

    The most includes one repair of every verdict. Retries and calls to substitutes of a failed seat come on
    top. expected_usd: what a usual run costs, see `run.spending.expectation`, or earlier ones of the same
    protocol and panel did.
    """

    calls: tuple[int, int] | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    expected_usd: float | None = None


def plan(spec: Spec, factor: float | None = None) -> Plan:
    """Bounds for a run: every call is as long as its window allows, at the price of the most expensive seat.

    With tools, a call may take several turns, and only the context window bounds their results. factor: what
    earlier runs cost as a share of what is expected, see `RunRecords.cost_factor`.
    """
    usual, bounds = expect(spec), _bounds(spec)
    if usual is None:
        return bounds
    expected = usual.total(0, 0, factor) / NUSD
    return replace(bounds, expected_usd=min(expected, bounds.cost_usd or expected))


def price_words(bounds: Plan) -> str:
    """What a run costs, in words: "about $0.03, at most $1.36"."""
    if bounds.cost_usd == 0:
        return "nothing"
    parts = [] if bounds.expected_usd is None else [f"about {money(bounds.expected_usd)}"]
    parts += [] if bounds.cost_usd is None else [f"at most {money(bounds.cost_usd)}"]
    return ", ".join(parts) or "an unknown amount"


def why_unknown(spec: Spec, bounds: Plan) -> str | None:
    """Why the expected cost is unknown, and which settings would say it; None if it is known."""
    if bounds.expected_usd is not None or bounds.cost_usd == 0:
        return None
    models = dict.fromkeys(seat.model for seat in spec.callable_seats if seat.price is None)
    if models:
        tables = ", ".join(f"[{dotted(['models', model])}]" for model in models)
        return f"no price for {', '.join(models)}; set input_price and output_price in {tables}"
    if spec.searches and spec.search_price is None:
        return "no price for a search by a model's host; set search_price in [tools.web_search]"
    return f"{spec.protocol} does not state its usual calls"


def _bounds(spec: Spec) -> Plan:
    if spec.protocol_def.calls is None:
        return Plan(None, None, None, None)
    least, most = call_bounds(
        spec.protocol_def, spec.seats, spec.all_options, spec.tables, len(spec.responses)
    )
    most *= spec.tool_turns if spec.tools else 1
    seats = spec.callable_seats
    if spec.tools and any(seat.context is None for seat in seats):
        return Plan((least, most), None, most * max(map(spec.output_limit, seats)), None)
    sizes = [_largest(spec, seat) for seat in seats]
    searches = spec.searches * (spec.search_price or 0.0) * NUSD
    known_search = not spec.searches or spec.search_price is not None
    costs = [
        seat.price.ceiling(*size) + searches if seat.price and known_search else None
        for seat, size in zip(seats, sizes, strict=True)
    ]
    known = [cost for cost in costs if cost is not None]
    highest = max(known, default=0) if len(known) == len(costs) else None
    return Plan(
        (least, most),
        most * max(tokens_in for tokens_in, _ in sizes),
        most * max(tokens_out for _, tokens_out in sizes),
        None if highest is None else most * highest / NUSD,
    )


def _largest(spec: Spec, seat: Seat) -> tuple[int, int]:
    """The longest prompt and reply of a seat, in tokens. A prompt has at most one reply of every seat."""
    reply = spec.output_limit(seat)
    material = sum(estimate_tokens(m.text) for m in spec.context) + (len(spec.seats) + 1) * reply
    material += sum(one.tokens for one in spec.files if not one.is_image) + image_tokens(seat, spec.files)
    prompt = TEMPLATE_TOKENS + estimate_tokens(spec.question) + material
    if spec.tools and seat.context is not None:
        return seat.context, reply
    return (prompt if seat.context is None else min(prompt, seat.context)), reply


def as_json(spec: Spec, bounds: Plan) -> dict[str, Any]:
    """The plan as JSON, for `pnyx ask --dry-run --json` and `POST /v1/plan`."""
    calls = None if bounds.calls is None else dict(zip(("least", "most"), bounds.calls, strict=True))
    return {
        "dry_run": True,
        "question": spec.question,
        "protocol": spec.protocol,
        "options": dict(spec.options),
        "seats": [
            {
                "seat": seat.label,
                "model": seat.model,
                "role": seat.role or None,
                "input_price": seat.price and seat.price.input,
                "output_price": seat.price and seat.price.output,
            }
            for seat in spec.seats
        ],
        "files": list(spec.file_rows),
        "judge": spec.judge and spec.judge.model,
        "calls": calls,
        "at_most": {
            "input_tokens": bounds.input_tokens,
            "output_tokens": bounds.output_tokens,
            "cost_usd": bounds.cost_usd,
        },
        "at_most_if": CONDITION,
        "expected_usd": bounds.expected_usd,
        "cost_note": why_unknown(spec, bounds),
        "budget_usd": spec.budget_usd,
        "deadline_s": spec.deadline_s,
    }
