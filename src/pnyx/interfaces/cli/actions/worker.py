"""What `pnyx worker` does."""

from __future__ import annotations

import asyncio

from ....config.load import database_url
from ....config.schema import Settings
from ....run.runner import Runner
from ....run.worker import Worker
from ....store.queue import open_queue
from ...open_settings import open_settings
from ..terminal.follow import SIGNALS
from ..terminal.output import Output, streams

__all__ = ["work"]

DRAIN_S = 8.0
"""How long calls in flight may go on once the worker stops; with the rest it is over in 10 s."""


def work(concurrency: int | None, quiet: bool) -> int:
    return asyncio.run(_work(streams(quiet=quiet), open_settings({"worker": {"concurrency": concurrency}})))


async def _work(output: Output, settings: Settings) -> int:
    async with (
        open_queue(database_url(settings)) as queue,
        Runner.open(settings, worker=True) as runner,
    ):
        worker = Worker(runner, queue, settings.worker.concurrency, output.note, output.err.line)
        loop, told = asyncio.get_running_loop(), 0

        def stop() -> None:
            nonlocal told
            told += 1
            # Whoever says it twice waits for nothing.
            worker.stop(DRAIN_S if told == 1 else 0.0)

        for number in SIGNALS:
            loop.add_signal_handler(number, stop)
        output.note(f"taking runs from {runner.database.name}, {settings.worker.concurrency} at once")
        await worker.work()
    output.note("stopped; runs that were under way wait for another worker")
    return 0
