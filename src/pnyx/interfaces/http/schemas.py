"""What requests and answers hold, as the generated OpenAPI document tells it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ...run.request import Amount, Asked, Body

__all__ = [
    "Begin",
    "Defaults",
    "Exported",
    "Feedback",
    "Follow",
    "GoOn",
    "Health",
    "Judgement",
    "Listed",
    "Planned",
    "ProtocolBody",
    "Recalled",
    "ResultBody",
    "Resume",
    "Status",
]

Status = Literal[
    "consensus",
    "majority",
    "plurality",
    "decided",
    "deadlock",
    "single",
    "failed",
    "cancelled",
    "paused",
    "waiting",
    "running",
]
"""How a run stands, or was decided."""


class Follow(Body):
    """How the one who asks waits."""

    stream: bool = False
    """Events as they happen."""
    wait: bool = False
    """Until there is a result."""
    tokens: bool = False
    """The text of replies too, from the first call on, in this stream or for whoever follows the run."""
    on_disconnect: Literal["continue", "cancel"] = "continue"
    """What becomes of the run when the client leaves before its end."""


class Begin(Follow, Asked):
    """A run to begin."""


class GoOn(Body):
    """How to go on with a run."""

    budget_usd: Amount | None = None
    """The new cap of all of the run, in USD."""
    deadline_s: Amount | None = None
    """Seconds from now on until the run is paused; left out, as many as it had before, from now on."""
    fork: bool = False
    """A new run, which keeps every reply whose question is still the same."""


class Resume(Follow, GoOn):
    """How to go on with a run, and how to wait for it."""


class Feedback(Body):
    """What became of a decision."""

    result: Literal["success", "partial", "failure"]
    answer: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The right one, where it is short and known."""


class SeatAnswer(BaseModel):
    """The short answer that a seat had alone; absent is null."""

    model: str
    answer: str | None


class Judgement(BaseModel):
    """What was learned. gold: the right answer, where it is known. seats: what each said alone.

    answers: the same by model, the last seat of each.
    """

    run_id: str
    result: str
    gold: str | None
    answers: dict[str, str | None]
    seats: list[SeatAnswer]


class SeatBody(BaseModel):
    """Who sat where. role: the part that it was given, null for none; "" in runs of older versions."""

    seat: str
    model: str
    role: str | None


class ResultBody(BaseModel):
    """A run. status: waiting, running, paused, cancelled, failed, or how it was decided. Absent is null."""

    run_id: str
    status: str
    protocol: str
    question: str
    answer: str | None
    final_answer: str | None
    confidence: float | None
    confidence_rule: str | None
    rigor: float | None
    agreement: float | None
    consensus_reached: bool | None
    dissent: list[dict[str, Any]]
    rounds: int
    converged: bool | None
    stop_reason: str | None
    seats: list[SeatBody]
    dropped: list[dict[str, Any]]
    degraded: bool
    usage: dict[str, Any]
    elapsed_s: float
    detail: dict[str, Any]


class ProtocolBody(BaseModel):
    """A way to an answer. quorum: the seats it needs. options: each with its default, bounds and help.

    phases: its transitions, in order, which begin at "idle". calls_with_three_seats: the least and the most,
    null where nobody can know.
    """

    name: str
    summary: str
    quorum: int
    takes_responses: bool
    options: dict[str, dict[str, Any]]
    presets: dict[str, dict[str, Any]]
    phases: list[dict[str, str]]
    calls_with_three_seats: dict[str, int] | None


class Listed(ResultBody):
    """A run among others. created_at: when it was begun, in UTC."""

    created_at: str


class Recalled(Listed):
    """A run that was looked for. snippet: where its texts have what was, on one line.

    all_words: whether it has all the words; where no run has, those with some are told.
    """

    snippet: str
    all_words: bool


class Planned(BaseModel):
    """What a run would take when no seat fails and no call is retried. calls: the least and the most;
    at_most: input_tokens, output_tokens, cost_usd. Null is unknown. seats: with their models' prices, USD per
    million tokens."""

    dry_run: Literal[True]
    question: str
    protocol: str
    options: dict[str, Any]
    seats: list[dict[str, Any]]
    calls: dict[str, int] | None
    at_most: dict[str, float | None]
    budget_usd: float | None
    deadline_s: float


class Exported(BaseModel):
    """A run with all its events."""

    result: ResultBody
    events: list[dict[str, Any]]


class Health(BaseModel):
    """status: ok, draining, or unavailable where the database is. runs: under way here."""

    status: Literal["ok", "draining", "unavailable"]
    version: str
    runs: int


class Defaults(BaseModel):
    """What holds where a request says nothing. missing: why there is nobody to ask, where `seats` is empty.

    options: those configured, by protocol. budget_usd: also the most that a request may say. models: names
    for a panel, the configured ones first; others are asked too, where their provider is known.
    """

    protocol: str
    preset: str | None
    seats: tuple[str, ...]
    missing: str | None
    models: tuple[str, ...]
    options: dict[str, dict[str, Any]]
    budget_usd: float | None
    deadline_s: float
    tools: bool
