"""`--dry-run`: print the calls, tokens and cost that a run may take; nothing is sent or stored."""

from __future__ import annotations

from collections.abc import Iterator

from ....config.schema import Settings
from ....core.models import Seat, money
from ....run.spec import Spec
from ...records.runs import RunRecords
from ...render.terminal import columns, flat
from ...views.files import file_words
from ...views.plan import CONDITION, Plan, as_json, plan, price_words, why_unknown
from ..records import with_earlier_runs
from ..terminal.output import Output
from ..terminal.plain import paragraph

__all__ = ["expected_plan", "print_plan"]


def print_plan(output: Output, settings: Settings, spec: Spec) -> None:
    """Print the plan on stdout, as text or as one JSON object, on one line for --jsonl."""
    bounds = with_earlier_runs(settings, lambda stored: expected_plan(stored, spec))
    if output.form != "text":
        write = output.json_line if output.form == "jsonl" else output.json
        write(as_json(spec, bounds))
        return
    out = output.out
    out.lines(paragraph(out, f"{spec.protocol}: {spec.protocol_def.summary}", "bold"))
    options = (f"{name}={'-' if value == '' else value}" for name, value in spec.options.items())
    out.lines(paragraph(out, ", ".join(options), "dim"))
    rows = [["seat", "model", "role", "USD per million in", "out"]]
    rows += [_row(seat, seat.role) for seat in spec.seats]
    if spec.judge is not None and spec.judge not in spec.seats:
        rows.append(_row(spec.judge, "closes"))
    for line in columns(rows, (3, 4), out.width, least=(2, 0)):
        out.line(line)
    for row in spec.file_rows:
        out.lines(paragraph(out, f"file {file_words(row)}, at most {row['tokens']:,} tokens"))
    out.lines(columns(_bounds(spec, bounds), width=out.width))
    out.line("nothing was sent or stored")


async def expected_plan(stored: RunRecords | None, spec: Spec) -> Plan:
    """The bounds of a run, with the cost that earlier ones let expect. stored: None if there are none."""
    return plan(spec, None if stored is None else await stored.cost_factor(spec))


def _row(seat: Seat, role: str) -> list[str]:
    price = ("unknown", "unknown") if seat.price is None else (seat.price.input, seat.price.output)
    return [seat.label, seat.model, flat(role)[:40], *(str(p) for p in price)]


def _bounds(spec: Spec, bounds: Plan) -> Iterator[tuple[str, str]]:
    if bounds.calls is None:
        yield "calls", "unknown: the protocol has no bound"
    else:
        least, most = bounds.calls
        yield "calls", str(least) if least == most else f"{least} to {most}"
        tokens_in = "unknown" if bounds.input_tokens is None else f"{bounds.input_tokens:,}"
        tokens = f"{tokens_in} in, {bounds.output_tokens or 0:,} out"
        yield "tokens", f"at most {tokens}, {CONDITION}"
    yield "cost", _cost(spec, bounds)


def _cost(spec: Spec, bounds: Plan) -> str:
    if bounds.cost_usd is None:
        if why := why_unknown(spec, bounds):
            return f"unknown: {why}"
        what = "number of calls" if bounds.calls is None else "context window of a model with tools"
        return f"{price_words(bounds)}; the most is unknown, since the {what} is unknown"
    cap = "" if spec.budget_usd is None else f"; the run pauses before it costs {money(spec.budget_usd)}"
    return f"{price_words(bounds)}{cap}"
