"""One service under all interfaces: it starts, resumes, stops and reads runs.

It knows no web framework, no command line and no message protocol. `follow` watches its runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ...config.load import database_url
from ...config.schema import Settings
from ...config.tables.server import KeyLimits
from ...core.decision import FINAL
from ...errors import NotFound, Running, StoreError, UsageError
from ...files.read import read_files
from ...providers.registry import Providers
from ...run.batch import Batch
from ...run.handle import RunHandle
from ...run.leases.lease import is_held
from ...run.options.key_limits import effective_limits
from ...run.options.request import RunRequest
from ...run.options.resolve import resolve
from ...run.resources import check_providers
from ...run.runner import Runner
from ...run.spec import Spec
from ...run.worker import Worker
from ...store.queue import Queue, open_queue
from ...store.records import runs as store
from ..access.permissions import Permissions
from ..records.runs import RunRecords
from ..render.conversation import earlier_turns, next_turn
from .attendance import Attendance
from .capacity import Capacity
from .reading_turns import ReadingTurns

if TYPE_CHECKING:
    from ...telemetry.log import JsonLog
    from ...telemetry.open import Telemetry

__all__ = ["DRAIN_S", "RunService"]

DRAIN_S = 8.0
"""Seconds for which calls in flight continue after a server or worker stops; the process ends within 10 s."""


class RunService(RunRecords):
    """The runs of one process, and the stored records.

    `start` and `resume` run in this process and return a handle. `submit` and `submit_resume` are for
    external requests: they check capacity and limits, pass the run to a worker if there is a queue, and
    return the run's id. queue: the queue of runs for workers; None: runs run here. telemetry: what operators
    see of the process; None: nothing.
    """

    def __init__(
        self, runner: Runner, queue: Queue | None = None, telemetry: Telemetry | None = None
    ) -> None:
        super().__init__(runner.database)
        self.runner, self.settings, self.queue = runner, runner.settings, queue
        self.stored_limits: Mapping[str, KeyLimits] = {}
        self.capacity = Capacity(runner, self, queued=queue is not None)
        self.attendance = Attendance(runner)
        self.telemetry = telemetry
        if telemetry is not None:
            runner.resources.observer = telemetry.announce
            telemetry.watch(runner)
        self.reading = ReadingTurns(lambda: self.draining)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        *,
        providers: Providers | None = None,
        queued: bool = False,
        worker: bool = False,
        log: JsonLog | None = None,
        embedded: bool = False,
        create: bool = True,
    ) -> AsyncIterator[Self]:
        """Open the service on the configured database; on exit, its runs are interrupted and saved.

        providers: default is the configured ones. queued: open the database's queue too. worker: whether this
        process is a `pnyx worker`. log: where its runs are logged. embedded: whether the process
        is a program that uses pnyx as a library. create, errors: as for `Database.open`.
        """
        async with (
            _open_telemetry(settings, log, embedded) as telemetry,
            open_queue(database_url(settings)) if queued else nullcontext() as queue,
            Runner.open(settings, providers, worker=worker, create=create) as runner,
        ):
            service = cls(runner, queue, telemetry)
            try:
                yield service
            finally:
                service.attendance.close()

    @property
    def redact(self) -> Callable[[str], str]:
        """A function that masks the secrets of the settings in a text."""
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
        """Pause every run, and any that starts later; calls in flight have `grace_s` seconds to finish."""
        self.runner.drain(grace_s)

    async def drained(self) -> None:
        """Wait until every run of this process has ended, after `drain`."""
        await self.runner.drained()

    def key_limits(self, owner: str) -> KeyLimits:
        """Return the limits of the key of an owner."""
        return effective_limits(self.settings, owner, self.stored_limits.get(owner))

    def permissions(self, owner: str) -> Permissions:
        """Return what the key of an owner may use."""
        return Permissions(self.settings, owner, self.key_limits(owner))

    async def resolve(
        self,
        request: RunRequest,
        owner: str,
        alias: str | None = None,
        *,
        local: bool = False,
        conversation: str | None = None,
    ) -> Spec:
        """Return the spec of an external request, within the limits that the settings have for such requests.

        alias: the name of `[serve.models]` that the request gives as its model. local: whether it may name
        files of this machine, in the folders of `[tools.file_read] roots`. conversation: the one of which the
        run is a turn. Raises `UsageError`, `Forbidden`, `NotFound`, `ConfigError`.
        """
        saved = None if request.panel is None else self.settings.saved_panel(request.panel)
        if saved is None or saved.budget is None or (request.budget_usd or 0) > saved.budget:
            self.check_budget(request.budget_usd)
        for ref in (*request.models, *filter(None, [request.judge])):
            provider, _, model = ref.partition(":")
            # A path would reveal which files this machine has, and load any of them.
            if "/" in model and self.settings.provider(provider).kind == "embedded":
                raise UsageError(f"{ref[:80]!r}: this server accepts model names, not paths")
        if request.tools and not self.settings.tools.enabled:
            raise UsageError("tools are off on this server; set [tools] enabled to turn them on")
        if request.files:
            # What is not allowed is refused before addresses are fetched.
            without = resolve(replace(request, files=()), self.settings, owner=owner)
            self.permissions(owner).check(without, alias)
        read = await read_files(request.files, self.settings.context, roots=self._roots() if local else None)
        request = replace(request, files=read.files)
        spec = resolve(request, self.settings, owner=owner, conversation=conversation)
        self.permissions(owner).check(spec, alias, request.panel)
        return spec

    async def resolve_next(self, request: RunRequest, owner: str, prefix: str) -> Spec:
        """Return the spec of the next turn after a run: its seats read the earlier turns as material.

        prefix: of the id of that run. Raises as `resolve`, and `UsageError` if that run has no answer.
        """
        row = await self.find(prefix, owner)
        turns = await self.turns(row.id, owner) if row.conversation else [await self.summary(row.id, owner)]
        turns = turns[: 1 + next(n for n, turn in enumerate(turns) if turn.row.id == row.id)]
        if not turns[-1].result.answer:
            raise UsageError(f"run {row.id} has no answer that a question could follow")
        seats = (await self.resolve(replace(request, files=()), owner)).seats
        name = row.conversation or await self.begin_conversation(row.id)
        request = replace(request, context=earlier_turns(turns, seats))
        return next_turn(await self.resolve(request, owner, conversation=name), row)

    def _roots(self) -> list[Path]:
        return [Path(root).expanduser() for root in self.settings.tools.file_read.roots]

    def check_budget(self, budget_usd: float | None) -> None:
        """Raise `UsageError` for a budget above the configured cap per run."""
        most = self.settings.budget.run_usd
        if budget_usd is not None and most is not None and budget_usd > most:
            raise UsageError(f"budget_usd must be at most ${most:g} on this server, not ${budget_usd:g}")

    def check_providers(self, spec: Spec) -> None:
        """Raise `UsageError` or `ConfigError` for a run that could not start, before it costs anything."""
        spec.check()
        check_providers(spec, self.runner.resources.providers)

    async def start(self, spec: Spec) -> RunHandle:
        """Start a run in this process. Raises `UsageError`, `ConfigError`, `StoreError`."""
        return await self.runner.start(spec)

    async def resume(self, prefix: str, **changes: Any) -> RunHandle:
        """Resume a run in this process. changes, errors: as for `Runner.resume`."""
        return await self.runner.resume(prefix, **changes)

    async def submit(self, spec: Spec, name: str | None = None) -> str:
        """Start the run of an external request, or queue it for a worker. Return its id.

        name, errors: as for `Runner.get_or_start`, and `Full`.
        """
        if name is not None:
            with suppress(NotFound):
                row = await self.runner.find_named(spec, name, exactly=True)
                if row.status in FINAL or is_held(row):
                    return row.id  # nothing starts, so no capacity is needed
        async with self.capacity.hold(self.key_limits(spec.owner), spec):
            try:
                if self.queue is not None:
                    run_id = await self.runner.enqueue(spec, name)
                    return await self._enqueue(self.queue, run_id, spec.owner)
                if name is not None:
                    return (await self.runner.get_or_start(spec, name, exactly=True)).run_id
                return (await self.runner.start(spec)).run_id
            except Running as exc:
                if name is None:
                    raise
                return exc.run_id

    async def submit_resume(
        self,
        prefix: str,
        owner: str,
        *,
        budget_usd: float | None = None,
        deadline_s: float | None = None,
        fork: bool = False,
    ) -> str:
        """Resume a run for an external request, or queue it for a worker. Return its id.

        Arguments and errors as for `Runner.resume`. Also raises `UsageError` for a budget above the cap, and
        `Full`.
        """
        self.check_budget(budget_usd)
        row = await self.find(prefix, owner)
        if row.status in FINAL and not fork:
            return row.id
        changes: dict[str, Any] = {"budget_usd": budget_usd, "deadline_s": deadline_s, "fork": fork}
        spec = Spec.from_json(row.check().spec, row.id)
        async with self.capacity.hold(self.key_limits(spec.owner), spec, row.id):
            if self.queue is not None:
                run_id = await self.runner.requeue(prefix, owner=owner, **changes)
                return await self._enqueue(self.queue, run_id, owner)
            return (await self.runner.resume(prefix, owner=owner, **changes)).run_id

    async def cancel(self, prefix: str, owner: str | None = None) -> str:
        """Cancel a run, in whichever process it runs. Return its id. Raises `NotFound`, `Running`."""
        return await self.runner.cancel(prefix, owner)

    async def pause(self, run_id: str) -> None:
        """Pause a run; this or another process can resume it."""
        await self.runner.pause(run_id)

    def abandon(self, run_id: str, *, pause: bool = False) -> None:
        """Cancel or pause a run whose client has left, in the background."""
        self.runner.forget(run_id, pause)

    def handle(self, run_id: str) -> RunHandle | None:
        """Return the handle of a run of this process, or None."""
        return self.runner.find(run_id)

    def batch(self, name: str, *, current: bool = False) -> Batch:
        """Return a batch: many runs, one name, one budget. current: do not reuse answers to older prompts."""
        return Batch(self.runner, name, current=current)

    async def delete(self, prefix: str, owner: str | None = None) -> store.RunRow:
        """As of the records. The key may start runs again at once, if it had used up its storage."""
        row = await super().delete(prefix, owner)
        self.capacity.quota.forget(row.owner)
        return row

    def worker(self, note: Callable[[str], None], problem: Callable[[str], None]) -> Worker:
        """Return the worker of this process. note, problem: print a line for the operator."""
        assert self.queue is not None, "a worker is opened with `queued`"
        return Worker(self.runner, self.queue, self.settings.worker.concurrency, note, problem)

    async def _enqueue(self, queue: Queue, run_id: str, owner: str) -> str:
        # A lost job only delays the run: workers also look for waiting runs every few seconds.
        with suppress(StoreError):
            await queue.defer(run_id, owner)
        return run_id


@asynccontextmanager
async def _open_telemetry(
    settings: Settings, log: JsonLog | None, embedded: bool
) -> AsyncIterator[Telemetry | None]:
    """Open what observes a process, None if nothing does. On exit, what waits is passed on."""
    if log is None and not (settings.telemetry.otlp or settings.telemetry.prometheus):
        yield None
        return
    # Most processes are observed by nobody.
    from ...telemetry.open import Telemetry

    telemetry = Telemetry(settings, log, embedded)
    try:
        yield telemetry
    finally:
        await telemetry.close()
