"""The fields of log lines: which facts of an announcement a line has, and how severe it is.

A line has names, numbers and states. What people or models wrote is in a line only if the operator has asked
for content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..config.tables.telemetry import LogLevel
from ..core.events import (
    BranchesClosed,
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    RunStarted,
    SeatAbstained,
    SeatDropped,
    Token,
    ToolCalled,
    UnknownEvent,
    VoteTallied,
    event_type,
)
from ..run.observer import Announcement, RunClosed, RunIdentity, RunOpened

__all__ = ["LEVELS", "Line", "line_of"]

LEVELS: tuple[LogLevel, ...] = ("debug", "info", "warning", "error")
"""Least severe first."""


class Line(NamedTuple):
    """A log line without its time. event: what happened, one word for programs."""

    level: LogLevel
    event: str
    fields: Mapping[str, Any]


def line_of(announcement: Announcement, content: bool) -> Line:
    """Return the line for an announcement. content: whether it has texts."""
    identity = _identity(announcement.run)
    match announcement:
        case RunOpened(resumed=resumed):
            return Line("info", "run_opened", {**identity, "resumed": resumed})
        case RunClosed(error=error):
            level: LogLevel = "error" if error else "debug"
            return Line(level, "run_closed", {**identity, **({"error_type": error} if error else {})})
    event = announcement.event
    names, texts = _FIELDS[type(event)]
    fields = {**identity, "seq": announcement.seq, **_place(event), **names(event)}
    if content:
        fields |= {name: getattr(event, name) for name in texts}
        if isinstance(event, RunFinished):
            fields["answer"] = event.result.get("answer")
    return Line(_level(event), event_type(event), fields)


def _identity(run: RunIdentity) -> dict[str, Any]:
    trace = {} if run.span is None else {"trace_id": run.span.trace_id, "span_id": run.span.span_id}
    request = {"request_id": run.request_id} if run.request_id else {}
    return {"run_id": run.run_id, "owner": run.owner, **request, **trace}


def _place(event: Event) -> dict[str, Any]:
    """Where in the run the event belongs, as far as it says so."""
    place = {"seat": event.seat, "phase": event.phase, "round": event.round, "key": event.key or None}
    return {name: value for name, value in place.items() if value is not None}


def _level(event: Event) -> LogLevel:
    match event:
        case RunFinished(status="failed"):
            return "error"
        case RunFinished(status="paused", result=result) if result.get("stop_reason") != "interrupted":
            return "warning"
        case CallFailed() | SeatDropped() | SeatAbstained() | Budget():
            return "warning"
        case CallStarted() | BranchesClosed() | UnknownEvent():
            return "debug"
    return "info"


def _picked(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda event: {name: getattr(event, name) for name in names}


def _started(event: RunStarted) -> dict[str, Any]:
    sizes = {"seats": len(event.seats), "files": len(event.files)}
    return {**_picked("protocol", "budget_usd", "deadline_s", "version", "forked_from")(event), **sizes}


def _finished(event: RunFinished) -> dict[str, Any]:
    result = event.result
    named = ("protocol", "stop_reason", "agreement", "confidence", "rounds", "degraded", "elapsed_s")
    usage = dict(result.get("usage") or {})
    return {"status": event.status, **{name: result.get(name) for name in named}, **usage}


_CALL = ("attempt", "model")
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_FIELDS: Mapping[type[Event], tuple[Callable[[Any], dict[str, Any]], tuple[str, ...]]] = {
    RunStarted: (_started, ("question",)),
    PhaseEntered: (_picked("protocol"), ("answer",)),
    CallStarted: (
        _picked(*_CALL, "prompt_id", "max_tokens", "cut", "searches", "reserved_usd"),
        ("system", "prompt"),
    ),
    CallFinished: (
        lambda event: {
            **_picked(*_CALL, "finish_reason", *_TOKENS, "cost_usd", "copied", "elapsed_s")(event),
            "abstained": event.absent is not None,
            "usage_rejected": event.usage_flag is not None,
        },
        ("text", "absent", "usage_flag", "finish_detail"),
    ),
    CallFailed: (
        _picked(*_CALL, "kind", "final", "retry_in_s", *_TOKENS, "charged_usd", "elapsed_s"),
        ("message",),
    ),
    SeatDropped: (_picked("model"), ("reason",)),
    SeatAbstained: (_picked(), ("reason",)),
    BranchesClosed: (lambda event: {"branches": len(event.branches)}, ()),
    ToolCalled: (_picked("tool", "ok", "elapsed_s"), ("arguments", "outcome")),
    VoteTallied: (lambda event: {"rule": event.rule, "candidates": len(event.tally)}, ("tally", "winner")),
    Budget: (
        _picked(
            "kind", "scope", "spent_usd", "reserved_usd", "cap_usd", "next_usd", "expected_usd", "needed_usd"
        ),
        (),
    ),
    RunFinished: (_finished, ()),
    UnknownEvent: (_picked(), ()),
    Token: (_picked(), ("text",)),
}
"""Event -> its facts, and the names of its texts."""
