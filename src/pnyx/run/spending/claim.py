"""A run's claim on shared caps: what it holds against younger runs, and what it needs to begin."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from sqlalchemy import Connection

from ...core.models import NUSD
from ...core.protocol import Chosen
from ...store.clock import read_clock
from ...store.money import holds
from ...store.money.holds import Hold, IsAlive
from ...store.records.runs import WORKER
from ..calls.admission import Need
from ..leases.lease import is_alive, this_worker
from ..spec import Spec
from .expectation import Expectation, expect, expect_dearest, kind_of, panel_of

__all__ = ["SURE", "Claim", "is_alive_now", "known_factor", "learn_cost"]

SURE = 0.95
"""The share of its expected cost that must have room before a run is begun: an expectation is not exact."""
MARGIN = 2
"""Times its expected cost that a run may cost, since runs of one kind differ: behind others it begins with
room for that, and it holds that. While none of its kind has finished, it begins with room for as many times
its usual calls with the longest replies."""


def is_alive_now(connection: Connection) -> IsAlive:
    """Return what judges the leases of processes by the database's clock, which is read at most once."""
    time: float | None = None

    def judge(worker: str | None, heartbeat_at: float | None) -> bool:
        nonlocal time
        if worker is not None and worker.removeprefix(WORKER) == this_worker():
            return True
        time = read_clock(connection) if time is None else time
        return is_alive(worker, heartbeat_at, time)

    return judge


def learn_cost(
    connection: Connection,
    spec: Spec,
    spent: int,
    calls: int,
    actual: int | None = None,
    chosen: Chosen | None = None,
) -> None:
    """Learn from a run what others of its kind cost, and what their calls do, and those of the same models.

    spent: nUSD, by its `calls` calls. actual: nUSD that an unfinished run would have cost in all. chosen: see
    `expect`.
    """
    expected = expect(spec)
    course = expected if chosen is None else expect(spec, chosen)
    if expected and course and expected.cost:
        kind = kind_of(spec)
        holds.learn(connection, kind, expected.cost, spent if actual is None else actual)
        for of_calls in (holds.calls_of(kind), panel_of(spec)):
            holds.learn(connection, of_calls, round(course.first(calls)), spent)


def known_factor(connection: Connection, spec: Spec) -> float | None:
    """Return the cost of earlier runs as a share of what was expected of them; None without any.

    Of those of the same kind, or what the calls of the same models cost, or those of all.
    """
    for kind in (kind_of(spec), panel_of(spec)):
        if found := holds.factor(connection, kind):
            return found
    return holds.usual_factor(connection)


class Claim:
    """The claim of one run, for as long as this process runs it. begun: whether a call was sent.

    `Claim.of` returns None for a run that shares no cap or whose cost is unknown: it holds nothing.
    """

    def __init__(self, run_id: str, spec: Spec, expectation: Expectation, begun: bool) -> None:
        self.run_id, self.expectation, self.begun = run_id, expectation, begun
        self._course = expect_dearest(spec) or expectation
        self._chosen: Chosen | None = None
        self._cap = None if spec.budget_usd is None else round(spec.budget_usd * NUSD)
        self._spec, self._kind = spec, kind_of(spec)
        self._factor: float | None = None
        self._calls_factor = 0.0

    @classmethod
    def of(cls, run_id: str, spec: Spec, begun: bool) -> Claim | None:
        shares = any(cap is not None for scope, cap in spec.caps.items() if scope != "run")
        expectation = expect(spec) if shares else None
        return cls(run_id, spec, expectation, begun) if expectation and expectation.cost else None

    @property
    def longer(self) -> float:
        """How many times as long as usual the replies of earlier runs of the kind were: at least 1."""
        return max(1.0, self._course_factor or 1.0)

    @property
    def _course_factor(self) -> float | None:
        """What runs that take the course of this one cost as a share of what is expected; None: unknown."""
        if self._factor is None:
            return None
        # Earlier runs may have ended after a few of their usual calls, and this one may not. If a protocol is
        # chosen for each, what runs of the kind cost says nothing of those that it is chosen for.
        whole = 0.0 if self._chosen else self._factor * self.expectation.cost / self._course.cost
        return max(self._calls_factor, whole) or None

    def follow(self, chosen: Chosen) -> None:
        """Hold what the protocol needs that answers in place of that of the run, see `expect`."""
        self._course, self._chosen = expect(self._spec, chosen) or self.expectation, chosen

    def begin(self) -> None:
        """Note that a call is sent."""
        self.begun = True

    def hold(self, caps: Mapping[str, int | None], spent: int, calls: int) -> Hold:
        """Return the hold. caps: scope -> cap in nUSD. spent: nUSD, by the first `calls` calls."""
        own = f"run:{self.run_id}"
        shared = [scope for scope, cap in caps.items() if cap is not None and scope != own]
        course, factor = self._course, self._course_factor
        may_cost = ceil(MARGIN * course.total(spent, calls, factor))
        amount = max(course.remaining(spent, calls, factor), may_cost - spent)
        if self._cap is not None:
            amount = min(amount, max(self._cap - spent, 0))
        scopes = {scope: _without_day(scope) for scope in shared}
        return Hold(self.run_id, scopes, amount)

    def look_up(self, connection: Connection) -> None:
        """Find out what runs of the kind have cost."""
        self._factor = holds.factor(connection, self._kind)
        self._calls_factor = holds.factor(connection, holds.calls_of(self._kind)) or 0.0

    def need(self, connection: Connection) -> Need | None:
        """Return what must have room before the run is begun; None if it is."""
        if self.begun:
            return None
        self.look_up(connection)
        if self._factor is None:
            # Nothing is known of such runs yet. Behind others it waits until one of them ends, if in doubt.
            # If nobody else needs the room, it is tried.
            return Need(self._limit(MARGIN * self._course.most), 0)
        behind, alone = self._course.cost * (self._course_factor or 1.0), self.expectation.cost * self._factor
        return Need(self._limit(MARGIN * behind), self._limit(SURE * alone))

    def _limit(self, amount: float) -> int:
        return ceil(amount) if self._cap is None else min(ceil(amount), self._cap)

    def end(self, connection: Connection, spent: int, calls: int, finished: bool) -> None:
        """Give the hold up, and learn from the run. finished: False if it ran out of budget.

        spent: nUSD, by its `calls` calls.
        """
        holds.end(connection, self.run_id)
        if calls:
            actual = None if finished else ceil(self._course.total(spent, calls, self._course_factor))
            learn_cost(connection, self._spec, spent, calls, actual, self._chosen)


def _without_day(scope: str) -> str:
    """The scope of the holds in an account: "day" for "day:DATE", "key-day:NAME" for "key-day:NAME:DATE"."""
    dated = scope.startswith(("day:", "key-day:"))
    return scope.rpartition(":")[0] if dated else scope
