"""Ids of spans that are known before the span is made, so that others can name it."""

from __future__ import annotations

from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from ..run.observer import TraceContext

__all__ = ["SpanIds", "span_context"]


class SpanIds(IdGenerator):
    """Gives the next span the ids of `next`. Used by one thread."""

    def __init__(self) -> None:
        self.next = TraceContext.new()

    def generate_span_id(self) -> int:
        return int(self.next.span_id, 16)

    def generate_trace_id(self) -> int:
        return int(self.next.trace_id, 16)


def span_context(context: TraceContext) -> NonRecordingSpan:
    """Return the span of another process, as a parent or a link."""
    flags = TraceFlags(TraceFlags.SAMPLED if context.sampled else TraceFlags.DEFAULT)
    ids = SpanContext(int(context.trace_id, 16), int(context.span_id, 16), is_remote=True, trace_flags=flags)
    return NonRecordingSpan(ids)
