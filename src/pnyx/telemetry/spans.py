"""Traces: a span for each run in a process, below it its phases, and below those its calls and tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, set_span_in_context

from .._version import __version__
from ..core.caching.lru import LRU
from ..core.events import (
    BranchesClosed,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    ToolCalled,
)
from ..run.journal import within
from ..run.observer import Announcement, RunClosed, RunIdentity, RunOpened, TraceContext, call_span
from . import span_attributes as attributes
from .hosts import Hosts
from .otlp import SCHEMA
from .span_ids import SpanIds, span_context

__all__ = ["MOST_RUNS", "SpanWriter"]

MOST_RUNS = 10_000
"""Runs whose spans are open. More only remain if the ends of runs were dropped."""


@dataclass
class _Call:
    """The span of a call. tokens: [input, output] of its requests. error: the kind of its last failure."""

    span: Span
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    error: str = ""


@dataclass
class _Run:
    """The open spans of a run: its own, those of phases by the key of their script, and of calls by key."""

    identity: RunIdentity
    context: TraceContext
    span: Span
    phases: dict[str, Span] = field(default_factory=dict)
    calls: dict[str, _Call] = field(default_factory=dict)
    ended: bool = False


class SpanWriter:
    """Makes the spans of all runs of a process. Used by one thread.

    content: whether spans have texts of prompts and answers. redact: masks keys in them, once it is set.
    """

    def __init__(self, provider: TracerProvider, ids: SpanIds, hosts: Hosts, content: bool) -> None:
        self._tracer = provider.get_tracer("pnyx", __version__, SCHEMA)
        self._ids, self._hosts, self._content = ids, hosts, content
        self.redact: Callable[[str], str] = str
        self._runs: LRU[str, _Run] = LRU(MOST_RUNS)

    def consume(self, item: Announcement) -> None:
        """Start and end the spans that an announcement is about."""
        if isinstance(item, RunOpened):
            self._open(item)
            return
        run = self._runs.get(item.run.run_id)
        if run is None or run.identity.span != item.run.span:
            return  # of a run that another process carries out
        if isinstance(item, RunClosed):
            self._close(run, item)
        elif not run.ended:
            self._happen(run, item.event)

    def _open(self, item: RunOpened) -> None:
        identity = item.run
        if (context := identity.span) is None:
            return
        parent = None if identity.parent is None else span_context(identity.parent)
        links = []
        if identity.earlier is not None:
            links.append(Link(span_context(identity.earlier).get_span_context(), {"pnyx.link": "resumed"}))
        self._ids.next = context
        span = self._tracer.start_span(
            f"invoke_workflow {identity.protocol}",
            Context() if parent is None else set_span_in_context(parent, Context()),
            SpanKind.INTERNAL,
            {**attributes.of_run(identity), "pnyx.resumed": item.resumed},
            links,
            item.time_ns // 1_000_000 * 1_000_000,  # as precise as the events
        )
        self._runs[identity.run_id] = _Run(identity, context, span)

    def _close(self, run: _Run, item: RunClosed) -> None:
        if not run.ended:
            if item.error:
                _fail(run.span, item.error)
            self._end(run, item.time_ns)
        self._runs.pop(run.identity.run_id)

    def _happen(self, run: _Run, event: Event) -> None:
        time = _ns(event.time)
        match event:
            case PhaseEntered():
                self._enter(run, event, time)
            case CallStarted():
                self._start_call(run, event)
            case CallFinished() | CallFailed():
                self._outcome(run, event, time)
            case ToolCalled():
                self._use(run, event, time)
            case BranchesClosed(branches=branches):
                for key in [key for key in run.calls if any(within(key, branch) for branch in branches)]:
                    self._end_call(run, key, time, "not_awaited")
            case RunFinished():
                run.span.set_attributes(attributes.of_end(event))
                if event.status == "failed":
                    _fail(run.span, str(event.result.get("stop_reason") or "failed"))
                if self._content:
                    self._set(run.span, {"pnyx.answer": str(event.result.get("answer") or "")})
                self._end(run, time)
            case _ if mark := attributes.of_mark(event):
                run.span.add_event(*mark, time)

    def _enter(self, run: _Run, event: PhaseEntered, time: int) -> None:
        scope = event.key.rpartition("/")[0]
        _end_phases(run, scope, time)
        parent = self._parent(run, scope)
        found, name = attributes.of_phase(event), f"phase {event.phase}"
        run.phases[scope] = self._start(run, name, parent, found, f"phase {event.key}", time)

    def _start_call(self, run: _Run, event: CallStarted) -> None:
        if event.key in run.calls:
            return  # a retry, or a second request for the same call
        _, model, host = self._hosts.of(event.model)
        found = attributes.of_call(run.identity, event, model, host)
        span = self._start(
            run,
            f"chat {found.get('gen_ai.request.model', '')}".strip(),
            self._parent(run, event.key),
            found,
            call_span(event.key),
            _ns(event.time),
            SpanKind.CLIENT,
        )
        if self._content:
            self._set(span, attributes.of_prompt(event))
        run.calls[event.key] = _Call(span)

    def _outcome(self, run: _Run, event: CallFinished | CallFailed, time: int) -> None:
        call = run.calls.get(event.key)
        if call is None:
            return  # nothing was sent by this process
        call.tokens[0] += event.input_tokens
        call.tokens[1] += event.output_tokens
        if isinstance(event, CallFinished):
            call.span.set_attributes(attributes.of_reply(event))
            if self._content:
                self._set(call.span, attributes.of_reply_text(event))
            self._end_call(run, event.key, time)
            return
        call.error = event.kind
        if self._content:
            self._set(call.span, {"pnyx.error.message": event.message})
        if event.final:
            self._end_call(run, event.key, time, event.kind)
        elif mark := attributes.of_mark(event):
            call.span.add_event(*mark, time)

    def _end_call(self, run: _Run, key: str, time: int, error: str = "") -> None:
        call = run.calls.pop(key)
        if error:
            _fail(call.span, error)
        names = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
        call.span.set_attributes({name: n for name, n in zip(names, call.tokens, strict=True) if n})
        call.span.end(time)

    def _use(self, run: _Run, event: ToolCalled, time: int) -> None:
        started = time - round(event.elapsed_s * 1e9)
        found = attributes.of_tool(run.identity, event)
        parent = self._parent(run, event.key)
        span = self._start(
            run, f"execute_tool {event.tool}", parent, found, f"tool {event.key}", started, SpanKind.INTERNAL
        )
        if not event.ok:
            _fail(span, "tool_error")
        if self._content:
            self._set(span, attributes.of_tool_text(event))
        span.end(time)

    def _start(
        self,
        run: _Run,
        name: str,
        parent: Span,
        found: attributes.Attributes,
        id_name: str,
        time: int,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        self._ids.next = run.context.below(id_name)
        return self._tracer.start_span(
            name, set_span_in_context(parent, Context()), kind, found, start_time=time
        )

    def _parent(self, run: _Run, key: str) -> Span:
        """The span of the innermost phase that the step at `key` is in, or of the run."""
        for scope in _scopes(key):
            if scope in run.phases:
                return run.phases[scope]
        return run.span

    def _end(self, run: _Run, time: int) -> None:
        """End the spans of a run, the inner ones first."""
        for key, call in list(run.calls.items()):
            self._end_call(run, key, time, call.error or "interrupted")
        _end_phases(run, "", time)
        run.span.end(time)
        run.ended = True

    def _set(self, span: Span, texts: attributes.Attributes) -> None:
        for name, text in texts.items():
            span.set_attribute(name, self.redact(text.encode(errors="backslashreplace").decode()))


def _end_phases(run: _Run, scope: str, time: int) -> None:
    """End the phase of the script at `scope`, and those of scripts inside it, the inner ones first."""
    inside = [key for key in run.phases if not scope or within(key, scope)]
    for key in sorted(inside, key=len, reverse=True):
        run.phases.pop(key).end(time)


def _scopes(key: str) -> Iterator[str]:
    """The keys of the scripts around a step, innermost first; the outermost is empty."""
    while key:
        key = key.rpartition("/")[0]
        yield key


def _fail(span: Span, error: str) -> None:
    span.set_attribute("error.type", error)
    span.set_status(Status(StatusCode.ERROR))


def _ns(time: str) -> int:
    """The time of an event in nanoseconds since 1970; events count milliseconds."""
    return round(datetime.fromisoformat(time).timestamp() * 1000) * 1_000_000
