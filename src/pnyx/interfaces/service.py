"""One service under all interfaces: runs are started, resumed, stopped and read here.

It knows no web framework, no command line and no protocol of messages. `follow` watches its runs.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any, Self

from ..config.load import database_url
from ..config.schema import Settings
from ..core.decision import FINAL
from ..errors import Full, NotFound, Running, StoreError, UsageError
from ..providers.registry import Providers
from ..run.batch import Batch
from ..run.handle import RunHandle
from ..run.lease import is_alive
from ..run.request import RunRequest
from ..run.resolve import resolve
from ..run.runner import Runner
from ..run.spec import Spec
from ..run.worker import Worker
from ..store.queue import Queue, open_queue
from .run_records import RunRecords

__all__ = ["DRAIN_S", "RunService"]

DRAIN_S = 8.0
"""How long calls in flight may continue once a server or worker stops, in seconds; it ends within 10 s."""


class RunService(RunRecords):
    """The runs of one process, and everything that is stored.

    `start` and `resume` run in this process and return a handle. `begin` and `begin_resume` are for requests
    from outside: they check capacity and limits, leave the run to a worker if there is a queue, and
    return the run's id. queue: where runs are left for workers; None: they run here.
    """

    def __init__(self, runner: Runner, queue: Queue | None = None) -> None:
        super().__init__(runner.database)
        self.runner, self.settings, self.queue = runner, runner.settings, queue
        self._starting = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        *,
        providers: Providers | None = None,
        queued: bool = False,
        worker: bool = False,
    ) -> AsyncIterator[Self]:
        """The service on the configured database; on leaving, its runs are interrupted and saved.

        providers: default is the configured ones. queued: with the queue of the database. worker: whether
        this is a `pnyx worker`. Raises `ConfigError`, `StoreError`.
        """
        async with (
            open_queue(database_url(settings)) if queued else nullcontext() as queue,
            Runner.open(settings, providers, worker=worker) as runner,
        ):
            yield cls(runner, queue)

    @property
    def redact(self) -> Callable[[str], str]:
        """Masks the secrets of the settings in a text."""
        return self.runner.providers.redact

    @property
    def draining(self) -> bool:
        """Whether the service is stopping."""
        return self.runner.stopping

    @property
    def active(self) -> int:
        """The number of runs that this process is running."""
        return self.runner.active

    def drain(self, grace_s: float = DRAIN_S) -> None:
        """Pause every run, and all that start later; calls in flight have `grace_s` seconds."""
        self.runner.drain(grace_s)

    def resolve(self, request: RunRequest, owner: str) -> Spec:
        """The run that a request from outside describes, within what the settings allow such requests.

        Raises `UsageError`, `NotFound`, `ConfigError`.
        """
        self.check_budget(request.budget_usd)
        for ref in request.models:
            provider, _, model = ref.partition(":")
            # A file's path would show which files this machine has, and load any of them.
            if "/" in model and self.settings.provider(provider).kind == "embedded":
                raise UsageError(f"{ref[:80]!r}: models of this server go by name, not by path")
        if request.tools and not self.settings.tools.enabled:
            raise UsageError("tools are off on this server; [tools] enabled turns them on")
        return resolve(request, self.settings, owner=owner)

    def check_budget(self, budget_usd: float | None) -> None:
        """Raise `UsageError` for a budget above the configured cap of a run."""
        most = self.settings.budget.run_usd
        if budget_usd is not None and most is not None and budget_usd > most:
            raise UsageError(f"a run may cost ${most:g} on this server, not ${budget_usd:g}")

    def check_providers(self, spec: Spec) -> None:
        """Raise `UsageError` or `ConfigError` for a run that could not start, before anything is paid."""
        spec.check()
        for seat in spec.seats:
            self.runner.providers.get(seat.provider)

    async def start(self, spec: Spec) -> RunHandle:
        """Start a run in this process. Raises `UsageError`, `ConfigError`, `StoreError`."""
        return await self.runner.start(spec)

    async def resume(self, prefix: str, **changes: Any) -> RunHandle:
        """Resume a run in this process. changes, errors: as for `Runner.resume`."""
        return await self.runner.resume(prefix, **changes)

    async def begin(self, spec: Spec, name: str | None = None) -> str:
        """Start a run for a request from outside, or leave it to a worker; its id.

        name, errors: as for `Runner.get_or_start`, and `Full`.
        """
        if name is not None:
            with suppress(NotFound):
                row = await self.runner.find_named(spec, name, exactly=True)
                if row.status in FINAL or is_alive(row.worker, row.heartbeat_at, time.time()):
                    return row.id  # nothing starts, so no capacity is needed
        with self._capacity():
            try:
                if self.queue is not None:
                    return await self._enqueued(self.queue, await self.runner.enqueue(spec, name))
                if name is not None:
                    return (await self.runner.get_or_start(spec, name, exactly=True)).run_id
                return (await self.runner.start(spec)).run_id
            except Running as exc:
                if name is None:
                    raise
                return exc.run_id

    async def begin_resume(
        self,
        prefix: str,
        owner: str,
        *,
        budget_usd: float | None = None,
        deadline_s: float | None = None,
        fork: bool = False,
    ) -> str:
        """Resume a run for a request from outside, or leave it to a worker; its id.

        The rest as for `Runner.resume`. Raises as that does, `UsageError` for a budget above the cap, `Full`.
        """
        self.check_budget(budget_usd)
        row = await self.find(prefix, owner)
        if row.status in FINAL and not fork:
            return row.id
        changes: dict[str, Any] = {"budget_usd": budget_usd, "deadline_s": deadline_s, "fork": fork}
        with self._capacity():
            if self.queue is not None:
                run_id = await self.runner.requeue(prefix, owner=owner, **changes)
                return await self._enqueued(self.queue, run_id)
            return (await self.runner.resume(prefix, owner=owner, **changes)).run_id

    async def cancel(self, prefix: str, owner: str | None = None) -> str:
        """End a run for good, wherever it runs; its id. Raises `NotFound`, `Running`."""
        return await self.runner.cancel(prefix, owner)

    async def pause(self, run_id: str) -> None:
        """Stop a run where it is; it can be resumed here or elsewhere."""
        await self.runner.pause(run_id)

    def abandon(self, run_id: str, *, pause: bool = False) -> None:
        """Cancel, or pause, a run whose client has left, in the background."""
        self.runner.forget(run_id, pause)

    def handle(self, run_id: str) -> RunHandle | None:
        """The handle of a run that this process is running."""
        return self.runner.find(run_id)

    def batch(self, name: str, *, current: bool = False) -> Batch:
        """Many runs under one name and one cap. current: answers to older prompts are not reused."""
        return Batch(self.runner, name, current=current)

    def worker(self, note: Callable[[str], None], problem: Callable[[str], None]) -> Worker:
        """The worker of this process. note, problem: take a line for the person who runs it."""
        assert self.queue is not None, "a worker is opened with `queued`"
        return Worker(self.runner, self.queue, self.settings.worker.concurrency, note, problem)

    @contextmanager
    def _capacity(self) -> Iterator[None]:
        """Take one of the places that `[serve] runs` allows while a run starts. Raises `Full`."""
        if self.draining:
            raise Full("the server is stopping; ask again when it is back")
        # Runs in the queue take no place here: they wait.
        if self.queue is None and self.active + self._starting >= self.settings.serve.runs:
            raise Full(
                f"{self.settings.serve.runs} runs are under way, all that [serve] runs allows; ask later"
            )
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1

    async def _enqueued(self, queue: Queue, run_id: str) -> str:
        # A job that is lost costs little: workers find the run themselves a few seconds later.
        with suppress(StoreError):
            await queue.defer(run_id)
        return run_id
