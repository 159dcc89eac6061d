"""Opens what the settings ask for: logs, traces, metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..config.schema import Settings
from ..config.telemetry_settings import LogLevel
from ..run.observer import Announcement
from .log import JsonLog

__all__ = ["Telemetry", "open_log"]


def open_log(settings: Settings, quiet: bool = False) -> JsonLog | None:
    """Return the log of a server or a worker, None if it writes text. quiet: only warnings and errors."""
    chosen = settings.telemetry
    if chosen.log_format != "json":
        return None
    level: LogLevel = "warning" if quiet and chosen.log_level in ("debug", "info") else chosen.log_level
    return JsonLog(level, chosen.content)


class Telemetry:
    """Everything that observes one process. log: its JSON log, if it has one."""

    def __init__(self, settings: Settings, log: JsonLog | None = None) -> None:
        self.settings, self.log = settings, log
        self._sinks: list[Callable[[Announcement], object]] = [] if log is None else [log.announce]

    def announce(self, announcement: Announcement) -> None:
        """Pass on what a run announces. Returns at once."""
        for sink in self._sinks:
            sink(announcement)

    def request_served(
        self, *, method: str, route: str, status: int, seconds: float, request_id: str, owner: str | None
    ) -> None:
        """Note an HTTP request. status: 0 for one whose client left before a response."""
        if self.log is not None:
            fields: dict[str, Any] = {"method": method[:20], "route": route, "status": status}
            fields |= {"elapsed_s": round(seconds, 3), "request_id": request_id, "owner": owner}
            quiet = route in ("/health", "/metrics") and status < 400
            self.log.line("debug" if quiet else "info", "http_request", **fields)

    def close(self) -> None:
        """Pass on what waits, for a few seconds at most. The log is closed by who opened it."""
