"""What a run would take, reckoned before anything is sent. Every figure is a bound while no seat fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.models import NUSD, Seat
from ...core.text import estimate_tokens
from ...protocols.call_bounds import call_bounds
from ...run.spec import Spec

__all__ = ["Plan", "as_json", "plan"]

TEMPLATE_TOKENS = 1000
"""More than any of our prompts takes without the material in it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The least and the most calls when no seat fails; None is unknown. Tokens and USD are at most.

    The most is with every verdict asked for again that may be. What another seat says in place of one that
    is silent or cannot be read comes on top, and so do retries.
    """

    calls: tuple[int, int] | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None


def plan(spec: Spec) -> Plan:
    """Bounds for a run: every call as long as its window allows, at the dearest seat's price.

    With tools each call may take several turns, and how much tools give is bounded by windows alone.
    """
    if spec.protocol_def.calls is None:
        return Plan(None, None, None, None)
    least, most = call_bounds(spec.protocol_def, spec.seats, spec.options, spec.tables, len(spec.responses))
    most *= spec.tool_turns if spec.tools else 1
    if spec.tools and any(seat.context is None for seat in spec.seats):
        return Plan((least, most), None, most * spec.limits.max_output_tokens, None)
    sizes = [_largest(spec, seat) for seat in spec.seats]
    searches = spec.searches * (spec.search_price or 0.0) * NUSD
    known_search = not spec.searches or spec.search_price is not None
    costs = [
        seat.price.ceiling(*size) + searches if seat.price and known_search else None
        for seat, size in zip(spec.seats, sizes, strict=True)
    ]
    known = [cost for cost in costs if cost is not None]
    dearest = max(known, default=0) if len(known) == len(costs) else None
    return Plan(
        (least, most),
        most * max(given for given, _ in sizes),
        most * max(made for _, made in sizes),
        None if dearest is None else most * dearest / NUSD,
    )


def _largest(spec: Spec, seat: Seat) -> tuple[int, int]:
    """The longest prompt and reply of a seat, in tokens: a prompt holds at most one reply of every seat."""
    made = min(spec.limits.max_output_tokens, seat.max_output or spec.limits.max_output_tokens)
    material = sum(estimate_tokens(m.text) for m in spec.context) + (len(spec.seats) + 1) * made
    given = TEMPLATE_TOKENS + estimate_tokens(spec.question) + material
    if spec.tools and seat.context is not None:
        return seat.context, made
    return (given if seat.context is None else min(given, seat.context)), made


def as_json(spec: Spec, reckoned: Plan) -> dict[str, Any]:
    """The plan with what it is for, as `pnyx ask --dry-run --json` and the server tell it."""
    calls = None if reckoned.calls is None else dict(zip(("least", "most"), reckoned.calls, strict=True))
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
        "calls": calls,
        "at_most": {
            "input_tokens": reckoned.input_tokens,
            "output_tokens": reckoned.output_tokens,
            "cost_usd": reckoned.cost_usd,
        },
        "budget_usd": spec.budget_usd,
        "deadline_s": spec.deadline_s,
    }
