"""What `pnyx worker` does."""

from __future__ import annotations

import asyncio

from ....config.schema import Settings
from ...open_settings import open_settings
from ...service import DRAIN_S, RunService
from ..terminal.follow import SIGNALS
from ..terminal.output import Output, streams

__all__ = ["work"]


def work(concurrency: int | None, quiet: bool) -> int:
    return asyncio.run(_work(streams(quiet=quiet), open_settings({"worker": {"concurrency": concurrency}})))


async def _work(output: Output, settings: Settings) -> int:
    async with RunService.open(settings, queued=True, worker=True) as service:
        worker = service.worker(output.note, output.err.line)
        loop, told = asyncio.get_running_loop(), 0

        def stop() -> None:
            nonlocal told
            told += 1
            # Whoever says it twice waits for nothing.
            worker.stop(DRAIN_S if told == 1 else 0.0)

        for number in SIGNALS:
            loop.add_signal_handler(number, stop)
        output.note(f"taking runs from {service.database_name}, {settings.worker.concurrency} at once")
        await worker.work()
    output.note("stopped; runs that were under way wait for another worker")
    return 0
