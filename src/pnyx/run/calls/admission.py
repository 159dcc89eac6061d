"""Admission: whether a call may be sent now, how much it may cost, or what it must wait for.

A call is admitted if it has room in every account. In the accounts that runs share, the room is what is left
without the holds of the runs that go first: those that have begun before those that have not, and of these
the older ones. A run is begun if what it is expected to cost has room. Why this is so, and what it costs:
design/money.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from ...store.money import holds, ledger
from ...store.money.holds import Hold, IsAlive, Others
from ...store.money.ledger import Account, Exhausted

__all__ = ["Need", "Refusal", "Request", "admit"]


@dataclass(frozen=True, slots=True)
class Request:
    """What a call may cost, in nUSD: at its usual limit of output, and at lower ones.

    enough: at a limit that few replies reach; a call that has room only for less waits if room may come.
    least: at the lowest useful limit.
    """

    most: int
    enough: int
    least: int


@dataclass(frozen=True, slots=True)
class Need:
    """What must have room in a shared account before a run is begun, in nUSD.

    behind: while runs that go first are under way. alone: without any.
    """

    behind: int
    alone: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that has no room, and why. scope: of the account to wait for; None: waiting does not help."""

    scope: str | None
    error: Exhausted


class _Room(NamedTuple):
    """The room for a run's next call in one account, and what must fit in it, in nUSD.

    left: without the holds of runs that go first. may_grow: calls are in flight or such runs are under way,
    which may cost less than is set aside for them.
    """

    account: Account
    left: float
    may_grow: bool
    need: int = 0

    def fits(self, request: Request) -> bool:
        return self.left >= max(self.need, request.enough if self.may_grow else request.least)


def admit(
    connection: Connection,
    caps: Mapping[str, int | None],
    own: str,
    request: Request,
    hold: Hold | None = None,
    need: Need | None = None,
    is_alive: IsAlive = lambda worker, heartbeat_at: False,
) -> int | Refusal:
    """Reserve between `request.least` and `request.most` nUSD in every account; return the amount.

    caps: scope -> cap in nUSD. own: the scope of the run. hold: what the run is expected to need under the
    caps that it shares. need: None if the run is begun.
    """
    accounts = ledger.reserve(connection, caps, request.most)
    if hold is not None:
        holds.keep(connection, hold)
    in_flight = any(account.reserved_nusd > 0 for account in accounts if account.scope == own)
    rooms = []
    for account in accounts:
        scope = None if hold is None else hold.scopes.get(account.scope)
        if hold is None or scope is None:
            rooms.append(_Room(account, account.left, in_flight))
            continue
        behind, alone = (need.behind, need.alone) if need else (0, 0)
        # Without this, every call would read the runs of all holds, of which there may be a thousand.
        if account.left - holds.total(connection, scope) >= max(request.most, behind):
            rooms.append(_Room(account, account.left, True, behind))
            continue
        found: Others = holds.others(connection, hold.run_id, scope, need is None, is_alive)
        may_grow = in_flight or found.first > 0 or found.reserved > 0
        rooms.append(_Room(account, account.left - found.held, may_grow, behind if found.first else alone))
    short = [room for room in rooms if not room.fits(request)]
    amount = 0 if short else int(min(request.most, *(room.left for room in rooms)))
    if amount < request.most:
        ledger.settle(connection, list(caps), request.most - amount, 0)
    if not short:
        return amount
    tightest = min(short, key=lambda room: (room.may_grow, room.left))
    begins = tightest.need > 0 and tightest.left >= request.least
    error = Exhausted(tightest.account, request.most, tightest.need if begins else None)
    return Refusal(tightest.account.scope if tightest.may_grow else None, error)
