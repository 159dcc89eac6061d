"""The events of a run: one append-only list of typed entries.

The stored list is the journal: `call_started` records the intent, `call_finished` or a final `call_failed`
the outcome. Every view (terminal, SSE, page, export, recall, costs, evaluation) reads this list. Amounts are
USD, times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
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
    """The fields of every event. seq: counts from 1 without gaps; None for events that are not stored.

    key: position of the step in the tree of steps, "/3/1.2/consensus/4"; empty for the run itself. round,
    phase: as of the last `phase_entered`. seat: the label of the seat, if the event is about one.
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
    """The first event. seats: each with seat, model and role. forked_from: the id of the earlier run.

    files: each with name, media_type, size in bytes, sha256, tokens (an upper bound) and note.
    """

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
    files: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEntered(_Base):
    """The run enters a phase. protocol: whose phase it is. answer: the best answer so far, or None."""

    type: ClassVar[Literal["phase_entered"]] = "phase_entered"
    protocol: str
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(_Base):
    """The intent of a request, committed before it is sent. Every request has one, retries included.

    prompt: the user message. system: the system message, "" for none. cut: characters removed so that the
    prompt fits the context window. searches: the web searches that the host may make. reserved_usd: None if
    the price is unknown. answers: whether its reply is an answer, of which the run has no best
    one yet.
    """

    type: ClassVar[Literal["call_started"]] = "call_started"
    attempt: int
    fingerprint: str
    model: str
    prompt_id: str
    prompt_sha256: str
    prompt: str
    system: str = ""
    schema: str | None = None
    max_tokens: int = 0
    cut: int = 0
    searches: int = 0
    reserved_usd: float | None = None
    answers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(_Base):
    """A piece of text as it arrives; never stored. answer: whether the reply is to be the run's answer.

    restart: what arrived of the reply before was not part of its answer, and this piece replaces it.
    """

    type: ClassVar[Literal["token"]] = "token"
    text: str
    answer: bool = False
    restart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(_Base):
    """The reply to a request. cost_usd: None if the price is unknown.

    absent: why the reply counts as an abstention (empty, refusal), else None. usage_flag: why the reported
    usage was rejected and the reservation charged, else None. copied: the reply comes from the run that this
    one was forked from, at no cost. searches: the web searches that the host made; None: not reported.
    sources: the URLs that it cites. source: what verdicts are read from: "json" if the reply is exactly one
    object that satisfies the schema, else "prose"; None without a schema. finish_detail: the host's own word
    for `finish_reason`, such as SAFETY. notes: what the user should know of the model's host, such as a
    parameter that it refuses; each once. reasoning: what the model thought before it answered, in part if it
    is very long; never shown to other seats.
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
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cost_usd: float | None = None
    usage_flag: str | None = None
    absent: str | None = None
    copied: bool = False
    searches: int | None = None
    sources: tuple[str, ...] = ()
    source: Literal["json", "prose"] | None = None
    notes: tuple[str, ...] = ()
    elapsed_s: float = 0.0
    finish_detail: str = ""
    reasoning: str | None = None

    @property
    def abstention(self) -> str:
        """Why the reply counts as an abstention, with the host's word for it; "" for an answer."""
        if self.absent is None:
            return ""
        reason = "empty reply" if self.absent == "empty" else self.absent
        plain = self.finish_detail.lower() in _PLAIN_FINISHES
        return reason if plain else f"{reason} ({self.finish_detail})"


