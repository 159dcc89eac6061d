"""The settings of what operators see: logs, traces, metrics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Table
from .base_url import BaseUrl

__all__ = ["LogFormat", "LogLevel", "TelemetrySettings"]

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


class TelemetrySettings(Table):
    """log_format: of what `pnyx serve`, `pnyx worker` and `pnyx mcp` write to stderr: text for people, or one
    JSON object a line. log_level: the least severe lines of JSON.

    otlp: whether traces and metrics go to an OpenTelemetry collector, over HTTP. endpoint: its address; None
    is that of the environment (OTEL_EXPORTER_OTLP_ENDPOINT), or this machine. propagate: whether requests to
    model hosts name their span, in the header `traceparent`.

    prometheus: whether `GET /metrics` of the server has metrics for Prometheus. open_metrics: whether they
    need no key; without this, a request from this machine needs none. worker_port: of `GET /metrics` of a
    worker; None: it listens on no port. worker_host: the address that it listens on.

    content: whether logs and spans may hold texts of prompts, answers and errors.
    """

    log_format: LogFormat = "text"
    log_level: LogLevel = "info"
    otlp: bool = False
    endpoint: BaseUrl = None
    propagate: bool = False
    prometheus: bool = False
    open_metrics: bool = False
    worker_host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    worker_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    content: bool = False
