"""The steps of a protocol. A protocol is an `async def` that awaits only the steps of its panel.

Awaiting a step yields it to the driver of the coroutine and returns the driver's result. Protocols use no
event loop, clock, randomness, network or storage, so a unit test can drive one with `.send()`, and a killed
run resumes by replaying replies.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from ..errors import SeatAbsent
from .decision import Brief, Decision, Dissent
from .models import REVISION, Seat, cheapest, strongest
from .text import Draft, Material, Prompt, fence, shorten
from .thinking import Effort
from .tool_calls import ToolCall, ToolResult, Turn

__all__ = [
    "Abstain",
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
THOUGHTS = 8_000
"""Characters of the thoughts before a tool call that are sent back with its result."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON schema that a reply must satisfy. json: its text, which is hashed."""

    name: str
    json: str

    @classmethod
    def of(cls, name: str, document: Mapping[str, Any]) -> Schema:
        # Keys keep their order: models with structured output write the fields in that order.
        return cls(name, json.dumps(document, ensure_ascii=False))

    @property
    def document(self) -> dict[str, Any]:
        return cast(dict[str, Any], json.loads(self.json))


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """An instruction to the driver; awaiting it returns the driver's result."""

    def __await__(self) -> Generator[Step[T], T, T]:
        return (yield self)


Branch: TypeAlias = "Step[T] | Coroutine[Step[Any], Any, T]"


