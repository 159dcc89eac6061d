"""Spans from announcements alone: their tree, their ends, and no text unless it is wanted."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pnyx.config.schema import Settings
from pnyx.core.events import (
    BranchesClosed,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    ToolCalled,
)
from pnyx.run.observer import Announcement, RunClosed, RunEvent, RunOpened
from pnyx.telemetry.hosts import Hosts
from pnyx.telemetry.span_ids import SpanIds
from pnyx.telemetry.spans import SpanWriter
from tests.telemetry.announcements import SECRET_TEXT, TRACED, events, tools

BEGIN, END = 1_000_000_000_000_000_000, 2_000_000_000_000_000_000


def spans_of(*announcements: Announcement, content: bool = False) -> list[ReadableSpan]:
    ids, exporter = SpanIds(), InMemorySpanExporter()
    provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    writer = SpanWriter(provider, ids, Hosts(Settings()), content)
    for announcement in announcements:
        writer.consume(announcement)
    return list(exporter.get_finished_spans())


def run_of(*happened: Event, content: bool = False) -> dict[str, ReadableSpan]:
    """The spans of a run by name, each named once. Events come a second apart."""
    seconds = count()
    timed = [RunEvent(TRACED, _at(event, next(seconds)), number) for number, event in enumerate(happened, 1)]
    spans = spans_of(
        RunOpened(TRACED, time_ns=BEGIN), *timed, RunClosed(TRACED, time_ns=END), content=content
    )
    named = {span.name: span for span in spans}
    assert len(named) == len(spans)
    return named


def _at(event: Event, second: int) -> Event:
    return replace(event, time=f"2026-11-26T00:00:{second:02d}.000Z")


def phase(name: str, key: str) -> PhaseEntered:
    return PhaseEntered(phase=name, round=1, protocol="voting", key=key)


def call(key: str, model: str = "m:a", attempt: int = 1) -> CallStarted:
    return CallStarted(
        key=key,
        attempt=attempt,
        fingerprint="f",
        model=model,
        prompt_id="voting/propose",
        prompt_sha256="",
        prompt="Why?",
    )


def reply(key: str, attempt: int = 1, **more: Any) -> CallFinished:
    return CallFinished(key=key, attempt=attempt, fingerprint="f", model="a-1", text="So.", **more)


def failure(key: str, kind: str, final: bool, attempt: int = 1, tokens: int = 0) -> CallFailed:
    return CallFailed(
        key=key,
        attempt=attempt,
        fingerprint="f",
        model="m:a",
        kind=kind,
        message="why",
        final=final,
        output_tokens=tokens,
    )


def parent_of(span: ReadableSpan, spans: dict[str, ReadableSpan]) -> str:
    names = {other.context.span_id: name for name, other in spans.items() if other.context}
    return names[span.parent.span_id] if span.parent else ""


def test_a_protocol_inside_another_has_its_phases_below_the_phase_it_runs_in() -> None:
    spans = run_of(
        phase("propose", "/0"),
        call("/1.0", "m:outer"),
        reply("/1.0"),
        phase("vote", "/2/consensus/0"),
        call("/2/consensus/1.0", "m:inner"),
        reply("/2/consensus/1.0"),
        phase("judge", "/3"),
        call("/4", "m:judge"),
        reply("/4"),
    )
    run = "invoke_workflow voting"
    assert {name: parent_of(span, spans) for name, span in spans.items()} == {
        run: "",
        "phase propose": run,
        "chat outer": "phase propose",
        "phase vote": "phase propose",
        "chat inner": "phase vote",
        "phase judge": run,
        "chat judge": "phase judge",
    }
    # A phase ends, with all in it, when its script enters the next one.
    assert spans["phase propose"].end_time == spans["phase vote"].end_time == spans["phase judge"].start_time


def test_a_call_has_the_tokens_of_all_its_requests_and_its_retries_as_events() -> None:
    spans = run_of(
        call("/0"),
        failure("/0", "cut_off", final=False, tokens=10),
        call("/0", attempt=2),
        reply("/0", attempt=2, output_tokens=5, input_tokens=7),
    )
    span = spans["chat a"]
    assert span.attributes is not None
    assert span.attributes["gen_ai.usage.output_tokens"] == 15
    assert span.attributes["gen_ai.usage.input_tokens"] == 7
    assert [event.name for event in span.events] == ["pnyx.retry"]
    assert "error.type" not in span.attributes


def test_what_does_not_end_by_itself_ends_with_its_branch_or_its_run() -> None:
    spans = run_of(
        call("/0.0", "m:late"),
        call("/0.1", "m:lost"),
        failure("/0.0", "unknown", final=False),
        BranchesClosed(branches=("/0.0",)),
    )
    late, lost = spans["chat late"], spans["chat lost"]
    assert late.attributes is not None
    assert lost.attributes is not None
    assert late.attributes["error.type"] == "not_awaited"
    assert lost.attributes["error.type"] == "interrupted"
    assert lost.end_time == spans["invoke_workflow voting"].end_time == END


def test_a_failed_run_and_a_failed_tool_are_errors() -> None:
    tool = ToolCalled(fingerprint="f", tool="web_search", arguments={}, outcome="no", ok=False, elapsed_s=0.5)
    spans = run_of(tool, RunFinished(status="failed", result={"stop_reason": "quorum"}))
    found = spans["execute_tool web_search"]
    assert found.attributes is not None
    assert found.attributes["error.type"] == "tool_error"
    assert found.end_time is not None
    assert found.start_time is not None
    assert found.end_time - found.start_time == 500_000_000
    run = spans["invoke_workflow voting"]
    assert run.attributes is not None
    assert run.attributes["error.type"] == "quorum"
    assert not run.status.is_ok


def test_ids_are_those_that_other_processes_got() -> None:
    spans = run_of(phase("vote", "/0"), call("/1"), reply("/1"))
    run, chat = spans["invoke_workflow voting"], spans["chat a"]
    assert TRACED.span is not None
    assert run.context is not None
    assert chat.context is not None
    assert f"{run.context.trace_id:032x}" == TRACED.span.trace_id
    assert f"{run.context.span_id:016x}" == TRACED.span.span_id
    assert f"{chat.context.span_id:016x}" == TRACED.span.below("call /1").span_id


@given(happened=st.lists(events, max_size=8))
def test_no_span_holds_a_text_and_every_span_that_starts_ends(happened: list[Event]) -> None:
    middle = [RunEvent(TRACED, _at(event, 1)) for event in happened]
    spans = spans_of(RunOpened(TRACED), *middle, RunClosed(TRACED))
    assert SECRET_TEXT not in "".join(span.to_json() for span in spans)
    assert sum(span.name.startswith("invoke_workflow") for span in spans) == 1


@given(event=tools)
def test_with_content_spans_have_the_texts(event: Event) -> None:
    assert SECRET_TEXT in "".join(span.to_json() for span in run_of(event, content=True).values())
