"""The one interface: a protocol is an `async def` that awaits only its panel.

Awaiting anything here yields a `Step` to whoever drives the coroutine and returns the driver's
answer. This side of the line knows no event loop, clock, randomness, network or storage, so a
unit test can drive a protocol with `.send()` and a killed run resumes by replaying replies.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar, cast

from ..errors import SeatAbsent
from .decision import Brief, Decision, Dissent
from .models import Seat, cheapest, strongest
from .text import Draft, Material, Prompt, fence
from .tool_calls import ToolCall, ToolResult, Turn

__all__ = [
    "Absent",
    "All",
    "Ask",
    "Branch",
    "Brief",
    "Decision",
    "Dissent",
    "Enter",
    "Graph",
    "Panel",
    "Reply",
    "Run",
    "Schema",
    "Step",
    "Tally",
    "Use",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON schema that a reply must satisfy; `json` is its text, so that it can be hashed."""

    name: str
    json: str

    @classmethod
    def of(cls, name: str, document: Mapping[str, Any]) -> Schema:
        # Keys keep their order: models held to a schema write its fields in that order.
        return cls(name, json.dumps(document, ensure_ascii=False))

    @property
    def document(self) -> dict[str, Any]:
        return cast(dict[str, Any], json.loads(self.json))


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """Something a protocol wants done; awaiting it gives what the driver answers."""

    def __await__(self) -> Generator[Step[T], T, T]:
        return (yield self)


Branch: TypeAlias = "Step[T] | Coroutine[Step[Any], Any, T]"


