"""The ledger: the cap, the spending and the reservations of each scope, as functions of a connection.

A refused write raises; the engine rolls back that write alone.
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

from ..core.models import NUSD, money
from ..errors import OutOfBudget
from .prepared import Prepared
from .schema import ledger

__all__ = ["Account", "Exhausted", "open_account", "read_account", "reserve", "settle"]


NO_CAP = 2**62
"""nUSD, more than any amount."""


@dataclass(frozen=True, slots=True)
class Account:
    """The cap, spending and reservations of one scope (run:ID, day:DATE, batch:ID, key:NAME), in nUSD."""

    scope: str
    cap_nusd: int | None
    spent_nusd: int
    reserved_nusd: int

    def within(self, cap_nusd: int | None) -> Account:
        """Return the account with the lower of its own cap and this one."""
        caps = [cap for cap in (self.cap_nusd, cap_nusd) if cap is not None]
        return replace(self, cap_nusd=min(caps, default=None))

    def fits(self, amount: int) -> bool:
        return self.cap_nusd is None or self.spent_nusd + self.reserved_nusd + amount <= self.cap_nusd


class Exhausted(OutOfBudget):
    """Raised if `account` has no room for `amount` nUSD."""

    def __init__(self, account: Account, amount: int) -> None:
        super().__init__(f"{account.scope} has no room for a call of up to {money(amount / NUSD)}")
        self.account, self.amount = account, amount


def open_account(connection: Connection, scope: str, cap_nusd: int | None) -> None:
    """Create the account, or set the cap of the existing one."""
    connection.execute(_OPEN, {"scope": scope, "cap": cap_nusd})


def read_account(connection: Connection, scope: str) -> Account:
    """Return the account, or an empty one if it does not exist."""
    row = connection.execute(select(ledger).where(ledger.c.scope == scope)).first()
    return Account(*row) if row else Account(scope, None, 0, 0)


def reserve(connection: Connection, caps: Mapping[str, int | None], amount: int) -> None:
    """Reserve `amount` nUSD in every scope, or in none.

    caps: scope -> cap in nUSD. They apply besides the stored cap, which another process may have removed.
    Raises `Exhausted` with the account that is full.
    """
    own_caps = {f"own_{n}": NO_CAP if cap is None else cap for n, cap in enumerate(caps.values())}
    values = _scope_values(caps) | own_caps | {"amount": amount}
    _lock_accounts(connection, len(caps), values)
    reserved = {scope for (scope,) in _reserve_statement(len(caps))(connection, values)}
    missing = {
        scope: read_account(connection, scope).within(caps[scope]) for scope in sorted(caps.keys() - reserved)
    }
    for account in missing.values():
        if not account.fits(amount):
            raise Exhausted(account, amount)
    # An account with room in which nothing was reserved does not exist yet, such as that of a new day.
    for scope in missing:
        open_account(connection, scope, caps[scope])
        reserve(connection, {scope: caps[scope]}, amount)


def settle(connection: Connection, scopes: Sequence[str], reserved: int, charged: int) -> None:
    """Replace a reservation by the charge, both in nUSD."""
    values = _scope_values(scopes) | {"amount": reserved, "charged": charged}
    _lock_accounts(connection, len(scopes), values)
    _settle_statement(len(scopes))(connection, values)


_OPEN = text(
    "INSERT INTO ledger (scope, cap_nusd, spent_nusd, reserved_nusd) VALUES (:scope, :cap, 0, 0) "
    "ON CONFLICT (scope) DO UPDATE SET cap_nusd = excluded.cap_nusd"
)


def _scope_values(scopes: Iterable[str]) -> dict[str, Any]:
    return {f"scope_{n}": scope for n, scope in enumerate(scopes)}


def _in_scopes(n: int) -> ColumnElement[bool]:
    # A list of unknown length would be compiled again on every execution.
    return or_(*(ledger.c.scope == bindparam(f"scope_{i}") for i in range(n)))


def _lock_accounts(connection: Connection, n: int, values: Mapping[str, Any]) -> None:
    """Lock the rows in one order, that of the day first, since every call uses it.

    An update locks rows in the order in which it finds them, so two that share two accounts could deadlock.
    SQLite needs no locks: it has one writer at a time.
    """
    if connection.dialect.name == "postgresql":
        _lock_statement(n)(connection, values)


@cache
def _lock_statement(n: int) -> Prepared:
    order = (ledger.c.scope.not_like(literal_column("'day:%'")), ledger.c.scope)
    return Prepared(select(ledger.c.scope).where(_in_scopes(n)).order_by(*order).with_for_update())


@cache
def _reserve_statement(n: int) -> Prepared:
    """Return the statement that reserves an amount where it fits, of n accounts; it returns their scopes."""
    used = ledger.c.spent_nusd + ledger.c.reserved_nusd + bindparam("amount")
    caps = [bindparam(f"own_{i}", type_=BigInteger) for i in range(n)]
    return Prepared(
        update(ledger)
        .where(
            or_(*(and_(ledger.c.scope == bindparam(f"scope_{i}"), used <= caps[i]) for i in range(n))),
            or_(ledger.c.cap_nusd.is_(None), used <= ledger.c.cap_nusd),
        )
        .values(reserved_nusd=ledger.c.reserved_nusd + bindparam("amount"))
        .returning(ledger.c.scope)
    )


@cache
def _settle_statement(n: int) -> Prepared:
    return Prepared(
        update(ledger)
        .where(_in_scopes(n))
        .values(
            reserved_nusd=ledger.c.reserved_nusd - bindparam("amount"),
            spent_nusd=ledger.c.spent_nusd + bindparam("charged"),
        )
    )