_PLAIN_FINISHES = (
    *("", "stop", "end_turn", "stop_sequence", "eos", "complete"),
    *("length", "max_tokens", "max_output_tokens", "refusal"),
)
"""Words of hosts that say no more than `finish_reason` and `absent` do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed(_Base):
    """An attempt without a usable reply. final: no retry follows, and the seat abstains from this step.

    charged_usd: what a reply that was cut off cost; else the reservation if the host may have billed the
    attempt, else 0. None: unknown price. Tokens, text, reasoning: of a reply that was cut off.
    """

    type: ClassVar[Literal["call_failed"]] = "call_failed"
    attempt: int
    fingerprint: str
    model: str
    kind: str
    message: str
    final: bool
    charged_usd: float | None = 0.0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    text: str = ""
    reasoning: str | None = None
    retry_in_s: float | None = None
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatDropped(_Base):
    """The seat takes no further part in the run, which is now degraded."""

    type: ClassVar[Literal["seat_dropped"]] = "seat_dropped"
    model: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatAbstained(_Base):
    """The seat answered twice without a readable verdict. reason: what its last reply lacks."""

    type: ClassVar[Literal["seat_abstained"]] = "seat_abstained"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesClosed(_Base):
    """The outcome of a parallel step was certain before these branches ended. branches: their keys."""

    type: ClassVar[Literal["branches_closed"]] = "branches_closed"
    branches: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(_Base):
    """A tool ran for a seat. outcome: the text that it returned, or why it failed (`ok` False)."""

    type: ClassVar[Literal["tool_called"]] = "tool_called"
    fingerprint: str
    tool: str
    arguments: Mapping[str, Any]
    outcome: str
    ok: bool = True
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteTallied(_Base):
    """Votes were counted. rule: the counting rule. tally: candidate -> its votes or score."""

    type: ClassVar[Literal["vote_tallied"]] = "vote_tallied"
    rule: str
    tally: Mapping[str, float]
    winner: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(_Base):
    """A budget changed state. scope: the budget.

    kind: "warning" (a threshold was passed) | "exhausted" (the next call, which may cost `next_usd`, does not
    fit; or the run, which is expected to cost `expected_usd`, is not begun) | "raised" | "overrun" (a call
    cost `overrun_usd` more than its reservation). needed_usd: if the next call does not fit into the run's
    own budget, what the run still needs to finish.
    """

    type: ClassVar[Literal["budget"]] = "budget"
    kind: str
    scope: str
    spent_usd: float
    reserved_usd: float
    cap_usd: float | None
    overrun_usd: float = 0.0
    next_usd: float | None = None
    expected_usd: float | None = None
    needed_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(_Base):
    """The last event. result: the result object, as `pnyx ask --json` prints it.

    A paused run also ends its stream with one; it is not stored, since the run is not over.
    """

    type: ClassVar[Literal["run_finished"]] = "run_finished"
    status: str
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(_Base):
    """An event of an unknown type, stored by a newer version.

    name: its type. document: the stored JSON object.
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
_NAMES = {cls: ("type", *(f.name for f in fields(cls))) for cls in (*_TYPES.values(), Token)}
_VALUES = {cls: attrgetter(*names) for cls, names in _NAMES.items()}
_TUPLES = {cls: {f.name for f in fields(cls) if str(f.type).startswith("tuple")} for cls in _TYPES.values()}


def closed_branches(event: Event) -> tuple[str, ...]:
    """Return the keys of the branches that an event closes. Version 0.1 used `vote_tallied` for this."""
    match event:
        case BranchesClosed():
            return event.branches
        case VoteTallied(rule="closed"):
            return tuple(event.detail.get("branches", ()))
        case _:
            return ()


def is_abstention(event: VoteTallied) -> bool:
    """Whether the event is an abstention as version 0.1 recorded it."""
    return event.rule == "abstention (its verdict could not be read)"


def event_type(event: Event) -> str:
    """Return the `type` of an event in JSON."""
    return event.name if isinstance(event, UnknownEvent) else event.type


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as a JSON object, `type` first."""
    if isinstance(event, UnknownEvent):
        return dict(event.document)
    # `asdict` copies every value deeply, which costs more than the rest of writing an event.
    return dict(zip(_NAMES[type(event)], _VALUES[type(event)](event), strict=True))


def from_json(document: Mapping[str, Any]) -> Event:
    """Return the event of a JSON object. Unknown fields are ignored.

    Raises `Unreadable` if it is not an event, lacks a required field, or has one of another type.
    """
    kind = document.get("type")
    if not isinstance(kind, str):
        raise Unreadable("an event has no type: the run is damaged")
    cls = _TYPES.get(kind)
    if cls is None:
        common = {name: document[name] for name in _COMMON if name in document}
        return build(UnknownEvent, {**common, "name": kind, "document": document}, f"the event {kind[:80]}")
    lists = {name: document[name] for name in _TUPLES[cls] & document.keys()}
    tuples = {name: tuple(value) for name, value in lists.items() if isinstance(value, list)}
    event: Event = build(cls, {**document, **tuples}, f"the event {kind} {document.get('seq') or ''}".strip())
    return event
