"""A server with a queue and its workers, as separate processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from tests.faults.test_server import Server, until
from tests.faults.trial import Trial, soon
from tests.support.announced import address_and_key
from tests.support.forked import Process, start

__all__ = ["ASK", "CALLS", "Site", "Worker", "serving"]

ASK = {"question": "Why?", "protocol": "consensus"}
CALLS = 4
"""Of a run of that, with the panel of the trial."""


class Worker:
    """A `pnyx worker` in a separate process. stderr: its output until now."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.stderr = ""
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.wait_for("taking runs from")

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr += line.decode()

    def wait_for(self, text: str, within: float = 60.0) -> None:
        soon(lambda: text in self.stderr or self.process.poll() is not None, within)
        assert text in self.stderr, self.stderr

    @property
    def busy(self) -> bool:
        return self.stderr.count(" · started") + self.stderr.count(" · resumed") > 0

    def end(self, number: int = signal.SIGTERM) -> float:
        """Send a signal and return the seconds until the process ended."""
        started_at = time.monotonic()
        self.process.send_signal(number)
        self.ended()
        return time.monotonic() - started_at

    def ended(self) -> None:
        """Wait until the process has ended and its output is read."""
        self.process.wait(120)
        self._reading.join(120)


class Site:
    """A server with a queue, and workers on the same database."""

    def __init__(self, trial: Trial, stack: ExitStack) -> None:
        self.trial, self._stack = trial, stack
        self.server = stack.enter_context(serving(trial))
        self.workers: list[Worker] = []

    def worker(self, *args: str, **environment: str) -> Worker:
        process = self._stack.enter_context(_hasty("worker", *args, **environment))
        self.workers.append(Worker(process))
        return self.workers[-1]

    async def begin(self, **more: Any) -> str:
        async with self.server.client() as client:
            response = await client.post("/v1/runs", json={**ASK, **more})
        assert response.status_code in (200, 202), response.text
        return str(response.json()["run_id"])

    async def over(self, *runs: str, within: float = 120.0) -> list[dict[str, Any]]:
        """Wait until no run is waiting or running, and return the runs."""
        async with self.server.client() as client:

            async def ended(run: str) -> Any:
                response = (await client.get(f"/v1/runs/{run}")).json()
                return response["status"] not in ("waiting", "running") and response

            # One after the other: to ask for all of them again and again keeps the server busy.
            return [dict(await until(partial(ended, run), within)) for run in runs]

    async def status(self, run: str) -> str:
        async with self.server.client() as client:
            return str((await client.get(f"/v1/runs/{run}")).json()["status"])

    def check(self, happened: str) -> Any:
        self.trial.output += [worker.stderr for worker in self.workers]
        return self.trial.check(happened)


@contextmanager
def _hasty(*args: str, **environment: str) -> Iterator[Process]:
    with start(*args, module="tests.support.short_lease", env=os.environ | environment) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def serving(trial: Trial) -> Iterator[Server]:
    with _hasty("serve", "--port", "0", "--queue") as process:
        yield Server(process, *address_and_key(process.stderr))
