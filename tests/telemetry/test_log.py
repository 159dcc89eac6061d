"""JSON logs: one object a line, with names and numbers of runs, and texts only on request."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any, get_args

import pytest
from hypothesis import given

from pnyx.config.tables.telemetry import LogLevel
from pnyx.core.events import CallFailed, CallStarted, Event, RunFinished, Token, UnknownEvent
from pnyx.run.observer import ORIGIN, Announcement, Origin, RunClosed, RunEvent, RunOpened
from pnyx.telemetry.log import JsonLog
from pnyx.telemetry.log_fields import _FIELDS
from tests.interfaces.events import consensus_run
from tests.support.waiting import STALL_S
from tests.telemetry.announcements import RUN, SECRET_TEXT, TRACED, events


def lines_of(*announcements: Announcement, level: LogLevel = "debug", **options: Any) -> list[dict[str, Any]]:
    """The lines of a log as a standard parser reads them."""
    written: list[str] = []
    log = JsonLog(level, write=written.append, **options)
    for announcement in announcements:
        log.announce(announcement)
    log.close()
    assert log.relay.failed == 0
    assert all(line.endswith("\n") and len(line.splitlines()) == 1 for line in written)
    return [
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")) for line in written
    ]


@given(event=events)
def test_no_line_holds_a_text_of_people_or_models(event: Event) -> None:
    (line,) = lines_of(RunEvent(RUN, event, 7))
    assert SECRET_TEXT not in json.dumps(line)
    assert line["run_id"] == "abc123"
    assert line["owner"] == "ada"
    assert line["request_id"] == "req_1"
    assert line["seq"] == 7


@given(event=events)
def test_with_content_a_line_has_the_texts(event: Event) -> None:
    (line,) = lines_of(RunEvent(RUN, event), content=True)
    if not isinstance(event, UnknownEvent) and line["event"] not in ("run_opened", "budget"):
        assert SECRET_TEXT in json.dumps(line)


def test_every_event_has_a_line() -> None:
    assert set(_FIELDS) == set(get_args(Event))
    assert Token in _FIELDS


def test_a_run_is_one_line_an_event_in_order() -> None:
    run = consensus_run()
    lines = lines_of(
        RunOpened(RUN), *(RunEvent(RUN, event, n) for n, event in enumerate(run)), RunClosed(RUN)
    )
    assert [line["event"] for line in lines[1:-1]] == [event.type for event in run]
    assert lines[0]["event"] == "run_opened"
    assert lines[-1]["event"] == "run_closed"
    assert all({"time", "level", "event", "run_id", "owner"} <= line.keys() for line in lines)


def test_a_level_leaves_less_severe_lines_out() -> None:
    run = [RunEvent(RUN, event) for event in consensus_run()]
    assert not [line for line in lines_of(*run, level="info") if line["event"] == "call_started"]
    assert not lines_of(*run, level="error")
    failed = RunFinished(status="failed", result={"stop_reason": "quorum"})
    assert [line["level"] for line in lines_of(RunEvent(RUN, failed), level="error")] == ["error"]


def test_a_line_names_the_span_of_its_run() -> None:
    (line,) = lines_of(RunOpened(TRACED))
    assert (line["trace_id"], line["span_id"]) == ("1" * 32, "2" * 16)


def test_a_key_is_masked_even_where_content_is_wanted() -> None:
    failed = CallFailed(attempt=1, fingerprint="", model="m", kind="auth", message="bad key sk-1", final=True)
    (line,) = lines_of(RunEvent(RUN, failed), content=True, redact=lambda text: text.replace("sk-1", "***"))
    assert line["message"] == "bad key ***"


def test_records_of_other_loggers_are_lines_without_what_they_quote() -> None:
    written: list[str] = []
    log = JsonLog(write=written.append)
    logger = logging.getLogger("pnyx.test_log")
    logger.addHandler(handler := log.handler())
    token = ORIGIN.set(Origin("req_9"))
    try:
        raise ValueError(SECRET_TEXT)
    except ValueError as exc:
        logger.error("%s failed", SECRET_TEXT, extra={"exception": exc})
        logger.exception("again: %s", SECRET_TEXT)
    finally:
        ORIGIN.reset(token)
        logger.removeHandler(handler)
        log.close()
    lines = [json.loads(line) for line in written]
    assert SECRET_TEXT not in "".join(written)
    assert [line["error_type"] for line in lines] == ["ValueError"] * 2
    assert all(line["request_id"] == "req_9" and line["logger"] == "pnyx.test_log" for line in lines)
    assert "test_records_of_other_loggers" in lines[0]["frames"][-1]


def test_a_reader_that_stops_loses_lines_and_delays_nobody() -> None:
    stuck, written = threading.Event(), []

    def write(line: str) -> None:
        stuck.wait(STALL_S)
        written.append(json.loads(line))

    log = JsonLog("debug", write=write)
    log.relay._capacity = 10
    started = CallStarted(
        attempt=1, fingerprint="", model="m", prompt_id="p", prompt_sha256="", prompt=SECRET_TEXT
    )
    for _ in range(100):
        log.announce(RunEvent(RUN, started))
    assert log.relay.dropped >= 89
    stuck.set()
    assert log.relay.drain(STALL_S)
    log.announce(RunEvent(RUN, started))
    log.close(STALL_S)
    lost = [line["lines"] for line in written if line["event"] == "log_dropped"]
    assert sum(lost) == log.relay.dropped
