"""The action of `pnyx worker`."""

from __future__ import annotations

import asyncio
from functools import partial

from ....config.schema import Settings
from ...open_settings import open_settings
from ...service import DRAIN_S, RunService
from ...worker_metrics import open_worker_metrics
from ..terminal.follow import SIGNALS
from ..terminal.log_output import Messages, run_logged
from ..terminal.output import streams

__all__ = ["work"]


def work(concurrency: int | None, log_format: str | None, quiet: bool) -> int:
    overrides = {"worker": {"concurrency": concurrency}, "telemetry": {"log_format": log_format}}
    settings = open_settings(overrides)
    return run_logged(streams(quiet=quiet), settings, partial(_work, settings))


async def _work(settings: Settings, output: Messages) -> int:
    async with (
        RunService.open(settings, queued=True, worker=True, log=output.log) as service,
        open_worker_metrics(service) as metrics,
    ):
        worker = service.worker(output.note, output.problem)
        loop, signals = asyncio.get_running_loop(), 0

        def stop() -> None:
            nonlocal signals
            signals += 1
            # The second signal stops at once.
            worker.stop(DRAIN_S if signals == 1 else 0.0)

        for number in SIGNALS:
            loop.add_signal_handler(number, stop)
        output.note(f"taking runs from {service.database_name}, {settings.worker.concurrency} in parallel")
        if metrics is not None:
            output.note(f"metrics: {metrics}")
        await worker.work()
    output.note("stopped; unfinished runs are back in the queue for another worker")
    return 0
