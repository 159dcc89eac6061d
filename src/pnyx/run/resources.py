"""What the runs of a process share: tools, hosts and how they fare, and how many calls each takes at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from ..config.schema import Settings
from ..core.events import CallFinished, Event
from ..errors import ConfigError
from ..protocols.shared import grounding
from ..providers.registry import Providers
from ..store import Database
from ..tools import Toolbox
from ..tools.open import open_tools
from .broadcast import Broadcast
from .budget import RunBudget, nusd
from .circuit_breaker import CircuitBreakers
from .context import RunContext
from .halting import StopRequests
from .hedging import Hedging
from .host_search import TOOL as SEARCH
from .host_search import note, searchless
from .journal import Journal
from .limits import Deadline, Gate
from .result import Summary
from .spec import Spec

__all__ = ["RunResources"]


class RunResources:
    """See the module. providers: are the caller's to close."""

    def __init__(self, settings: Settings, providers: Providers) -> None:
        self.settings, self.providers = settings, providers
        self.toolbox = Toolbox()
        self.gates = _Gates(settings)
        self.hedging = Hedging()
        self.circuits = CircuitBreakers()

    async def prepare(self, spec: Spec) -> tuple[str, ...]:
        """Open the run's tools and say which are off, and why.

        Raises now what a seat's provider lacks, such as its key, or the search that the run is to be
        grounded on: not after others were paid.
        """
        for seat in spec.seats:
            self.providers.get(seat.provider)
        lacking = await searchless(spec.seats, self.providers.get) if spec.searches else ()
        needed = (*spec.tools, grounding.TOOL) if spec.ground else spec.tools
        if spec.searches and not lacking:
            needed = tuple(name for name in needed if name != SEARCH)
        notes: tuple[str, ...] = ()
        if missing := [name for name in needed if name not in self.toolbox.tools]:
            opened, notes = await asyncio.to_thread(open_tools, self.settings.tools, os.environ, missing)
            self.toolbox = Toolbox({**self.toolbox.tools, **opened.tools})
        if spec.ground and grounding.TOOL not in self.toolbox.tools:
            raise ConfigError(f"--ground needs a search service; {notes[-1]}")
        return (*notes, note(lacking, SEARCH in self.toolbox.tools)) if lacking else notes

    def off(self, spec: Spec) -> set[str]:
        """Tools of the run that cannot be had here; a search is, where seats' hosts make it."""
        return set(spec.tools) - self.toolbox.tools.keys() - ({SEARCH} if spec.searches else set())

    def context(
        self,
        run_id: str,
        spec: Spec,
        epoch: int,
        database: Database,
        *,
        past: Sequence[Event] = (),
        inherited: Mapping[str, CallFinished] | None = None,
        notes: tuple[str, ...] = (),
    ) -> RunContext:
        """The context of a run that was prepared. past: its stored events. inherited: see `Journal`."""
        summary, broadcast = Summary(), Broadcast(database, run_id, past)
        stop_requests = StopRequests()
        journal = Journal(
            database,
            run_id,
            epoch,
            past=past,
            inherited=inherited,
            observe=summary.add,
            publish=broadcast.publish,
            on_stop=stop_requests.request,
        )
        return RunContext(
            run_id=run_id,
            spec=spec,
            journal=journal,
            budget=RunBudget(run_id, spec.caps, spec.search_price),
            summary=summary,
            broadcast=broadcast,
            deadline=Deadline.after(spec.deadline_s),
            gates=self.gates,
            open_provider=self.providers.get,
            past=past,
            notes=notes,
            # A tool opened for another run is not for this one, whatever its models ask for.
            toolbox=self.toolbox.only((*spec.tools, grounding.TOOL) if spec.ground else spec.tools),
            hedging=self.hedging,
            circuits=self.circuits,
            redact=self.providers.redact,
            redact_text=self.providers.redact_replies,
            stop_requests=stop_requests,
            spent_nusd=nusd(summary.cost.known_usd),
        )


class _Gates(dict[str, Gate]):
    """One gate per configured provider, made when first needed; an unknown provider is an error."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    def __missing__(self, name: str) -> Gate:
        provider = self._settings.provider(name)
        self[name] = Gate(provider.concurrency, provider.requests_per_minute)
        return self[name]
