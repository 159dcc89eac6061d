"""What a run would take, reckoned before anything is sent. Every figure is a bound, not a guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import NUSD, Seat
from ...core.text import estimate_tokens
from ...protocols.reckoning import reckon
from ...run.spec import Spec
from ..terminal import columns, flat
from ..transcript import money
from .output import Output

__all__ = ["Plan", "plan", "print_plan"]

TEMPLATE_TOKENS = 1000
"""More than any of our prompts takes without the material in it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The least and the most calls when no seat fails; None is unknown. Tokens and USD are at most."""

    calls: tuple[int, int] | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None


def plan(spec: Spec) -> Plan:
    """Bounds for a run: every call as long as its window allows, at the dearest seat's price.

    With tools each call may take several turns, and how much tools give is bounded by windows alone.
    """
    if spec.page.calls is None:
        return Plan(None, None, None, None)
    least, most = reckon(spec.page, spec.seats, spec.options, spec.tables, len(spec.responses))
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


def print_plan(output: Output, spec: Spec) -> None:
    """The plan on stdout, as text or as one object."""
    reckoned = plan(spec)
    if output.form != "text":
        output.json(_document(spec, reckoned))
        return
    out = output.out
    out.line(f"{spec.protocol}: {spec.page.summary}", "bold")
    out.line("  ".join(f"{name}={value}" for name, value in spec.options.items()), "dim")
    rows = [["seat", "model", "role", "USD per million in", "out"]]
    for seat in spec.seats:
        price = ("unknown", "unknown") if seat.price is None else (seat.price.input, seat.price.output)
        rows.append([seat.label, seat.model, flat(seat.role)[:40], *(str(p) for p in price)])
    for line in columns(rows, right=(3, 4)):
        out.line(line)
    if reckoned.calls is None:
        out.line("calls unknown: the protocol does not tell")
    else:
        least, most = reckoned.calls
        out.line(f"calls   {least}" if least == most else f"calls   {least} to {most}")
        given = "unknown" if reckoned.input_tokens is None else f"{reckoned.input_tokens:,}"
        tokens = f"{given} in, {reckoned.output_tokens or 0:,} out"
        out.line(f"tokens  at most {tokens}, when no call is retried")
    out.line(f"cost    {_cost(spec, reckoned)}")
    out.line("nothing was sent, nothing was stored")


def _cost(spec: Spec, reckoned: Plan) -> str:
    if reckoned.cost_usd is None:
        return "unknown: a price, the number of calls, or a model's window with tools is not known"
    cap = "" if spec.budget_usd is None else f"; the run pauses before {money(spec.budget_usd)}"
    return f"{'nothing' if reckoned.cost_usd == 0 else f'at most {money(reckoned.cost_usd)}'}{cap}"


def _document(spec: Spec, reckoned: Plan) -> Mapping[str, Any]:
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
                "role": seat.role,
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
