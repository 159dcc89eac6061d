"""A protocol driven by hand: `.send()` with scripted words; no loop, no host, no database."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from pnyx.core.decision import Given, flaw
from pnyx.core.models import Price, Seat
from pnyx.core.phases import START
from pnyx.core.protocol import Protocol
from pnyx.core.steps import Abstain, All, Ask, Branch, Brief, Decision, Enter, Panel, Reply, Step, Tally
from pnyx.core.text import Material
from pnyx.errors import NoQuorum, SeatAbsent

__all__ = ["Driven", "Say", "kind", "seat"]

Say = Callable[[Ask], "str | Reply | None"]
"""What a seat says to an ask: its words, a whole reply, or None for silence."""


def seat(label: str, model: str, output: float = 4.0, **more: Any) -> Seat:
    return Seat(f"Participant {label}", model, price=Price(1.0, output), **more)


def kind(ask: Ask) -> str:
    """The phase of an ask's prompt: "vote" for the prompt "voting/vote.short+context"."""
    return ask.prompt.id.partition("+")[0].rpartition("/")[2].removesuffix(".short")


class Driven:
    """Runs a protocol. asked: every ask in order. waves: how many asks each parallel step held."""

    def __init__(
        self,
        protocol: Protocol,
        say: Say,
        *,
        seats: tuple[Seat, ...],
        question: str = "How many?",
        context: tuple[Material, ...] = (),
        seed: int = 1,
        responses: tuple[Given, ...] = (),
        **options: Any,
    ) -> None:
        self.protocol, self.say = protocol, say
        self.panel = Panel(seats, seed=seed, salt="s")
        self.brief = Brief(question, "2026-01-02", protocol.resolve_options(options), context, responses)
        self.phase = START
        self.asked: list[Ask] = []
        self.waves: list[int] = []
        self.entered: list[tuple[str, int]] = []
        self.standing: list[str | None] = []
        self.told: list[Tally] = []
        self.abstained: list[Abstain] = []

    def decide(self) -> Decision:
        decision: Decision = self._run(self.protocol.script(self.brief, self.panel))
        assert flaw(decision) is None
        return decision

    def kinds(self) -> list[str]:
        return [kind(ask) for ask in self.asked]

    def of(self, phase: str) -> list[Ask]:
        return [ask for ask in self.asked if kind(ask) == phase]

    def _run(self, script: Coroutine[Step[Any], Any, Any]) -> Any:
        value: Any = None
        error: Exception | None = None
        while True:
            try:
                step = script.throw(error) if error else script.send(value)
            except StopIteration as done:
                return done.value
            value, error = None, None
            try:
                value = self._step(step)
            except (SeatAbsent, NoQuorum) as exc:
                error = exc

    def _step(self, step: Step[Any]) -> Any:
        match step:
            case Enter(phase, round, answer, facts):
                self.protocol.phases.check(self.phase, phase, facts)
                self.phase = phase
                self.entered.append((phase, round))
                self.standing.append(answer)
            case Tally():
                self.told.append(step)
            case Abstain():
                self.abstained.append(step)
            case All(branches, quorum):
                return self._all(branches, quorum)
            case Ask():
                return self._answer(step)
            case _:
                raise AssertionError(f"no such step here: {step!r}")

    def _all(self, branches: tuple[Branch[Any], ...], quorum: int) -> list[Any]:
        before, results = len(self.asked), []
        for branch in branches:
            try:
                results.append(self._step(branch) if isinstance(branch, Step) else self._run(branch))
            except (SeatAbsent, NoQuorum):
                continue
        self.waves.append(len(self.asked) - before)
        if len(results) < quorum:
            raise NoQuorum(f"{len(results)} of {len(branches)} answered, {quorum} needed")
        return results

    def _answer(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        said = self.say(ask)
        if said is None:
            raise SeatAbsent(ask.seat.label)
        return said if isinstance(said, Reply) else Reply(ask, said)
