"""Drives a protocol with scripted replies, without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from .. import protocols
from ..core.decision import Brief, Decision, Given
from ..core.models import Price, Seat
from ..core.parsing.json_objects import read_structured
from ..core.phases import Phases
from ..core.protocol import Protocol
from ..core.steps import Abstain, Ask, Enter, Panel, Reply, Run, Tally, Use
from ..core.text import Material
from ..core.tool_calls import ToolResult
from ..errors import SeatAbsent, UsageError
from ..run.drive import Where, drive
from .sequential import Sequential, finish

__all__ = ["ProtocolDriver", "Script", "drive_protocol", "make_seats", "prompt_name"]

Script: TypeAlias = Callable[[Ask], "str | Reply | None"]
"""The reply of a seat to a question: its text, a whole `Reply`, or None if the seat does not answer."""
PRICE = Price(1.0, 4.0)


def make_seats(*models: str, price: Price | None = PRICE, **more: Any) -> tuple[Seat, ...]:
    """Seats "Participant A", "Participant B", … for models such as "lab:alpha". more: fields of `Seat`."""
    return tuple(
        Seat(f"Participant {chr(65 + place)}", model, price=price, **more)
        for place, model in enumerate(models)
    )


def prompt_name(ask: Ask) -> str:
    """The last part of the id of an ask's prompt: "vote" for "voting/vote.short+context"."""
    return ask.prompt.id.partition("+")[0].rpartition("/")[2].removesuffix(".short")


def drive_protocol(
    protocol: Protocol | str, script: Script, seats: Sequence[Seat | str], **more: Any
) -> ProtocolDriver:
    """Run a protocol to its decision with scripted replies; the decision and all that it did.

    more: as for `ProtocolDriver`. Raises what the protocol raises, and `ScriptError` as a real run does.
    """
    driver = ProtocolDriver(protocol, script, seats=seats, **more)
    driver.decide()
    return driver


class ProtocolDriver:
    """Runs a protocol step by step, as `pnyx.ask` does, but one step after another.

    protocol: or the name of an installed one. seats: or references such as "lab:alpha". responses: existing
    answers. options: of the protocol, which may also be keyword arguments of their own. decide_run: decides
    runs of other protocols (a `Decision`, or an exception to raise); without it they are driven too. tool:
    the result of a tool call. last_first: branches of a parallel step run in reverse order.

    asks: every question to a seat, in order, and keys: their places in the tree of steps, as in the journal.
    closing: those whose reply, as it is, is the answer. waves: how many questions each parallel step had.
    phases: (phase, round) of each phase, and answers: the best answer as it was entered. tallies,
    abstentions, runs, tools: the other steps.
    """

    decision: Decision

    def __init__(
        self,
        protocol: Protocol | str,
        script: Script,
        seats: Sequence[Seat | str],
        *,
        question: str = "How many?",
        context: Sequence[Material] = (),
        responses: Sequence[Given] = (),
        seed: int = 1,
        decide_run: Callable[[Run], Decision | Exception] | None = None,
        tool: Callable[[Use], str | ToolResult] | None = None,
        last_first: bool = False,
        options: Mapping[str, Any] | None = None,
        **more_options: Any,
    ) -> None:
        self.protocol = protocols.get(protocol) if isinstance(protocol, str) else protocol
        references = [seat for seat in seats if isinstance(seat, str)]
        self.panel = Panel(
            make_seats(*references) if references else cast(tuple[Seat, ...], tuple(seats)), seed, "s"
        )
        resolved = self.protocol.resolve_options({**(options or {}), **more_options})
        self.brief = Brief(question, "2026-01-02", resolved, tuple(context), tuple(responses))
        self.asks: list[Ask] = []
        self.closing: list[Ask] = []
        self.keys: list[str] = []
        self.phases: list[tuple[str, int]] = []
        self.answers: list[str | None] = []
        self.tallies: list[Tally] = []
        self.abstentions: list[Abstain] = []
        self.runs: list[Run] = []
        self.tools: list[Use] = []
        self._script, self._decide_run, self._tool = script, decide_run, tool
        self._scheduler = Sequential(self.asks, last_first=last_first)
        self.waves = self._scheduler.waves

    def decide(self) -> Decision:
        """Run the protocol. Raises what it raises; `ScriptError` for what the interface does not allow."""
        handler = _Handler(self, self._script, self._tool)
        self.decision = finish(
            drive(self.protocol, self.brief, self.panel, handler, self._resolve, scheduler=self._scheduler)
        )
        return self.decision

    def prompts(self) -> list[str]:
        """`prompt_name` of every ask."""
        return [prompt_name(ask) for ask in self.asks]

    def asks_for(self, prompt: str) -> list[Ask]:
        """The asks with that `prompt_name`."""
        return [ask for ask in self.asks if prompt_name(ask) == prompt]

    def _resolve(self, name: str, brief: Brief) -> tuple[Protocol, Brief]:
        """The protocol of a `Run` step; with `decide_run`, one that only returns that decision."""
        self.runs.append(step := Run(name, brief))
        if self._decide_run is None:
            protocol = protocols.get(name)
            options = protocol.resolve_options(protocol.select_options(brief.options))
            return protocol, replace(brief, options=options)
        decision = self._decide_run(step)
        if isinstance(decision, Exception):
            raise decision

        async def script(brief: Brief, panel: Panel) -> Decision:
            return decision

        return Protocol(name, "", Phases(()), script), brief


class _Handler:
    """Performs steps from the script of a driver, and notes them there."""

    def __init__(
        self, driver: ProtocolDriver, script: Script, tool: Callable[[Use], str | ToolResult] | None
    ) -> None:
        self.driver, self.script, self.tool = driver, script, tool

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        self.driver.asks.append(ask)
        self.driver.keys.append(key)
        if ask.closing and where.closing:
            self.driver.closing.append(ask)
        reply = self.script(ask)
        if reply is None:
            raise SeatAbsent(ask.seat.label)
        if isinstance(reply, Reply):
            return reply
        data, source = read_structured(reply, ask.schema) if ask.schema else (None, None)
        return Reply(ask, reply, data, source=source)

    async def use(self, key: str, step: Use, where: Where) -> ToolResult:
        self.driver.tools.append(step)
        if self.tool is None:
            raise UsageError(
                f"the protocol calls the tool {step.tool}: pass `tool`, which returns its result"
            )
        result = self.tool(step)
        return ToolResult(result) if isinstance(result, str) else result

    async def enter(self, key: str, step: Enter, where: Where) -> None:
        self.driver.phases.append((step.phase, step.round))
        self.driver.answers.append(step.answer)

    async def tally(self, key: str, step: Tally, where: Where) -> None:
        self.driver.tallies.append(step)

    async def abstain(self, key: str, step: Abstain, where: Where) -> None:
        self.driver.abstentions.append(step)

    async def close(self, key: str, late: Sequence[int], where: Where) -> None:
        """Nothing to do: `Sequential` closes no branch that has started."""

    def follow(self, protocol: str, options: Mapping[str, Any]) -> None:
        """Nothing to do: a script costs nothing."""
