"""The settings of what operators see."""

from __future__ import annotations

from typing import Literal

from .table import Table

__all__ = ["LogFormat", "LogLevel", "TelemetrySettings"]

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


class TelemetrySettings(Table):
    """log_format: of what `pnyx serve`, `pnyx worker` and `pnyx mcp` write to stderr: text for people, or one
    JSON object a line. log_level: the least severe lines of JSON. content: whether logs may hold texts of
    prompts, answers and errors.
    """

    log_format: LogFormat = "text"
    log_level: LogLevel = "info"
    content: bool = False
