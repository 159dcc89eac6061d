"""What requests and answers hold, as the generated OpenAPI document tells it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...run.asked import Amount, Asked

__all__ = ["Begin", "Exported", "Feedback", "Follow", "Health", "Judgement", "ResultBody", "Resume"]


class Follow(BaseModel):
    """How the one who asks waits. stream: events as they happen. wait: until there is a result.

    on_disconnect: what becomes of the run when they leave before its end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    stream: bool = False
    wait: bool = False
    on_disconnect: Literal["continue", "cancel"] = "continue"


class Begin(Follow, Asked):
    """A run to begin."""


class Resume(Follow):
    """How to go on with a run. budget_usd: the new cap of all of it, in USD. deadline_s: seconds from now on.

    fork: a new run, which keeps every reply whose question is still the same.
    """

    budget_usd: Amount | None = None
    deadline_s: Amount | None = None
    fork: bool = False


class Feedback(BaseModel):
    """What became of a decision. answer: the right one, where it is short and known."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    result: Literal["success", "partial", "failure"]
    answer: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


class Judgement(BaseModel):
    """What was learned. gold: the right answer, where it is known; answers: what each model said alone."""

    run_id: str
    result: str
    gold: str | None
    answers: dict[str, str | None]


class ResultBody(BaseModel):
    """A run. status: running, paused, cancelled, failed, or how it was decided. Absent is null."""

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
    stop_reason: str
    seats: list[dict[str, Any]]
    dropped: list[dict[str, Any]]
    degraded: bool
    usage: dict[str, Any]
    elapsed_s: float
    detail: dict[str, Any]


class Exported(BaseModel):
    """A run with all its events."""

    result: ResultBody
    events: list[dict[str, Any]]


class Health(BaseModel):
    """status: ok, draining, or unavailable where the database is. runs: under way here."""

    status: Literal["ok", "draining", "unavailable"]
    version: str
    runs: int
