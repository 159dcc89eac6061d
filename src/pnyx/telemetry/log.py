"""JSON logs: one object a line, for the runs, the requests and the messages of a process."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ..config.tables.telemetry import LogLevel
from ..run.observer import ORIGIN, Announcement, RunEvent
from ..times import now, stamp
from .log_fields import LEVELS, line_of
from .relay import Relay

__all__ = ["JsonLog"]

_LEVELS: Mapping[int, LogLevel] = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
    logging.CRITICAL: "error",
}
FRAMES = 30
"""The innermost frames of an exception that a line has."""


class JsonLog:
    """Writes log lines to stderr in a thread.

    level: the least severe ones. content: whether lines may have texts of prompts, answers and errors.
    redact: masks the keys in a text. write: writes one line.
    """

    def __init__(
        self,
        level: LogLevel = "info",
        content: bool = False,
        redact: Callable[[str], str] = str,
        write: Callable[[str], object] | None = None,
    ) -> None:
        self.content, self.redact = content, redact
        self._least = LEVELS.index(level)
        self._write = write or _to_stderr
        self._reported = 0
        self.relay: Relay[tuple[LogLevel, str, str, Mapping[str, Any]] | Announcement] = Relay(
            "log", self._consume
        )

    def line(self, level: LogLevel, event: str, **fields: Any) -> None:
        """Write a line. fields: its facts; text of people or models only if there may be content."""
        if LEVELS.index(level) >= self._least:
            self.relay.offer((level, event, now(), fields))

    def announce(self, announcement: Announcement) -> None:
        """Write the line for what a run announces."""
        self.relay.offer(announcement)

    def handler(self) -> logging.Handler:
        """A handler of Python's logging that writes its records here."""
        return _Handler(self)

    def close(self, within: float = 1.0) -> None:
        """Write what waits, for at most `within` seconds."""
        self.relay.close(within)

    def _consume(self, item: tuple[LogLevel, str, str, Mapping[str, Any]] | Announcement) -> None:
        if (lost := self.relay.dropped) > self._reported:
            self._reported, last = lost, self._reported
            self._put("warning", "log_dropped", now(), {"lines": lost - last})
        if isinstance(item, tuple):
            self._put(*item)
            return
        line = line_of(item, self.content)
        if LEVELS.index(line.level) >= self._least:
            moment = item.event.time if isinstance(item, RunEvent) else _moment(item.time_ns)
            self._put(line.level, line.event, moment or now(), line.fields)

    def _put(self, level: LogLevel, event: str, moment: str, fields: Mapping[str, Any]) -> None:
        document = {"time": moment, "level": level, "event": event, **fields}
        # In ASCII: no reader splits a line at a separator that only Unicode knows, or fails at a surrogate.
        self._write(json.dumps(_redacted(document, self.redact), default=str) + "\n")


class _Handler(logging.Handler):
    """Records of Python's logging as lines. Arguments of a message may quote anything: they are content."""

    def __init__(self, log: JsonLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        exc = getattr(record, "exception", None) or (record.exc_info[1] if record.exc_info else None)
        content = self._log.content
        message = record.getMessage().partition("\n")[0] if content else str(record.msg).partition("\n")[0]
        fields: dict[str, Any] = {"logger": record.name, "message": message}
        if request_id := ORIGIN.get().request_id:
            fields["request_id"] = request_id
        if isinstance(exc, BaseException):
            fields["error_type"] = type(exc).__name__
            fields["frames"] = _frames(exc)
            if content:
                fields["error"] = str(exc)
        self._log.line(_LEVELS.get(record.levelno, "warning"), "message", **fields)


def _moment(time_ns: int) -> str:
    return stamp(datetime.fromtimestamp(time_ns / 1e9, UTC))


def _frames(exc: BaseException) -> list[str]:
    frames = traceback.extract_tb(exc.__traceback__)[-FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {redact(str(key)): _redacted(inner, redact) for key, inner in value.items()}
        case list() | tuple():
            return [_redacted(inner, redact) for inner in value]
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None  # JSON has no such number
    return value


def _to_stderr(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()
