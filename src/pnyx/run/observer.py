"""What the runs of a process announce to those who watch the process: logs, traces and metrics.

Followers of one run read its events from its `Broadcast`. An observer has the events of all runs. It is
called on the event loop, so it must return at once and never raise; `pnyx.telemetry` passes announcements on
to threads.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

from ..core.events import Event
from .spec import Spec

__all__ = [
    "NO_REQUEST",
    "ORIGIN",
    "Announcement",
    "Observer",
    "Origin",
    "RunClosed",
    "RunEvent",
    "RunIdentity",
    "RunOpened",
    "TraceContext",
    "call_span",
    "renewed",
]

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span as other processes name it (W3C Trace Context). trace_id: 32 hex digits. span_id: 16."""

    trace_id: str
    span_id: str
    sampled: bool = True

    @classmethod
    def parse(cls, header: str | None) -> TraceContext | None:
        """Return the context in a `traceparent` header; None if there is none that is valid."""
        match = _TRACEPARENT.fullmatch((header or "").strip())
        if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
            return None
        if not int(match[2], 16) or not int(match[3], 16):
            return None
        return cls(match[2], match[3], bool(int(match[4], 16) & 1))

    @classmethod
    def new(cls, parent: TraceContext | None = None) -> TraceContext:
        """Return the context of a new span: a child of `parent`, or the first one of a new trace."""
        if parent is None:
            return cls(secrets.token_hex(16), secrets.token_hex(8))
        return cls(parent.trace_id, secrets.token_hex(8), parent.sampled)

    def below(self, name: str) -> TraceContext:
        """Return the context of the span called `name` below this one: always the same for the same name.

        So the context that is sent to a host is that of the span, which is made elsewhere.
        """
        digest = hashlib.sha256(f"{self.span_id}{name}".encode(errors="surrogatepass")).hexdigest()
        return TraceContext(self.trace_id, digest[:16], self.sampled)

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The external request that starts or resumes a run. traceparent: the span that it belongs to."""

    request_id: str = ""
    traceparent: TraceContext | None = None


NO_REQUEST = Origin()
"""A run that no external request starts."""
ORIGIN: ContextVar[Origin] = ContextVar("ORIGIN", default=NO_REQUEST)
"""The external request that the current task serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """What every announcement says of its run. owner: the name of a key, or "local".

    request_id: of the external request that started or resumed it, "" for none. parent: the span of that
    request. span: of the run in this process; earlier: of the run in the process before. None: not traced.
    """

    run_id: str
    owner: str
    protocol: str
    conversation: str | None = None
    request_id: str = ""
    parent: TraceContext | None = None
    span: TraceContext | None = None
    earlier: TraceContext | None = None

    @classmethod
    def of(cls, run_id: str, spec: Spec) -> RunIdentity:
        """Return the identity of the run with this spec."""
        stored = spec.trace or {}
        contexts = {name: TraceContext.parse(stored.get(name)) for name in ("parent", "span", "earlier")}
        return cls(
            run_id=run_id,
            owner=spec.owner,
            protocol=spec.protocol,
            conversation=spec.conversation,
            request_id=stored.get("request_id", ""),
            **contexts,
        )


def call_span(key: str) -> str:
    """Return the name below its run of the span of the call at `key`, for `TraceContext.below`."""
    return f"call {key}"


def renewed(trace: Mapping[str, str] | None, *, traced: bool, here: bool) -> dict[str, str] | None:
    """Return the `trace` of the spec of a run that is about to start. trace: the stored one.

    traced: whether spans are recorded. here: whether this process runs it, and not a worker.
    """
    origin, stored = ORIGIN.get(), dict(trace or {})
    if origin.request_id:
        stored["request_id"] = origin.request_id
    if not traced:
        return stored or None
    if origin.traceparent is not None:
        stored["parent"] = str(origin.traceparent)
    if here:
        if earlier := stored.pop("span", None):
            stored["earlier"] = earlier
        stored["span"] = str(TraceContext.new(TraceContext.parse(stored.get("parent"))))
    return stored or None


@dataclass(frozen=True, slots=True)
class RunOpened:
    """This process runs the run from now on. resumed: whether calls were recorded before."""

    run: RunIdentity
    resumed: bool = False
    time_ns: int = field(default_factory=time.time_ns)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event of a run, after its commit. seq: None for one that is not stored."""

    run: RunIdentity
    event: Event
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class RunClosed:
    """This process no longer runs the run. error: the type of the error that ended it here, "" for none."""

    run: RunIdentity
    error: str = ""
    time_ns: int = field(default_factory=time.time_ns)


Announcement: TypeAlias = RunOpened | RunEvent | RunClosed
Observer: TypeAlias = Callable[[Announcement], object]
