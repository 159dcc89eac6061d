"""A protocol driven by hand, as in `driven`, with protocols inside it, graphs, and given answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pnyx.core.decision import Given
from pnyx.core.models import Price, Seat
from pnyx.core.protocol import Protocol
from pnyx.core.steps import Decision, Graph, Run, Step
from pnyx.errors import NoQuorum, SeatAbsent
from tests.support.driven import Driven, Say, kind

__all__ = ["Nested", "kind", "seat"]

Decide = Callable[[Run], "Decision | Exception"]


def seat(label: str, output: float = 4.0, input: float = 1.0) -> Seat:
    """Prices in USD per million tokens."""
    return Seat(f"Participant {label}", f"lab:{label.lower()}", price=Price(input, output))


class Nested(Driven):
    """`decide_inner` decides runs of other protocols. ran: those, in order."""

    def __init__(
        self,
        protocol: Protocol,
        say: Say,
        seats: tuple[Seat, ...],
        *,
        responses: tuple[Given, ...] = (),
        decide_inner: Decide | None = None,
        **more: Any,
    ) -> None:
        super().__init__(protocol, say, seats=seats, **more)
        self.brief = replace(self.brief, responses=responses)
        self.decide_inner = decide_inner
        self.ran: list[Run] = []

    def _step(self, step: Step[Any]) -> Any:
        match step:
            case Run():
                self.ran.append(step)
                assert self.decide_inner is not None
                decision = self.decide_inner(step)
                if isinstance(decision, Exception):
                    raise decision
                return decision
            case Graph():
                return self._graph(step)
        return super()._step(step)

    def _graph(self, graph: Graph[Any]) -> dict[str, Any]:
        """Nodes one after another, each when its needs are done; without what failed and what needs it."""
        done: dict[str, Any] = {}
        left = dict(graph.nodes)
        while left:
            label = next(name for name, (needs, _) in left.items() if not left.keys() & set(needs))
            needs, script = left.pop(label)
            if done.keys() >= set(needs):
                try:
                    branch = script({need: done[need] for need in needs})
                    done[label] = self._step(branch) if isinstance(branch, Step) else self._run(branch)
                except (SeatAbsent, NoQuorum):
                    continue
        if len(done) < graph.quorum:
            raise NoQuorum(f"{len(done)} of {len(graph.nodes)} done, {graph.quorum} needed")
        return done
