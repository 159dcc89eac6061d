"""The action of `pnyx worker`."""

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
        loop, signals = asyncio.get_running_loop(), 0

        def stop() -> None:
            nonlocal signals
            signals += 1
            # The second signal stops at once.
            worker.stop(DRAIN_S if signals == 1 else 0.0)

        for number in SIGNALS:
            loop.add_signal_handler(number, stop)
        output.note(f"taking runs from {service.database_name}, {settings.worker.concurrency} in parallel")
        await worker.work()
    output.note("stopped; unfinished runs are back in the queue for another worker")
    return 0
