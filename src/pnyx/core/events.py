"""What happens in a run, as one append-only list of typed events.

The stored list is the journal: `call_started` is the intent, `call_finished` or a final
`call_failed` the outcome. Every view (terminal, SSE, page, export, recall, costs, evaluation) is a
reader of the list. Amounts are USD, times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args

from ..errors import Unreadable
from .documents import build

__all__ = [
    "BranchesClosed",
    "Budget",
    "CallFailed",
    "CallFinished",
    "CallStarted",
    "Event",
    "PhaseEntered",
    "RunFinished",
    "RunStarted",
    "SeatAbstained",
    "SeatDropped",
    "Token",
    "ToolCalled",
    "UnknownEvent",
    "VoteTallied",
    "closed_branches",
    "event_type",
    "from_json",
    "is_abstention",
    "to_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """Common to all events. `seq` counts from 1 without gaps; None marks what is never stored.

    key: position of the step in the tree of steps, "/3/1.2/consensus/4"; empty for the run itself.
    """

    type: ClassVar[str]
    run_id: str = ""
    seq: int | None = None
    time: str = ""
    round: int | None = None
    phase: str | None = None
    seat: str | None = None
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_Base):
    type: ClassVar[Literal["run_started"]] = "run_started"
    question: str
    protocol: str
    seats: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    budget_usd: float | None = None
    deadline_s: float | None = None
    version: str = ""
    forked_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEntered(_Base):
    """answer: the best answer so far, or None. protocol: whose phase it is, where protocols nest."""

    type: ClassVar[Literal["phase_entered"]] = "phase_entered"
    protocol: str
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(_Base):
    """The intent: committed before the request is sent. One for every request, retries included.

    cut: characters left out of it, so that it fits the model's window. searches: of the web, that the host
    may make by itself.
    """

    type: ClassVar[Literal["call_started"]] = "call_started"
    attempt: int
    fingerprint: str
    model: str
    prompt_id: str
    prompt_sha256: str
    prompt: str
    schema: str | None = None
    max_tokens: int = 0
    cut: int = 0
    searches: int = 0
    reserved_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(_Base):
    """A piece of text as it arrives; never stored."""

    type: ClassVar[Literal["token"]] = "token"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(_Base):
    """The outcome. `cost_usd` is None when the price is unknown.

    absent: why the reply counts as silence (empty, refusal), else None. usage_flag: why the reported usage
    was not believed and the reservation was charged, else None. copied: the reply was taken from the run this
    one was forked from; nothing was paid for it here. searches: of the web, that the host made by itself;
    None: not told. sources: addresses that it cites. source: what verdicts are read from: "json" where the
    reply is one object that satisfies the schema and nothing else, "prose" where it is not; None without a
    schema.
    """

    type: ClassVar[Literal["call_finished"]] = "call_finished"
    attempt: int
    fingerprint: str
    model: str
    text: str
    data: Any = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    usage_flag: str | None = None
    absent: str | None = None
    copied: bool = False
    searches: int | None = None
    sources: tuple[str, ...] = ()
    source: Literal["json", "prose"] | None = None
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed(_Base):
    """An attempt that gave no reply. `final`: the seat is absent for this step; else it is tried again.

    charged_usd: the reservation, where the host may have billed the attempt; 0 where it cannot have.
    """

    type: ClassVar[Literal["call_failed"]] = "call_failed"
    attempt: int
    fingerprint: str
    model: str
    kind: str
    message: str
    final: bool
    charged_usd: float | None = 0.0
    retry_in_s: float | None = None
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatDropped(_Base):
    type: ClassVar[Literal["seat_dropped"]] = "seat_dropped"
    model: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatAbstained(_Base):
    """The seat answered twice without a verdict that can be read. reason: what its last reply lacks."""

    type: ClassVar[Literal["seat_abstained"]] = "seat_abstained"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesClosed(_Base):
    """The outcome of a parallel step was certain before these branches ended. branches: their keys."""

    type: ClassVar[Literal["branches_closed"]] = "branches_closed"
    branches: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(_Base):
    """A tool was run for a seat; `outcome` is the text it gave, or why it gave none (`ok` False)."""

    type: ClassVar[Literal["tool_called"]] = "tool_called"
    fingerprint: str
    tool: str
    arguments: Mapping[str, Any]
    outcome: str
    ok: bool = True
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteTallied(_Base):
    type: ClassVar[Literal["vote_tallied"]] = "vote_tallied"
    rule: str
    tally: Mapping[str, float]
    winner: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(_Base):
    """kind: "warning" (a threshold was passed) | "exhausted" (the next call, which may cost `next_usd`, does
    not fit) | "raised" | "overrun" (the seat's call was billed beyond its reservation, by `overrun_usd`).
    """

    type: ClassVar[Literal["budget"]] = "budget"
    kind: str
    scope: str
    spent_usd: float
    reserved_usd: float
    cap_usd: float | None
    overrun_usd: float = 0.0
    next_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(_Base):
    """The one terminal event; `result` is the result object of the outer contract.

    A paused run ends its stream with one that is not stored, since the run is not over.
    """

    type: ClassVar[Literal["run_finished"]] = "run_finished"
    status: str
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(_Base):
    """An event that this version does not know; a newer one stored it.

    name: its type. document: all of it, as stored.
    """

    type: ClassVar[Literal["unknown"]] = "unknown"
    name: str
    document: Mapping[str, Any]


Event = (
    RunStarted
    | PhaseEntered
    | CallStarted
    | Token
    | CallFinished
    | CallFailed
    | SeatAbstained
    | SeatDropped
    | BranchesClosed
    | ToolCalled
    | VoteTallied
    | Budget
    | RunFinished
    | UnknownEvent
)
_TYPES: dict[str, type[Event]] = {cls.type: cls for cls in get_args(Event) if cls is not UnknownEvent}
_COMMON = tuple(f.name for f in fields(_Base))
_NAMES = {cls: tuple(f.name for f in fields(cls)) for cls in (*_TYPES.values(), Token)}
_TUPLES = {cls: {f.name for f in fields(cls) if str(f.type).startswith("tuple")} for cls in _TYPES.values()}


def closed_branches(event: Event) -> tuple[str, ...]:
    """The keys of branches that the event closes. Version 0.1 said it in a `vote_tallied`."""
    match event:
        case BranchesClosed():
            return event.branches
        case VoteTallied(rule="closed"):
            return tuple(event.detail.get("branches", ()))
        case _:
            return ()


def is_abstention(event: VoteTallied) -> bool:
    """Whether it is how version 0.1 recorded that a seat abstained."""
    return event.rule == "abstention (its verdict could not be read)"


def event_type(event: Event) -> str:
    """Its `type` in JSON."""
    return event.name if isinstance(event, UnknownEvent) else event.type


def to_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object, `type` first."""
    if isinstance(event, UnknownEvent):
        return dict(event.document)
    # Not `asdict`: it copies every value deeply, which costs more than all the rest of writing an event.
    return {"type": event.type} | {name: getattr(event, name) for name in _NAMES[type(event)]}


def from_json(document: Mapping[str, Any]) -> Event:
    """The event of a JSON object; unknown fields are ignored.

    Raises `Unreadable` if it is no event, or lacks a required field.
    """
    kind = document.get("type")
    if not isinstance(kind, str):
        raise Unreadable("an event has no type: the run is damaged")
    cls = _TYPES.get(kind)
    if cls is None:
        common = {name: document[name] for name in _COMMON if name in document}
        return UnknownEvent(name=kind, document=document, **common)
    tuples = {name: tuple(document[name]) for name in _TUPLES[cls] & document.keys()}
    event: Event = build(cls, {**document, **tuples}, f"the event {kind} {document.get('seq') or ''}".strip())
    return event
