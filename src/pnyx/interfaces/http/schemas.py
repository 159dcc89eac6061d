"""Schemas of HTTP alone; OpenAPI shows their docstrings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ...store.records.labels import MOST_TAGS, MOST_TITLE, LabelChange
from ..access.shares import DEFAULT_S, LONGEST_S
from ..requests.bounds import Name
from ..requests.json_body import Body
from ..requests.schemas import ProtocolBody, ResultBody, ResumeOptions, RunBody

__all__ = [
    "Calibration",
    "Costs",
    "Defaults",
    "EvaluationLog",
    "EvaluationReport",
    "Exported",
    "Feedback",
    "Health",
    "Judgement",
    "Labelling",
    "NewShare",
    "Overview",
    "Planned",
    "Resume",
    "ShareLink",
    "ShareRun",
    "SharedRun",
    "StartRun",
    "StoredEvaluation",
    "Wait",
]

MOST_LOG = 50_000_000
"""Characters of the log of an evaluation; `[serve] body_mb` usually allows less."""


class Wait(Body):
    """How the client waits for a run."""

    stream: bool = False
    """Stream events as they happen."""
    wait: bool = False
    """Wait for the result."""
    tokens: bool = False
    """Also stream the text of replies, here or to others who follow the run."""
    on_disconnect: Literal["continue", "cancel"] = "continue"
    """What to do with the run if the client disconnects before its end."""


class StartRun(Wait, RunBody):
    """A run to start, and how to wait for it."""

    follows: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """The id of a run: the question is the next turn after it, and seats read the earlier turns."""


class Resume(Wait, ResumeOptions):
    """How to resume a run, and how to wait for it."""


class Feedback(Body):
    """Whether a decision was right."""

    result: Literal["success", "partial", "failure"]
    answer: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The right answer, if it is short and known."""


class Labelling(Body):
    """A change of a run's labels. What is left out stays as it is."""

    title: Annotated[str, Field(max_length=MOST_TITLE)] | None = None
    """Shown in place of the question; null or empty: the question again."""
    tags: Annotated[tuple[Name, ...], Field(strict=False, max_length=MOST_TAGS, fail_fast=True)] = ()
    """All tags that the run has then."""
    pinned: bool = False
    """Whether it is pinned."""

    def to_change(self) -> LabelChange:
        fields = self.model_fields_set
        return LabelChange(
            title=(self.title or "") if "title" in fields else None,
            tags=self.tags if "tags" in fields else None,
            pinned=self.pinned if "pinned" in fields else None,
        )


class ShareRun(Body):
    """How long a link to a run is valid."""

    expires_s: Annotated[float, Field(gt=0, le=LONGEST_S)] = DEFAULT_S
    """Seconds from now; 30 days by default, 366 days at most."""


class ShareLink(BaseModel):
    """A link to a run. state: also revoked if the key of the run's owner was revoked."""

    id: str
    run_id: str
    state: Literal["valid", "expired", "revoked"]
    created_at: str
    expires_at: str
    revoked_at: str | None


class NewShare(ShareLink):
    """A new link. token: shown only once. url: the page that shows the run; the token is after its `#`."""

    token: str
    url: str


class SharedRun(BaseModel):
    """The run of a link. protocol: null if it is no longer installed."""

    run: ResultBody
    protocol: ProtocolBody | None
    expires_at: str


class EvaluationLog(Body):
    """The log of an evaluation."""

    log: Annotated[str, Field(min_length=1, max_length=MOST_LOG)]
    """The lines of `pnyx eval --log`."""


class EvaluationReport(BaseModel):
    """The report of an evaluation, as `pnyx eval --json`. Shares are fractions of 1.

    verdict: what the figures show, in sentences. arms: n, right, accuracy with its 95 % interval, cost and
    time of each. pairs: each arm against each baseline, with rescues and regressions.
    """

    verdict: list[str]
    dataset: str
    models: list[str]
    questions: int
    asked: int
    partial: bool
    arms: list[dict[str, Any]]
    pairs: list[dict[str, Any]]


class StoredEvaluation(BaseModel):
    """An evaluation whose log is stored. questions: planned for each arm; null: unknown."""

    id: str
    dataset: str
    models: list[str]
    arms: list[str]
    questions: int | None
    started: str
    updated_at: str


class SeatAnswer(BaseModel):
    """A seat's own final answer, before it saw others; null if it has none."""

    model: str
    answer: str | None


