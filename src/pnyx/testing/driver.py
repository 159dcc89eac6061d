"""Drives a protocol with scripted replies, without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias, cast

from .. import protocols
from ..core.decision import Brief, Decision, Given, flaw
from ..core.models import Price, Seat
from ..core.parsing.json_objects import read_structured
from ..core.phases import START
from ..core.protocol import Protocol
from ..core.steps import Abstain, All, Ask, Branch, Enter, Graph, Panel, Reply, Run, Step, Tally, Use
from ..core.text import Material
from ..core.tool_calls import ToolResult
from ..errors import NoQuorum, ScriptError, SeatAbsent, UsageError

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
    waves: how many questions each parallel step had. phases: (phase, round) of each phase, and answers: the
    best answer as it was entered. tallies, abstentions, runs, tools: the other steps.
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
        self.keys: list[str] = []
        self.waves: list[int] = []
        self.phases: list[tuple[str, int]] = []
        self.answers: list[str | None] = []
        self.tallies: list[Tally] = []
        self.abstentions: list[Abstain] = []
        self.runs: list[Run] = []
        self.tools: list[Use] = []
        self._script, self._decide_run, self._tool, self._last_first = script, decide_run, tool, last_first

    def decide(self) -> Decision:
        """Run the protocol. Raises what it raises; `ScriptError` for what the interface does not allow."""
        self.decision = self._decide(self.protocol, self.brief, "")
        return self.decision

    def prompts(self) -> list[str]:
        """`prompt_name` of every ask."""
        return [prompt_name(ask) for ask in self.asks]

    def asks_for(self, prompt: str) -> list[Ask]:
        """The asks with that `prompt_name`."""
        return [ask for ask in self.asks if prompt_name(ask) == prompt]

    def _decide(self, protocol: Protocol, brief: Brief, path: str) -> Decision:
        scope = _Scope(self, protocol)
        decision = scope.script(protocol.script(brief, self.panel), path, root=True)
        if (wrong := flaw(decision)) is not None:
            raise ScriptError(f"{protocol.name}: {wrong}")
        return cast(Decision, decision)

    def _ask(self, key: str, ask: Ask) -> Reply:
        self.asks.append(ask)
        self.keys.append(key)
        reply = self._script(ask)
        if reply is None:
            raise SeatAbsent(ask.seat.label)
        if isinstance(reply, Reply):
            return reply
        data, source = read_structured(reply, ask.schema) if ask.schema else (None, None)
        return Reply(ask, reply, data, source=source)

    def _run(self, key: str, step: Run) -> Decision:
        self.runs.append(step)
        if self._decide_run is None:
            protocol = protocols.get(step.protocol)
            options = protocol.resolve_options(protocol.select_options(step.brief.options))
            return self._decide(protocol, replace(step.brief, options=options), f"{key}/{protocol.name}")
        decision = self._decide_run(step)
        if isinstance(decision, Exception):
            raise decision
        return decision

    def _use(self, step: Use) -> ToolResult:
        self.tools.append(step)
        if self._tool is None:
            raise UsageError(
                f"the protocol calls the tool {step.tool}: pass `tool`, which returns its result"
            )
        result = self._tool(step)
        return ToolResult(result) if isinstance(result, str) else result


class _Scope:
    """The steps of one protocol, which may run inside another; keys are those of `run/drive.py`."""

    def __init__(self, driver: ProtocolDriver, protocol: Protocol) -> None:
        self.driver, self.protocol, self.phase = driver, protocol, START

    def script(self, coroutine: Coroutine[Step[Any], Any, Any], path: str, root: bool = False) -> Any:
        value: Any = None
        error: Exception | None = None
        position = 0
        try:
            while True:
                try:
                    step = coroutine.throw(error) if error else coroutine.send(value)
                except StopIteration as done:
                    return done.value
                value, error, key = None, None, f"{path}/{position}"
                position += 1
                try:
                    value = self.step(key, step, root)
                except (SeatAbsent, NoQuorum) as exc:  # what a protocol may handle
                    error = exc
        finally:
            coroutine.close()

    def step(self, key: str, step: object, root: bool) -> Any:
        driver = self.driver
        match step:
            case Ask():
                return driver._ask(key, step)
            case Use():
                return driver._use(step)
            case Tally():
                driver.tallies.append(step)
            case Abstain():
                driver.abstentions.append(step)
            case All(branches, quorum):
                return self.all(key, branches, quorum)
            case Graph(nodes, quorum):
                return self.graph(key, nodes, quorum)
            case Run():
                return driver._run(key, step)
            case Enter(phase, round, answer, facts) if root:
                self.protocol.phases.check(self.phase, phase, facts)
                self.phase = phase
                driver.phases.append((phase, round))
                driver.answers.append(answer)
            case Enter():
                raise ScriptError(f"{self.protocol.name}: a parallel branch may not change the phase")
            case _:
                kind = type(step).__name__
                raise ScriptError(f"{self.protocol.name}: a protocol may only await its panel, not {kind}")
        return None

    def branch(self, key: str, branch: Branch[Any]) -> Any:
        if isinstance(branch, Step):
            return self.step(key, branch, root=False)
        return self.script(branch, key)

    def all(self, key: str, branches: Sequence[Branch[Any]], quorum: int) -> list[Any]:
        before, results = len(self.driver.asks), dict[int, Any]()
        order = list(enumerate(branches))
        try:
            for place, branch in reversed(order) if self.driver._last_first else order:
                try:
                    results[place] = self.branch(f"{key}.{place}", branch)
                except (SeatAbsent, NoQuorum):
                    continue
        finally:
            for branch in branches:
                if not isinstance(branch, Step):
                    branch.close()
        self.driver.waves.append(len(self.driver.asks) - before)
        self.check_quorum(len(results), len(branches), quorum)
        return [results[place] for place in sorted(results)]

    def graph(self, key: str, nodes: Mapping[str, Any], quorum: int) -> dict[str, Any]:
        try:
            order = list(
                TopologicalSorter({label: needs for label, (needs, _) in nodes.items()}).static_order()
            )
        except CycleError as exc:
            raise ScriptError(f"{self.protocol.name}: a graph with a cycle: {exc.args[1]}") from exc
        done: dict[str, Any] = {}
        for label in order:
            needs, script = nodes[label]
            if done.keys() >= set(needs):
                try:
                    done[label] = self.branch(f"{key}.{label}", script({need: done[need] for need in needs}))
                except (SeatAbsent, NoQuorum):
                    continue
        self.check_quorum(len(done), len(nodes), quorum)
        return {label: done[label] for label in nodes if label in done}

    def check_quorum(self, answered: int, asked: int, quorum: int) -> None:
        if answered < quorum:
            place = f"{self.protocol.name}, {self.phase}"
            raise NoQuorum(f"{place}: {answered} of {asked} answered, {quorum} needed")