@dataclass(frozen=True, slots=True)
class Ask(Step["Reply"]):
    """Ask one seat. Raises `SeatAbsent` if it cannot answer, refuses, or returns an empty reply.

    tools: names of the tools that it may call; its calls are in `Reply.calls`. turns: its earlier tool calls
    with their results. effort: for a reply that needs less thinking than an answer, such as a ballot; only a
    setting for the phase takes precedence. max_tokens: the limit of a short reply, see `reply_sizes`.
    closing: whether the reply, as it is, is the answer of the protocol; it can be shown while it is written.
    None of these is part of the fingerprint.
    """

    seat: Seat
    prompt: Prompt
    schema: Schema | None = None
    tools: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    effort: Effort | None = None
    max_tokens: int | None = None
    closing: bool = False

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the seat, the prompt and the options: equal fingerprints are the same call."""
        parts = (
            "ask",
            self.seat.label,
            self.seat.model,
            self.seat.temperature,
            self.prompt.id,
            *((self.prompt.system,) if self.prompt.system else ()),
            self.prompt.text,
            *self.prompt.images,
            self.schema and self.schema.json,
            self.tools,
            [(t.text, [(c.name, dict(c.arguments)) for c in t.calls], t.results) for t in self.turns],
        )
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """A seat's reply. calls: the tool calls it requests. thoughts: those before the calls.

    ask: the step; protocols get it without the text of its prompt, so that a run does not hold those of all.
    data: its JSON object if the ask has a schema. source: "json" if the reply is that object, which satisfies
    the schema, and nothing else; "prose" if not; None without a schema.
    """

    ask: Ask
    text: str
    data: Any = None
    truncated: bool = False
    calls: tuple[ToolCall, ...] = ()
    source: Literal["json", "prose"] | None = None
    thoughts: str = ""

    @property
    def seat(self) -> Seat:
        return self.ask.seat

    def without_prompt(self) -> Reply:
        """The reply of the same seat, whose `ask` has the id of its prompt but nothing that was sent."""
        prompt = self.ask.prompt
        ask = Ask(self.ask.seat, Prompt(prompt.id, prompt.sha256, ""))
        # Without `replace`, which takes longer than all else here: this is done for each reply.
        return Reply(ask, self.text, self.data, self.truncated, self.calls, self.source, self.thoughts)


@dataclass(frozen=True, slots=True)
class All(Step[list[T]]):
    """Run branches (steps or child scripts) in parallel. Returns the results in order, without absent seats.

    enough: whether the results so far make the outcome certain; the other branches then get as much time
    again and count as absent after it. Raises `NoQuorum` if fewer than `quorum` branches return a result.
    """

    branches: tuple[Branch[T], ...]
    quorum: int = 1
    enough: Callable[[list[T]], bool] | None = None


@dataclass(frozen=True, slots=True)
class Graph(Step[dict[str, T]]):
    """Run scripts that need each other's results. Returns label -> result.

    nodes: label -> (needs, script). A node starts as soon as its needs are done, with their results. A node
    whose script fails is left out of the result, and so are the nodes that need it.
    """

    nodes: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, T]], Branch[T]]]]
    quorum: int = 1


@dataclass(frozen=True, slots=True)
class Use(Step[ToolResult]):
    """Run a tool for a seat, or for the panel (None). An error is part of the result and is not raised."""

    seat: Seat | None
    tool: str
    arguments: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        parts = ("use", self.seat and self.seat.label, self.tool, dict(self.arguments))
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Tally(Step[None]):
    """Record a count of votes. tally: label or answer -> votes or points."""

    rule: str
    tally: Mapping[str, float]
    winner: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Abstain(Step[None]):
    """Record that a seat abstains: it answered, and no verdict can be read in its answer."""

    seat: Seat
    reason: str


@dataclass(frozen=True, slots=True)
class Run(Step[Decision]):
    """Run another protocol on the same panel, in its own scope of the journal.

    closing: whether its answer, as it is, is that of the protocol that runs it.
    """

    protocol: str
    brief: Brief
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Enter(Step[None]):
    """Enter a phase. Raises `IllegalPhase` unless the protocol's transitions allow it with these `facts`.

    answer: the best answer so far, which is shown during the run and returned if the run stops here.
    """

    phase: str
    round: int = 1
    answer: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Panel:
    """The seats in the order of the request, and every step that a protocol may await.

    seed: the run's seed, which determines every order. salt: the run's secret, from which fence nonces are
    derived. frame: makes the draft of a seat's role, which its prompts contain. tools: the tools that seats
    may call in phases that allow them. tool_turns: the most turns of a model in one such call; the last turn
    has no tools. authors: the models that wrote the answers in the request; their names are masked like the
    seats' names. revision: of what protocols do, see `models.REVISION`. language: the tag of the language
    to answer in; None: that of the question. judge: the seat that closes, if the request names one; it may
    have no other part in the run.
    """

    seats: tuple[Seat, ...]
    seed: int = 0
    salt: str = ""
    frame: Callable[[str], Draft] | None = None
    tools: tuple[str, ...] = ()
    tool_turns: int = 5
    authors: tuple[str, ...] = ()
    revision: int = REVISION
    language: str | None = None
    judge: Seat | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The references "provider:model" that prompts mask in material."""
        return (*(seat.model for seat in (*self.seats, *filter(None, [self.judge]))), *self.authors)

    @property
    def strongest(self) -> Seat:
        return strongest(self.seats)[0]

    @property
    def cheapest(self) -> Seat:
        return self.by_cost[0]

    @property
    def by_cost(self) -> tuple[Seat, ...]:
        """The seats, cheapest first."""
        return cheapest(self.seats, self.revision)

    def closers(self, ranked: Sequence[Seat]) -> tuple[Seat, ...]:
        """The seats to ask in turn for what closes the run: the judge, if there is one, then `ranked`."""
        if self.judge is None:
            return tuple(ranked)
        return (self.judge, *(seat for seat in ranked if seat.label != self.judge.label))

    def shuffle(self, items: Sequence[T], *reader: object) -> list[T]:
        """`items` in an order that depends only on the seed and on `reader`: the same on every replay."""
        out = list(items)
        random.Random("/".join(map(str, (self.seed, *reader)))).shuffle(out)
        return out

    def ask(
        self,
        seat: Seat,
        draft: Draft,
        schema: Schema | None = None,
        effort: Effort | None = None,
        *,
        max_tokens: int | None = None,
        closing: bool = False,
    ) -> Ask:
        """The step that asks `seat`, with the prompt variant and the role of the seat.

        effort, max_tokens, closing: see `Ask`.
        """
        role = self.frame(seat.role) if seat.role and self.frame is not None else None
        prompt = draft.render(
            salt=self.salt, short=seat.short_prompts, names=self.names, role=role, images=seat.images
        )
        return Ask(seat, prompt, schema, effort=effort, max_tokens=max_tokens, closing=closing)

    async def work(self, seat: Seat, draft: Draft, *, max_tokens: int | None = None) -> Reply:
        """Ask a seat that may call the panel's tools; in its last turn it must answer without them.

        Raises `SeatAbsent` as `Ask` does, and if the last turn only calls tools.
        """
        ask = self.ask(seat, draft, max_tokens=max_tokens)
        ask = replace(ask, tools=self.tools) if self.tools else ask
        for _ in range(self.tool_turns - 1 if self.tools else 0):
            reply = await ask
            if not reply.calls:
                return reply
            results = await self.all([Use(seat, c.name, c.arguments) for c in reply.calls], quorum=0)
            shown = tuple(
                fence(Material(f"tool {call.name}", result.text), self.salt)
                for call, result in zip(reply.calls, results, strict=True)
            )
            turn = Turn(reply.text, reply.calls, shown, shorten(reply.thoughts, THOUGHTS))
            ask = replace(ask, turns=(*ask.turns, turn))
        reply = await (replace(ask, tools=()) if ask.tools else ask)
        if reply.calls and not reply.text.strip():
            raise SeatAbsent(
                f"{seat.label} called tools in its last turn, which has none, and gave no answer"
            )
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

    def run(self, protocol: str, brief: Brief, closing: bool = False) -> Run:
        return Run(protocol, brief, closing)

    def enter(self, phase: str, round: int = 1, answer: str | None = None, **facts: Any) -> Enter:
        return Enter(phase, round, answer, facts)

    def tally(self, rule: str, tally: Mapping[str, float], winner: str | None = None, **detail: Any) -> Tally:
        return Tally(rule, tally, winner, detail)

    def abstain(self, seat: Seat, reason: str) -> Abstain:
        return Abstain(seat, reason)

    async def first(
        self,
        seats: Sequence[Seat],
        draft: Draft | Callable[[Seat], Draft],
        tools: bool = False,
        whole: bool = False,
        closing: bool = False,
    ) -> Reply:
        """The reply of the first of `seats` that answers. Raises the last `SeatAbsent` if none does.

        draft: the same for all, or a function that makes one for a seat. whole: ask the next seat if a reply
        is cut off; a cut-off reply (`truncated`) is returned only if no later one is complete. closing: as
        for `Ask`, not with `tools`.
        """
        absent, cut = SeatAbsent("there is no seat to ask"), None
        for seat in seats:
            prompt = draft if isinstance(draft, Draft) else draft(seat)
            try:
                reply = await (self.work(seat, prompt) if tools else self.ask(seat, prompt, closing=closing))
            except SeatAbsent as exc:
                absent = exc
                continue
            if not (whole and reply.truncated):
                return reply
            cut = cut or reply
        if cut is None:
            raise absent
        return cut
