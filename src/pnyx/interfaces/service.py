"""What the routes and the tools of MCP share: the runner, the settings, and what this server allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request

from ..config.schema import Settings
from ..errors import Full, NotFound, Running, StoreError, UsageError
from ..run.handle import FINAL
from ..run.lease import alive
from ..run.request import Asked
from ..run.runner import Runner
from ..run.spec import Spec
from ..store import runs as store
from ..store.queue import Queue

__all__ = ["House", "house_of"]


@dataclass(eq=False)
class House:
    """redact: masks the secrets of the settings in a text. queue: what runs are put into for workers."""

    runner: Runner
    settings: Settings
    redact: Callable[[str], str]
    queue: Queue | None = None
    _beginning: int = 0

    @property
    def draining(self) -> bool:
        return self.runner.stopping

    def owner(self, request: Request) -> str:
        """Whose key the request came with; `Access` has seen to it that there is one."""
        owner: str = request.scope["state"]["owner"]
        return owner

    @contextmanager
    def room(self) -> Iterator[None]:
        """Where a run is begun, which takes a place of those that `[serve] runs` allows. Raises `Full`."""
        if self.draining:
            raise Full("the server is stopping; ask again when it is back")
        # Those in the queue take no place here: they wait.
        if self.queue is None and self.runner.active + self._beginning >= self.settings.serve.runs:
            raise Full(
                f"{self.settings.serve.runs} runs are under way, all that [serve] runs allows; ask later"
            )
        self._beginning += 1
        try:
            yield
        finally:
            self._beginning -= 1

    async def begin(self, spec: Spec, name: str | None = None) -> str:
        """Begin a run, or leave it to a worker; its id. name, errors: as for `Runner.once`, and `Full`."""
        if name is not None:
            with suppress(NotFound):
                row = await self.runner.named(spec, name, exactly=True)
                if row.status in FINAL or alive(row.worker, row.heartbeat_at, time.time()):
                    return row.id  # which takes no place
        with self.room():
            try:
                if self.queue is not None:
                    return await self._told(self.queue, await self.runner.enqueue(spec, name))
                if name is not None:
                    return (await self.runner.once(spec, name, exactly=True)).run_id
                return (await self.runner.start(spec)).run_id
            except Running as exc:
                if name is None:
                    raise
                return exc.run_id  # under way, wherever that is

    async def resume(self, prefix: str, owner: str, **how: Any) -> str:
        """Go on with a run, or leave it to a worker; its id. how, and errors: as for `Runner.resume`."""
        row = await self.find(prefix, owner)
        if row.status in FINAL and not how.get("fork"):
            return row.id
        with self.room():
            if self.queue is not None:
                return await self._told(self.queue, await self.runner.requeue(prefix, owner=owner, **how))
            return (await self.runner.resume(prefix, owner=owner, **how)).run_id

    async def _told(self, queue: Queue, run_id: str) -> str:
        # What nobody was told of is found by the workers, a little later.
        with suppress(StoreError):
            await queue.defer(run_id)
        return run_id

    def check_budget(self, budget_usd: float | None) -> None:
        """Raises `UsageError` for more than the settings allow a run, whoever asks."""
        most = self.settings.budget.run_usd
        if budget_usd is not None and most is not None and budget_usd > most:
            raise UsageError(f"a run may cost ${most:g} on this server, not ${budget_usd:g}")

    def spec(self, asked: Asked, owner: str, **more: Any) -> Spec:
        """The run, within what the settings allow whoever asks from outside. more: as for `Asked.spec`.

        Raises `UsageError`, `NotFound`, `ConfigError`.
        """
        self.check_budget(asked.budget_usd)
        for ref in asked.models:
            provider, _, model = ref.partition(":")
            # A file's path would tell what there is on this machine, and have anything loaded.
            if "/" in model and self.settings.provider(provider).kind == "embedded":
                raise UsageError(f"{ref[:80]!r}: models of this server go by name, not by path")
        if asked.tools and not self.settings.tools.enabled:
            raise UsageError("tools are off on this server; [tools] enabled turns them on")
        return asked.spec(self.settings, owner=owner, **more)

    async def find(self, prefix: str, owner: str) -> store.RunRow:
        """Raises `NotFound`."""
        return await self.runner.database.read(partial(store.find, prefix=prefix, owner=owner))


def house_of(request: Request) -> House:
    house: House = request.app.state.house
    return house
