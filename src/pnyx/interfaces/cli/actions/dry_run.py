"""`--dry-run`: what a run would take, on stdout; nothing is sent and nothing stored."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.models import money
from ....run.spec import Spec
from ...render.terminal import columns, flat
from ...views.plan import Plan, as_json, plan
from ..terminal.output import Output
from ..terminal.plain import fitted

__all__ = ["print_plan"]


def print_plan(output: Output, spec: Spec) -> None:
    """The plan on stdout, as text or as one object; that on one line where lines of JSON are asked for."""
    reckoned = plan(spec)
    if output.form != "text":
        write = output.json_line if output.form == "jsonl" else output.json
        write(as_json(spec, reckoned))
        return
    out = output.out
    out.lines(fitted(out, f"{spec.protocol}: {spec.protocol_def.summary}", "bold"))
    given = (f"{name}={'-' if value == '' else value}" for name, value in spec.options.items())
    out.lines(fitted(out, ", ".join(given), "dim"))
    rows = [["seat", "model", "role", "USD per million in", "out"]]
    for seat in spec.seats:
        price = ("unknown", "unknown") if seat.price is None else (seat.price.input, seat.price.output)
        rows.append([seat.label, seat.model, flat(seat.role)[:40], *(str(p) for p in price)])
    for line in columns(rows, right=(3, 4)):
        out.line(line)
    out.lines(columns(_taken(spec, reckoned), width=out.width))
    out.line("nothing was sent, nothing was stored")


def _taken(spec: Spec, reckoned: Plan) -> Iterator[tuple[str, str]]:
    if reckoned.calls is None:
        yield "calls", "unknown: the protocol does not tell"
    else:
        least, most = reckoned.calls
        yield "calls", str(least) if least == most else f"{least} to {most}"
        given = "unknown" if reckoned.input_tokens is None else f"{reckoned.input_tokens:,}"
        tokens = f"{given} in, {reckoned.output_tokens or 0:,} out"
        yield "tokens", f"at most {tokens}, when no seat fails and no call is retried"
    yield "cost", _cost(spec, reckoned)


def _cost(spec: Spec, reckoned: Plan) -> str:
    if reckoned.cost_usd is None:
        return "unknown: a price, the number of calls, or a model's window with tools is not known"
    cap = "" if spec.budget_usd is None else f"; the run pauses before {money(spec.budget_usd)}"
    return f"{'nothing' if reckoned.cost_usd == 0 else f'at most {money(reckoned.cost_usd)}'}{cap}"
