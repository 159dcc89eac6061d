"""The ledger: what each scope may spend, holds and has spent, as functions of a connection.

A write that is refused raises; the engine rolls it back alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    literal_column,
    or_,
    select,
    text,
    update,
)

from ..core.models import NUSD
from ..errors import OutOfBudget
from .prepared import Prepared
from .schema import ledger

__all__ = ["Account", "Exhausted", "open_account", "read_account", "reserve", "settle"]


NO_CAP = 2**62
"""nUSD, more than anything costs."""


@dataclass(frozen=True, slots=True)
class Account:
    """What one scope of the ledger (run:ID, day:DATE, batch:ID) may spend and has spent, in nUSD."""

    scope: str
    cap_nusd: int | None
    spent_nusd: int
    reserved_nusd: int

    def within(self, cap_nusd: int | None) -> Account:
        """The account, with this cap where it is the lower one."""
        caps = [cap for cap in (self.cap_nusd, cap_nusd) if cap is not None]
        return replace(self, cap_nusd=min(caps, default=None))

    def fits(self, amount: int) -> bool:
        return self.cap_nusd is None or self.spent_nusd + self.reserved_nusd + amount <= self.cap_nusd


_MORE = {"run": "`pnyx resume ID --budget USD` goes on with more"} | {
    kind: f"raise budget.{kind}_usd, then `pnyx resume ID` goes on" for kind in ("day", "batch", "key")
}
"""What to do about an account that is full, by its kind. ID is filled in where the run is known."""


class Exhausted(OutOfBudget):
    """`account` has no room for `amount` nUSD."""

    def __init__(self, account: Account, amount: int) -> None:
        used, cap = account.spent_nusd + account.reserved_nusd, account.cap_nusd or 0
        more = _MORE[account.scope.partition(":")[0]]
        super().__init__(
            f"the next call may cost ${amount / NUSD:.4f}; of the ${cap / NUSD:.4f} of {account.scope}, "
            f"${used / NUSD:.4f} is spent or reserved; {more}"
        )
        self.account = account


def open_account(connection: Connection, scope: str, cap_nusd: int | None) -> None:
    """Make the account, or give the one that is there its current cap."""
    connection.execute(_OPEN, {"scope": scope, "cap": cap_nusd})


def read_account(connection: Connection, scope: str) -> Account:
    """The account; an empty one where nothing was spent yet."""
    row = connection.execute(select(ledger).where(ledger.c.scope == scope)).first()
    return Account(*row) if row else Account(scope, None, 0, 0)


def reserve(connection: Connection, caps: Mapping[str, int | None], amount: int) -> None:
    """Hold `amount` nUSD in every scope, or in none. caps: scope -> nUSD, which hold whoever set the
    account's own since: another process may have none.

    Raises `Exhausted` with the account that is full.
    """
    own = {f"own_{n}": NO_CAP if cap is None else cap for n, cap in enumerate(caps.values())}
    holding = _named(caps) | own | {"amount": amount}
    _line_up(connection, len(caps), holding)
    held = {scope for (scope,) in _reserving(len(caps))(connection, holding)}
    missing = {
        scope: read_account(connection, scope).within(caps[scope]) for scope in sorted(caps.keys() - held)
    }
    for account in missing.values():
        if not account.fits(amount):
            raise Exhausted(account, amount)
    # What has room and was not held does not exist yet, such as the account of a new day.
    for scope in missing:
        open_account(connection, scope, caps[scope])
        reserve(connection, {scope: caps[scope]}, amount)


def settle(connection: Connection, scopes: Sequence[str], reserved: int, charged: int) -> None:
    """Turn a reservation into what was charged, nUSD."""
    settled = _named(scopes) | {"amount": reserved, "charged": charged}
    _line_up(connection, len(scopes), settled)
    _settling(len(scopes))(connection, settled)


_OPEN = text(
    "INSERT INTO ledger (scope, cap_nusd, spent_nusd, reserved_nusd) VALUES (:scope, :cap, 0, 0) "
    "ON CONFLICT (scope) DO UPDATE SET cap_nusd = excluded.cap_nusd"
)


def _named(scopes: Iterable[str]) -> dict[str, Any]:
    return {f"scope_{n}": scope for n, scope in enumerate(scopes)}


def _among(n: int) -> ColumnElement[bool]:
    # A list of unknown length would be written into the statement anew each time.
    return or_(*(ledger.c.scope == bindparam(f"scope_{i}") for i in range(n)))


def _line_up(connection: Connection, n: int, named: Mapping[str, Any]) -> None:
    """Take the accounts' locks in one order, the day's first, since every call has that one.

    An update takes them as it finds the rows, and two that share two accounts may then wait for each other.
    SQLite has one writer at a time.
    """
    if connection.dialect.name == "postgresql":
        _locking(n)(connection, named)


@cache
def _locking(n: int) -> Prepared:
    order = (ledger.c.scope.not_like(literal_column("'day:%'")), ledger.c.scope)
    return Prepared(select(ledger.c.scope).where(_among(n)).order_by(*order).with_for_update())


@cache
def _reserving(n: int) -> Prepared:
    """Holds an amount in those of n accounts that have room for it; gives their scopes."""
    used = ledger.c.spent_nusd + ledger.c.reserved_nusd + bindparam("amount")
    own = [bindparam(f"own_{i}", type_=BigInteger) for i in range(n)]
    return Prepared(
        update(ledger)
        .where(
            or_(*(and_(ledger.c.scope == bindparam(f"scope_{i}"), used <= own[i]) for i in range(n))),
            or_(ledger.c.cap_nusd.is_(None), used <= ledger.c.cap_nusd),
        )
        .values(reserved_nusd=ledger.c.reserved_nusd + bindparam("amount"))
        .returning(ledger.c.scope)
    )


@cache
def _settling(n: int) -> Prepared:
    return Prepared(
        update(ledger)
        .where(_among(n))
        .values(
            reserved_nusd=ledger.c.reserved_nusd - bindparam("amount"),
            spent_nusd=ledger.c.spent_nusd + bindparam("charged"),
        )
    )
