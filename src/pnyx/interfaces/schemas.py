"""Shapes that HTTP and MCP share: results of runs, protocols, and how a run is resumed."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ..run.request import Amount, Body

__all__ = ["Listed", "ProtocolBody", "Recalled", "ResultBody", "ResumeOptions"]


class ResumeOptions(Body):
    """How to resume a run."""

    budget_usd: Amount | None = None
    """The new cap of all of the run, in USD."""
    deadline_s: Amount | None = None
    """Seconds from now on until the run is paused; left out, as many as it had before, from now on."""
    fork: bool = False
    """A new run, which keeps every reply whose question is still the same."""


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