class Judgement(BaseModel):
    """The recorded judgement. gold: the right answer, if known. seats: the first answer of each.

    answers: the same by model; the last seat counts if a model has several.
    """

    run_id: str
    result: str
    gold: str | None
    answers: dict[str, str | None]
    seats: list[SeatAnswer]


class Planned(BaseModel):
    """An estimate of a run. Unknown is null.

    calls: least and most. at_most: input_tokens, output_tokens, cost_usd. at_most_if: the condition under
    which they hold: no seat fails, and no call is retried. expected_usd: the cost of a usual
    run. cost_note: why that is unknown, and what to set; null if it is known. seats: with the prices of their
    models, USD per million tokens. files: name, media_type, size in bytes, sha256, tokens (at most) and note
    of each.
    """

    dry_run: Literal[True]
    question: str
    protocol: str
    options: dict[str, Any]
    seats: list[dict[str, Any]]
    files: list[dict[str, Any]]
    judge: str | None
    calls: dict[str, int] | None
    at_most: dict[str, float | None]
    at_most_if: str
    expected_usd: float | None
    cost_note: str | None
    budget_usd: float | None
    deadline_s: float


class CastBallot(BaseModel):
    """A vote. of: the name voted for, null for none of them. ranking: best first, possibly empty."""

    seat: str
    of: str | None
    text: str
    ranking: list[str]


class Count(BaseModel):
    """A count of votes. winner: null on a tie, whatever breaks it. ballots: every vote that was cast."""

    scope: str
    round: int
    phase: str
    rule: str
    counts: dict[str, float]
    winner: str | None
    tied: bool
    ballots: list[CastBallot]


class PhaseSeats(BaseModel):
    """The seats that replied in a phase."""

    round: int
    phase: str
    seats: list[str]


class ChangeOfMind(BaseModel):
    """A seat that took another position. kind: answer or endorsement. after: what others wrote in between."""

    seat: str
    kind: str
    before: str
    now: str
    round: int
    phase: str
    after: list[PhaseSeats]


class PhaseCost(BaseModel):
    """The requests of a seat in a phase. cost_usd: null if a price is unknown."""

    seat: str
    phase: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    elapsed_s: float


class Overview(BaseModel):
    """The debate at a glance. panel: what the seats agree on, differ on, and what only one says, in words."""

    votes: list[Count]
    changes: list[ChangeOfMind]
    panel: dict[Literal["agree", "differ", "only"], list[str]]
    costs: list[PhaseCost]


class CostRow(BaseModel):
    """The calls of a group: a model, protocol, provider or day, by whichever the request asks for.

    cost_usd: null if a part of it is unknown; known_usd: the known part.
    """

    name: str
    runs: int
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None
    known_usd: float
    unpriced_calls: int


class Costs(BaseModel):
    """What the runs of the key cost since a day (UTC): in all, by group, and by day."""

    since: str
    total: CostRow
    rows: list[CostRow]
    days: list[CostRow]


class Calibration(BaseModel):
    """What feedback says of support and confidence, as `pnyx calibration --json`.

    protocols: name -> n, right, ece, brier, bins of its outcomes, and of each panel. models: learned weights.
    """

    n: int
    partial: int
    needed: int
    protocols: dict[str, dict[str, Any]]
    models: dict[str, Any]


class Exported(BaseModel):
    """A run with all its events."""

    result: ResultBody
    events: list[dict[str, Any]]


class Health(BaseModel):
    """status: ok, draining (stopping), or unavailable (the database cannot be read or written).

    runs: under way on this server. reason: why it is not ok, else null.
    """

    status: Literal["ok", "draining", "unavailable"]
    version: str
    runs: int
    reason: str | None = None


class ModelRow(BaseModel):
    """A model for a panel. Prices: USD per million tokens. missing: what it lacks, null if it is ready."""

    model: str
    input_price: float | None
    output_price: float | None
    context: int | None
    missing: str | None


class Defaults(BaseModel):
    """The defaults of a request. missing: why there is no panel, if `seats` is empty.

    options: the configured ones, by protocol. budget_usd: also the most that a request can set. models: names
    for a panel, the configured ones first; other models of a known provider work too. panels: the saved ones,
    by name. catalogue: these models and those of providers without a key, with prices and windows.
    """

    protocol: str
    preset: str | None
    seats: tuple[str, ...]
    missing: str | None
    models: tuple[str, ...]
    catalogue: list[ModelRow]
    panels: dict[str, dict[str, Any]]
    options: dict[str, dict[str, Any]]
    budget_usd: float | None
    deadline_s: float
    tools: bool
