"""Parts for tests of run/: seats, a provider that replies by a rule, a performer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.core.events import Event
from pnyx.core.models import Price, Seat, Usage
from pnyx.core.protocol import Protocol
from pnyx.providers.base import Call, Completion
from pnyx.providers.redaction import Redactor
from pnyx.run.broadcast import Broadcast
from pnyx.run.calls.limits import Deadline, Gate, Limits
from pnyx.run.context import RunContext
from pnyx.run.journal import Journal
from pnyx.run.performer import Performer
from pnyx.run.result import Summary
from pnyx.run.spec import Spec
from pnyx.run.spending.budget import RunBudget
from pnyx.store import Database
from pnyx.store.records import leases
from pnyx.store.records import runs as store
from pnyx.times import now

PRICE = Price(1.0, 4.0)
LIMITS = Limits(30.0, 100, 0)


class ProcessKilled(BaseException):
    """Simulates the end of the process: nothing catches it."""


class Host:
    """A provider that replies by `rule`. sent, answered: the prompts so far.

    die_before: the number of the request before which the process ends; None: never.
    """

    def __init__(
        self, rule: Callable[[Call], str | Exception], *, die_before: int | None = None, pause: float = 0.0
    ) -> None:
        self.rule, self.die_before, self.pause = rule, die_before, pause
        self.sent: list[str] = []
        self.answered: list[str] = []

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        if self.die_before is not None and len(self.sent) >= self.die_before:
            raise ProcessKilled
        prompt = call.messages[-1].text
        self.sent.append(prompt)
        await asyncio.sleep(self.pause)
        text = self.rule(call)
        if isinstance(text, Exception):
            raise text
        self.answered.append(prompt)
        if on_text is not None:
            on_text(text)
        return Completion(text, Usage(len(call.prompt) // 4 + 1, 0, len(text) // 4 + 1, 0))

    async def close(self) -> None:
        pass


class Hosts:
    """Replaces `providers.registry.Providers`: existing providers by name."""

    def __init__(self, **hosts: Host) -> None:
        self.hosts = hosts
        self.redact = self.redact_replies = Redactor()

    def get(self, name: str) -> Host:
        return self.hosts[name]

    def check(self, names: Iterable[str], beyond_text: Collection[str] = ()) -> None:
        pass

    async def close(self) -> None:
        pass


def seats(*models: str, price: Price | None = PRICE, **more: Any) -> tuple[Seat, ...]:
    return tuple(Seat(f"Participant {chr(65 + i)}", m, price=price, **more) for i, m in enumerate(models))


async def performer(
    database: Database,
    host: Host,
    panel: tuple[Seat, ...],
    *,
    run_id: str = "r",
    limits: Limits = LIMITS,
    seen: list[Event] | None = None,
) -> Performer:
    """Return the performer of a run, which is created, or taken over with its journal if it exists."""
    spec = Spec(question="Q?", protocol="single", seats=panel, limits=limits)
    budget = RunBudget(run_id, {"run": None, "day": None})
    past: Sequence[Event] = await database.read(lambda c: store.log(c, run_id))
    if not await database.read(lambda c: store.listing(c, limit=1000)):
        row = store.RunRow.new(run_id, spec.owner, now(), spec.protocol, spec.question, spec.to_json())
        await database.write(lambda c: store.create(c, row))
    epoch = await database.write(lambda c: leases.take(c, run_id, "test", now()))
    await database.write(lambda c: budget.open(c, now()))
    summary = Summary()

    def publish(event: Event, seq: int | None) -> None:
        if seen is not None:
            seen.append(event)

    context = RunContext(
        run_id=run_id,
        spec=spec,
        journal=Journal(database, run_id, epoch, past=past, observe=summary.add, publish=publish),
        budget=budget,
        summary=summary,
        broadcast=Broadcast(database, run_id, past),
        deadline=Deadline(None),
        gates={seat.provider: Gate(16) for seat in panel},
        open_provider=lambda name: host,
    )
    context.write_off()
    return Performer(context)


async def open_database(folder: Path, name: str = "runs.db") -> Database:
    return await Database.open(folder / name)


def registry(*protocols: Protocol) -> Mapping[str, Protocol]:
    return {p.name: p for p in protocols}
