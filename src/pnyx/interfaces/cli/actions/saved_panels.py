"""The actions of `pnyx panel list` and `show`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....config.schema import SavedPanel, Settings
from ....core.models import Seat, money
from ....errors import UsageError
from ....run.options.request import RunRequest
from ....run.options.resolve import resolve
from ....run.spec import Spec
from ...process.open_settings import open_settings
from ...render.terminal import clip, columns
from ...views.plan import plan, price_words
from ..terminal.output import streams
from ..terminal.plain import paragraph

__all__ = ["QUESTION", "list_panels", "seat_facts", "show_panel"]

QUESTION = "?" * 200
"""As long as a usual question, for the price of one."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """A saved panel. spec: of a question to it, or None with the `problem` that it has."""

    name: str
    saved: SavedPanel
    origin: str
    spec: Spec | None
    problem: str | None

    @classmethod
    def of(cls, name: str, settings: Settings) -> _Panel:
        saved, origin = settings.saved_panel(name), settings.origin("panels", name)
        try:
            spec = resolve(RunRequest(question=QUESTION, panel=name), settings)
        except UsageError as exc:
            return cls(name, saved, origin, None, str(exc))
        return cls(name, saved, origin, spec, None)

    def to_json(self) -> dict[str, Any]:
        bounds = None if self.spec is None else plan(self.spec)
        return {
            "name": self.name,
            **self.saved.model_dump(mode="json"),
            "origin": self.origin,
            "expected_usd": bounds and bounds.expected_usd,
            "at_most_usd": bounds and bounds.cost_usd,
            "problem": self.problem,
        }

    @property
    def price(self) -> str:
        """What a question costs, in words."""
        if self.spec is None:
            return "not usable"
        bounds = plan(self.spec)
        if bounds.cost_usd == 0:
            return "free"
        return "unknown" if bounds.expected_usd is None else f"about {money(bounds.expected_usd)}"


def list_panels(as_json: bool) -> int:
    output, settings = streams(), open_settings()
    panels = [_Panel.of(name, settings) for name in sorted(settings.panels)]
    if as_json:
        output.json([panel.to_json() for panel in panels])
    elif not panels:
        output.note("no panel is saved: `pnyx init` saves one, or add [panels.NAME] to your settings")
    else:
        rows = [["panel", "protocol", "a question", "seats"]]
        for panel in panels:
            protocol = panel.saved.protocol or settings.run.protocol
            seats = ", ".join(panel.saved.seats or settings.panel.seats) or "the default panel"
            rows.append([panel.name, protocol, panel.price, seats])
        for n, line in enumerate(columns(rows, width=output.out.width)):
            output.out.line(line, *(() if n else ("bold",)))
    return 0


def show_panel(name: str, as_json: bool) -> int:
    output, panel = streams(), _Panel.of(name, open_settings())
    if as_json:
        output.json(panel.to_json())
        return 0
    out = output.out
    out.line(f"{panel.name}  (from {panel.origin})", "bold")
    out.lines(columns(_facts(panel), width=out.width))
    if panel.problem is not None:
        out.lines(paragraph(out, f"not usable: {panel.problem}", "red"))
    else:
        out.lines(paragraph(out, f'ask it with: pnyx ask -P {panel.name} "QUESTION"', "dim"))
    return 0


def _facts(panel: _Panel) -> Iterator[tuple[str, str]]:
    saved, spec = panel.saved, panel.spec
    for seat in () if spec is None else spec.seats:
        yield "seat", seat_facts(seat)
    if spec is None:
        yield "seats", ", ".join(saved.seats)
    else:
        options = ", ".join(f"{name}={value}" for name, value in spec.options.items() if value != "")
        yield "protocol", f"{spec.protocol} ({options})" if options else spec.protocol
    if saved.judge is not None:
        yield "judge", seat_facts(spec.judge) if spec and spec.judge else saved.judge
    if saved.effort is not None:
        yield "effort", saved.effort
    if spec is not None:
        yield "a question", price_words(plan(spec))
        yield "budget", "none" if spec.budget_usd is None else f"{money(spec.budget_usd)} for a run"


def seat_facts(seat: Seat) -> str:
    """A seat in one line: model, prices, role."""
    price = seat.price
    cost = (
        "price unknown" if price is None else f"${price.input:g} in, ${price.output:g} out per million tokens"
    )
    role = f"; {clip(seat.role, 60)}" if seat.role else ""
    return f"{seat.model}  ({cost}){role}"
