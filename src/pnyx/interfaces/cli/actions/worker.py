"""The actions of `pnyx worker`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial

from ....config.schema import Settings
from ....errors import UsageError
from ....gc_pause import end_delay
from ....store.records.runs import RunRow
from ...process.open_files import raise_open_files
from ...process.open_settings import open_settings
from ...process.stop_signals import stop_signals
from ...process.worker_metrics import open_worker_metrics
from ...records.retention import retention
from ...render.terminal import columns
from ...service.run_service import DRAIN_S, RunService
from ...views.queue import QueueState
from ..records import with_records
from ..terminal.log_output import Messages, run_logged
from ..terminal.output import streams

__all__ = ["drop", "retry", "status", "work"]

FILES, FILES_OF_RUN = 256, 16
"""Open files of a worker, and of each of its runs: most are connections to the hosts of its seats."""
Act = Callable[[RunService, RunRow], Awaitable[str]]


def work(concurrency: int | None, log_format: str | None, quiet: bool) -> int:
    overrides = {"worker": {"concurrency": concurrency}, "telemetry": {"log_format": log_format}}
    settings = open_settings(overrides)
    raise_open_files(FILES + settings.worker.concurrency * FILES_OF_RUN)
    return run_logged(streams(quiet=quiet), settings, partial(_work, settings))


async def _work(settings: Settings, output: Messages) -> int:
    async with (
        RunService.open(settings, queued=True, worker=True, log=output.log) as service,
        retention(service, settings.storage, output.note, output.problem),
        open_worker_metrics(service) as metrics,
    ):
        worker = service.worker(output.note, output.problem)
        loop, signals = asyncio.get_running_loop(), 0

        def stop() -> None:
            nonlocal signals
            signals += 1
            # The second signal stops at once.
            worker.stop(DRAIN_S if signals == 1 else 0.0)

        for number in stop_signals():
            loop.add_signal_handler(number, stop)
        output.note(f"taking runs from {service.database_name}, {settings.worker.concurrency} in parallel")
        if metrics is not None:
            output.note(f"metrics: {metrics}")
        end_delay()
        await worker.work()
    output.note("stopped; unfinished runs are back in the queue for another worker")
    return 1 if worker.ran_out else 0


def status(as_json: bool) -> int:
    output = streams()
    state = with_records(open_settings(), lambda stored: stored.queue_state())
    if as_json:
        output.json(state.to_json())
    else:
        output.out.lines(_state_lines(state, output.out.width))
    return 0


def _state_lines(state: QueueState, width: int | None) -> Iterator[str]:
    held = len(state.held_back)
    rows = [
        ["waiting", f"{sum(state.waiting.values())}", _counts(state.waiting)],
        ["running", f"{sum(state.running.values())}", _counts(state.running)],
        ["busy workers", f"{len(state.workers)}", _counts(state.workers)],
        ["held back", f"{held}", "pnyx worker retry ID, or pnyx worker drop ID" if held else ""],
    ]
    yield from columns(rows, right=(1,), width=width)
    if held:
        yield ""
        head = ["run", "key", "since (UTC)", "why"]
        yield from columns([head, *map(_held_back, state.held_back)], width=width)


def _counts(counts: Mapping[str, int]) -> str:
    """Return "ann 500, ben 1", most first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)


def _held_back(row: RunRow) -> list[str]:
    return [
        row.id,
        row.owner,
        row.updated_at[:16].replace("T", " "),
        (row.held_back or "").partition(". ")[0],
    ]


def retry(run_ids: Sequence[str]) -> int:
    async def put_back(service: RunService, row: RunRow) -> str:
        await service.submit_resume(row.id, row.owner)
        return "waits for a worker again"

    return asyncio.run(_with_held_back(run_ids, put_back))


def drop(run_ids: Sequence[str]) -> int:
    async def end(service: RunService, row: RunRow) -> str:
        await service.cancel(row.id)
        return "is cancelled"

    return asyncio.run(_with_held_back(run_ids, end))


async def _with_held_back(run_ids: Sequence[str], act: Act) -> int:
    """Act on runs that are held back. Raises `UsageError` before the first, if one of them is not."""
    output = streams()
    async with RunService.open(open_settings(), queued=True) as service:
        rows = [await service.find(prefix) for prefix in run_ids]
        for row in rows:
            if row.status != "paused" or row.held_back is None:
                raise UsageError(
                    f"run {row.id} is not held back; `pnyx worker status` lists the runs that are"
                )
        for row in rows:
            output.note(f"run {row.id} {await act(service, row)}")
    return 0
