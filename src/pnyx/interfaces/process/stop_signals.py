"""The signals that ask a command to end: it saves its work first."""

from __future__ import annotations

import signal

__all__ = ["stop_signals"]


def stop_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM, and SIGHUP, which a terminal sends when it closes.

    Without SIGHUP if it is ignored, as under nohup, and where the system has none.
    """
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)
    if hangup is None or signal.getsignal(hangup) == signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, hangup
