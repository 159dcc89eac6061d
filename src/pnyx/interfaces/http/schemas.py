"""Shapes of HTTP alone, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ..json_body import Body
from ..schemas import ResultBody, ResumeOptions, RunBody

__all__ = [
    "Begin",
    "Defaults",
    "Exported",
    "Feedback",
    "Health",
    "Judgement",
    "Planned",
    "Resume",
    "Wait",
]


class Wait(Body):
    """How the client waits for a run."""

    stream: bool = False
    """Events as they happen."""
    wait: bool = False
    """Until there is a result."""
    tokens: bool = False
    """The text of replies too, from the first call on, in this stream or for whoever follows the run."""
    on_disconnect: Literal["continue", "cancel"] = "continue"
    """What becomes of the run when the client leaves before its end."""


class Begin(Wait, RunBody):
    """A run to start, and how the client waits for it."""


class Resume(Wait, ResumeOptions):
    """How to resume a run, and how the client waits for it."""


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