@dataclass(frozen=True, slots=True)
class Ask(Step["Reply"]):
    """Ask one seat. Raises `SeatAbsent` when it cannot answer, refuses, or says nothing.

    tools: names of tools it may call; `Reply.calls` holds what it wants. turns: what it asked of
    tools so far, and got.
    """

    seat: Seat
    prompt: Prompt
    schema: Schema | None = None
    tools: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()

    @property
    def fingerprint(self) -> str:
        """sha256 over all that decides what is asked of whom: equal fingerprints are the same call."""
        parts = (
            "ask",
            self.seat.label,
            self.seat.model,
            self.seat.temperature,
            self.prompt.id,
            self.prompt.text,
            self.schema and self.schema.json,
            self.tools,
            [(t.text, [(c.name, dict(c.arguments)) for c in t.calls], t.results) for t in self.turns],
        )
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a seat said. data: the JSON object in it, where the ask had a schema. calls: tools it wants."""

    ask: Ask
    text: str
    data: Any = None
    truncated: bool = False
    calls: tuple[ToolCall, ...] = ()

    @property
    def seat(self) -> Seat:
        return self.ask.seat


@dataclass(frozen=True, slots=True)
class Absent:
    """Recorded silence: why a seat gave no reply. Never counted as support."""

    seat: Seat
    reason: str


@dataclass(frozen=True, slots=True)
class All(Step[list[T]]):
    """Run branches (steps or child scripts) in parallel; absentees are dropped, order is kept.

    enough: whether these results make the outcome certain, so that stragglers, given as long again,
    count as absent. Raises `NoQuorum` when fewer than `quorum` branches gave a result.
    """

    branches: tuple[Branch[T], ...]
    quorum: int = 1
    enough: Callable[[list[T]], bool] | None = None


@dataclass(frozen=True, slots=True)
class Graph(Step[dict[str, T]]):
    """label -> (needs, script): a node starts as soon as its own needs are done, given their results.

    A node whose script fails is left out of the result, and so are the nodes that need it.
    """

    nodes: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, T]], Branch[T]]]]
    quorum: int = 1


@dataclass(frozen=True, slots=True)
class Use(Step[ToolResult]):
    """Run a tool for a seat, or for all (None). What goes wrong is in the result, to be read."""

    seat: Seat | None
    tool: str
    arguments: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        parts = ("use", self.seat and self.seat.label, self.tool, dict(self.arguments))
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Tally(Step[None]):
    """Put a count of votes into the record. tally: label or answer -> votes or points."""

    rule: str
    tally: Mapping[str, float]
    winner: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run(Step[Decision]):
    """Run another protocol on the same panel, in its own scope of the journal."""

    protocol: str
    brief: Brief


@dataclass(frozen=True, slots=True)
class Enter(Step[None]):
    """Enter a phase. The guard table of the protocol is asked with `facts`; a refusal is `IllegalPhase`.

    answer: the best answer so far, shown while the run goes on and kept if it stops here.
    """

    phase: str
    round: int = 1
    answer: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Panel:
    """The seats, in the order given, and all that a protocol may await.

    seed: the run's seed, the only source of order. salt: the run's secret, from which fence nonces
    come. frame: makes what a seat's role adds to the end of its prompts. tools: offered to seats in
    phases that allow them. tool_turns: of the model, at most, for one such call; the last has no tools.
    authors: the models that given answers are of; what they are called is masked as the seats' names are.
    """

    seats: tuple[Seat, ...]
    seed: int = 0
    salt: str = ""
    frame: Callable[[str], Draft] | None = None
    tools: tuple[str, ...] = ()
    tool_turns: int = 5
    authors: tuple[str, ...] = ()

    @property
    def strongest(self) -> Seat:
        return strongest(self.seats)[0]

    @property
    def cheapest(self) -> Seat:
        return cheapest(self.seats)[0]

    def shuffle(self, items: Sequence[T], *reader: object) -> list[T]:
        """`items` in an order fixed by the seed and by who reads them: the same on every replay."""
        out = list(items)
        random.Random("/".join(map(str, (self.seed, *reader)))).shuffle(out)
        return out

    def ask(self, seat: Seat, draft: Draft, schema: Schema | None = None) -> Ask:
        """The ask of a seat, in the variant and with the role that are the seat's."""
        if seat.role and self.frame is not None:
            draft = Draft("", "", (draft, "\n", self.frame(seat.role)))
        names = (*(s.model for s in self.seats), *self.authors)
        return Ask(seat, draft.render(salt=self.salt, short=seat.short_prompts, names=names), schema)

    async def work(self, seat: Seat, draft: Draft) -> Reply:
        """Ask with the panel's tools in hand; in its last turn, the seat answers with what it has."""
        ask = replace(self.ask(seat, draft), tools=self.tools)
        for _ in range(self.tool_turns - 1 if self.tools else 0):
            reply = await ask
            if not reply.calls:
                return reply
            results = await self.all([Use(seat, c.name, c.arguments) for c in reply.calls], quorum=0)
            shown = tuple(
                fence(Material(f"tool {call.name}", result.text), self.salt)
                for call, result in zip(reply.calls, results, strict=True)
            )
            ask = replace(ask, turns=(*ask.turns, Turn(reply.text, reply.calls, shown)))
        reply = await replace(ask, tools=())
        if reply.calls and not reply.text.strip():
            raise SeatAbsent(f"{seat.label} asked for tools where there were none, and said nothing")
        return reply

    def all(
        self,
        branches: Sequence[Branch[T]],
        quorum: int = 1,
        enough: Callable[[list[T]], bool] | None = None,
    ) -> All[T]:
        return All(tuple(branches), quorum, enough)

    def graph(
        self,
        nodes: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, T]], Branch[T]]]],
        quorum: int = 1,
    ) -> Graph[T]:
        return Graph(nodes, quorum)

    def run(self, protocol: str, brief: Brief) -> Run:
        return Run(protocol, brief)

    def enter(self, phase: str, round: int = 1, answer: str | None = None, **facts: Any) -> Enter:
        return Enter(phase, round, answer, facts)

    def tell(self, rule: str, tally: Mapping[str, float], winner: str | None = None, **detail: Any) -> Tally:
        return Tally(rule, tally, winner, detail)

    async def first(
        self,
        seats: Sequence[Seat],
        draft: Draft | Callable[[Seat], Draft],
        tools: bool = False,
        whole: bool = False,
    ) -> Reply:
        """The reply of the first of `seats` that answers; raises the last `SeatAbsent` when none does.

        draft: the same for all, or made for each seat. whole: ask on past a reply that was cut off; it is
        returned only when no later one is whole, with `truncated` set.
        """
        absent, cut = SeatAbsent("no seat was there to ask"), None
        for seat in seats:
            words = draft if isinstance(draft, Draft) else draft(seat)
            try:
                reply = await (self.work(seat, words) if tools else self.ask(seat, words))
            except SeatAbsent as exc:
                absent = exc
                continue
            if not (whole and reply.truncated):
                return reply
            cut = cut or reply
        if cut is None:
            raise absent
        return cut
