"""What the runs of a process share: tools, providers, their circuit breakers, latencies and limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from ..config.schema import Settings
from ..config.stored_keys import ENVIRONMENT
from ..core.events import Event
from ..core.models import REVISION
from ..core.steps import Schema
from ..errors import ConfigError
from ..protocols.shared import grounding
from ..providers.installed import address, key_variables
from ..providers.registry import Providers
from ..store import Database
from ..tools import Toolbox
from ..tools.open import open_tools
from .broadcast import Broadcast
from .calls.circuit_breaker import CircuitBreakers
from .calls.hedging import Hedging
from .calls.host_search import TOOL as SEARCH
from .calls.host_search import missing_search_note, seats_without_search
from .calls.limits import Deadline, Gate
from .calls.turns import StoredTurns
from .calls.warm_up import WarmUp
from .context import RunContext
from .halting import StopRequests
from .journal import Inherited, Journal
from .observer import Observer, RunEvent, RunIdentity, renewed
from .result import Summary
from .spec import Spec
from .spending.budget import RunBudget, nusd
from .spending.claim import Claim
from .spending.waiting import Waiting

__all__ = ["RunResources", "check_providers"]


def check_providers(spec: Spec, providers: Providers) -> None:
    """Raise `ConfigError` for all that the providers of the seats lack, such as keys."""
    seats, images = spec.callable_seats, any(file.is_image for file in spec.files)
    beyond_text = {
        seat.provider for seat in seats if spec.tools or _has_loose_schema(spec) or (images and seat.images)
    }
    providers.check((seat.provider for seat in seats), beyond_text)


def _has_loose_schema(spec: Spec) -> bool:
    """Whether the answer is to have a form that only the SDKs can request."""
    if spec.answer_schema is None:
        return False
    # Few runs have a schema, and what writes requests takes long to import.
    from ..providers.hosted.plain import is_strict

    return not is_strict(Schema.of("answer", spec.answer_schema))


class RunResources:
    """The resources of a process. providers: the caller closes them. observer: of all runs."""

    def __init__(self, settings: Settings, providers: Providers, database: Database) -> None:
        self.settings, self.providers = settings, providers
        self.observer: Observer | None = None
        self.toolbox = Toolbox()
        self.gates = _Gates(settings, database if database.is_server else None)
        self.hedging = Hedging()
        self.circuits = CircuitBreakers()
        self.waiting = Waiting()
        self.warm_up = WarmUp()

    async def prepare(self, spec: Spec) -> tuple[str, ...]:
        """Open the run's tools. Return notes about tools that are off, and why.

        Raises `ConfigError` if providers of seats lack something, such as their keys, or if grounding has no
        search: before any call costs money.
        """
        check_providers(spec, self.providers)
        without_search = await seats_without_search(spec.seats, self.providers.get) if spec.searches else ()
        needed = (*spec.tools, grounding.TOOL) if spec.ground else spec.tools
        if spec.searches and not without_search:
            needed = tuple(name for name in needed if name != SEARCH)
        notes: tuple[str, ...] = ()
        if missing := [name for name in needed if name not in self.toolbox.tools]:
            opened, notes = await asyncio.to_thread(open_tools, self.settings.tools, ENVIRONMENT, missing)
            self.toolbox = Toolbox({**self.toolbox.tools, **opened.tools})
        if spec.ground and grounding.TOOL not in self.toolbox.tools:
            raise ConfigError(f'"ground" needs a search service; {notes[-1]}')
        if without_search:
            notes = (*notes, missing_search_note(without_search, SEARCH in self.toolbox.tools))
        return notes

    def missing_tools(self, spec: Spec) -> set[str]:
        """Return the run's tools that are not available here. Hosts that search need no search tool."""
        return set(spec.tools) - self.toolbox.tools.keys() - ({SEARCH} if spec.searches else set())

    def context(
        self,
        run_id: str,
        spec: Spec,
        epoch: int,
        database: Database,
        *,
        past: Sequence[Event] = (),
        inherited: Mapping[str, Inherited] | None = None,
        used_s: float = 0.0,
        notes: tuple[str, ...] = (),
    ) -> RunContext:
        """Return the context of a prepared run. past: its stored events. inherited: see `Journal`.

        used_s: seconds of its deadline that have passed already.
        """
        summary = Summary()
        broadcast = Broadcast(database, run_id, past, self._observe(RunIdentity.of(run_id, spec)))
        stop_requests = StopRequests()
        journal = Journal(
            database,
            run_id,
            epoch,
            past=past,
            inherited=inherited,
            by_name=spec.revision < REVISION,
            observe=summary.add,
            publish=broadcast.publish,
            on_stop=stop_requests.request,
            payer=spec.payer,
        )
        calls = int(summary.usage["calls"])
        return RunContext(
            run_id=run_id,
            spec=spec,
            journal=journal,
            budget=RunBudget(run_id, spec.caps, spec.search_price, Claim.of(run_id, spec, calls > 0)),
            summary=summary,
            broadcast=broadcast,
            deadline=Deadline.after(None if spec.deadline_s is None else spec.deadline_s - used_s),
            gates=self.gates,
            open_provider=self.providers.get,
            past=past,
            notes=notes,
            # A tool that is open for another run is not available to this one, whatever its models request.
            toolbox=self.toolbox.only((*spec.tools, grounding.TOOL) if spec.ground else spec.tools),
            hedging=self.hedging,
            warm_up=self.warm_up,
            circuits=self.circuits,
            redact=self.providers.redact,
            redact_text=self.providers.redact_replies,
            stop_requests=stop_requests,
            spent_nusd=nusd(summary.cost.known_usd),
            waiting=self.waiting,
            settled_calls=calls - len(journal.in_flight()),
            observer=self.observer,
            propagate=self.settings.telemetry.propagate,
        )

    def traced(self, spec: Spec, here: bool = True) -> Spec:
        """Return the spec of a run that is about to start, with its request and its spans.

        here: whether it starts in this process, and not in a worker.
        """
        trace = renewed(spec.trace, traced=self.settings.telemetry.otlp, here=here)
        return spec if trace == spec.trace else replace(spec, trace=trace)

    def _observe(self, identity: RunIdentity) -> Callable[[Event, int | None], object] | None:
        if (observer := self.observer) is None:
            return None
        return lambda event, seq: observer(RunEvent(identity, event, seq))


class _Gates(dict[str, Gate]):
    """One gate per configured provider, created on first use. Raises `ConfigError` for an unknown one.

    shared: the database whose processes share the rates of hosts.
    """

    def __init__(self, settings: Settings, shared: Database | None) -> None:
        super().__init__()
        self._settings, self._shared = settings, shared

    def __missing__(self, name: str) -> Gate:
        provider = self._settings.provider(name)
        source = None if self._shared is None else StoredTurns(self._shared, self._row(name))
        self[name] = Gate(provider.concurrency, provider.requests_per_minute, source)
        return self[name]

    def _row(self, name: str) -> str:
        """Return the name of the row of a provider's host and key. The key cannot be found from it."""
        variables = key_variables(self._settings.provider(name))
        key = next((ENVIRONMENT[one] for one in variables if ENVIRONMENT.get(one)), "")
        host = address(self._settings, name) or name
        return sha256(f"{host}\n{key}".encode()).hexdigest()[:16]
