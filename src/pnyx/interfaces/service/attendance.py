"""Which runs have clients that wait for them, and end when the last of these leaves."""

from __future__ import annotations

import asyncio
from collections import Counter

from ...run.runner import Runner

__all__ = ["Attendance"]


class Attendance:
    """Counts the clients that wait for runs of a runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._clients: Counter[str] = Counter()
        self._leaving: dict[str, asyncio.TimerHandle] = {}

    def arrive(self, run_id: str) -> None:
        """Count a client that waits for a run."""
        self._clients[run_id] += 1
        if timer := self._leaving.pop(run_id, None):
            timer.cancel()

    def leave(self, run_id: str, *, cancel: bool, grace_s: float) -> None:
        """Count a client as gone. cancel: the run is not over, and ends if this was its last client.

        grace_s: seconds for another client to come, such as the same one trying again.
        """
        self._clients[run_id] -= 1
        if self._clients[run_id] > 0:
            return
        del self._clients[run_id]
        if cancel and grace_s:
            loop = asyncio.get_running_loop()
            self._leaving[run_id] = loop.call_later(grace_s, self._cancel, run_id)
        elif cancel:
            self._runner.forget(run_id)

    def _cancel(self, run_id: str) -> None:
        del self._leaving[run_id]
        if not self._runner.stopping:  # it is paused then
            self._runner.forget(run_id)

    def close(self) -> None:
        """Cancel no further run."""
        for timer in self._leaving.values():
            timer.cancel()
