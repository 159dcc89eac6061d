"""What the routes share: the runner, the settings, and what this server allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request

from ...errors import Full, UsageError
from ...run.runner import Runner
from ...settings import Settings
from ...store import runs as store

__all__ = ["House", "house_of"]


@dataclass(eq=False)
class House:
    """redact: masks the secrets of the settings in a text."""

    runner: Runner
    settings: Settings
    redact: Callable[[str], str]
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
        if self.runner.active + self._beginning >= self.settings.serve.runs:
            raise Full(
                f"{self.settings.serve.runs} runs are under way, all that [serve] runs allows; ask later"
            )
        self._beginning += 1
        try:
            yield
        finally:
            self._beginning -= 1

    def check_budget(self, budget_usd: float | None) -> None:
        """Raises `UsageError` for more than the settings allow a run, whoever asks."""
        most = self.settings.budget.run_usd
        if budget_usd is not None and most is not None and budget_usd > most:
            raise UsageError(f"a run may cost ${most:g} on this server, not ${budget_usd:g}")

    async def find(self, prefix: str, owner: str) -> store.RunRow:
        """Raises `NotFound`."""
        return await self.runner.database.read(partial(store.find, prefix=prefix, owner=owner))


def house_of(request: Request) -> House:
    house: House = request.app.state.house
    return house
