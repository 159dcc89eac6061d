"""The ledger: the cap, the spending and the reservations of each scope, as functions of a connection.

A refused write raises; the engine rolls back that write alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    literal_column,
    or_,
    select,
    text,
    update,
)

from ...core.models import NUSD, money
from ...errors import OutOfBudget
from ..prepared import Prepared
from ..schema import ledger

__all__ = ["Account", "Exhausted", "lock", "open_account", "read_account", "reserve", "settle"]


@dataclass(frozen=True, slots=True)
class Account:
    """The cap, spending and reservations of one scope, in nUSD.

    scope: run:ID, day:DATE, batch:ID, key:NAME or key-day:NAME:DATE.
    """

    scope: str
    cap_nusd: int | None
    spent_nusd: int
    reserved_nusd: int

    def within(self, cap_nusd: int | None) -> Account:
        """Return the account with the lower of its own cap and this one."""
        if cap_nusd is None or (self.cap_nusd is not None and self.cap_nusd <= cap_nusd):
            return self
        return replace(self, cap_nusd=cap_nusd)

    @property
    def left(self) -> float:
        """What is neither spent nor reserved, in nUSD; infinite without a cap, below 0 after an overrun."""
        return inf if self.cap_nusd is None else self.cap_nusd - self.spent_nusd - self.reserved_nusd


class Exhausted(OutOfBudget):
    """Raised if `account` has no room for a call that may cost `amount` nUSD.

    expected: nUSD that the run is expected to cost, if it was not begun because of that; else None.
    """

    def __init__(self, account: Account, amount: int, expected: int | None = None) -> None:
        super().__init__(f"{account.scope} has no room for a call of up to {money(amount / NUSD)}")
        self.account, self.amount, self.expected = account, amount, expected


def open_account(connection: Connection, scope: str, cap_nusd: int | None) -> None:
    """Create the account, or set the cap of the existing one."""
    _OPEN(connection, {"scope": scope, "cap": cap_nusd})


def read_account(connection: Connection, scope: str) -> Account:
    """Return the account, or an empty one if it does not exist."""
    row = connection.execute(select(ledger).where(ledger.c.scope == scope)).first()
    return Account(*row) if row else Account(scope, None, 0, 0)


def lock(connection: Connection, caps: Mapping[str, int | None]) -> tuple[Account, ...]:
    """Return the accounts of these scopes, which no other transaction changes until this one ends.

    caps: scope -> cap in nUSD. They apply besides the stored cap, which another process may have removed. An
    account that does not exist yet, such as that of a new day, is created.
    """
    rows = {row[0]: row for row in _lock_accounts(connection, caps)}
    if missing := caps.keys() - rows.keys():
        for scope in sorted(missing):
            open_account(connection, scope, caps[scope])
        # Read again: another transaction may have created and used it in between.
        rows = {row[0]: row for row in _lock_accounts(connection, caps)}
    return tuple(Account(*rows[scope]).within(cap) for scope, cap in caps.items())


def reserve(connection: Connection, scopes: Sequence[str], amount: int) -> None:
    """Reserve `amount` nUSD in every scope. The caller has locked the accounts, and found room in each."""
    _reserve_statement(len(scopes))(connection, _scope_values(scopes) | {"amount": amount})


def settle(connection: Connection, scopes: Sequence[str], reserved: int, charged: int) -> None:
    """Replace a reservation by the charge, both in nUSD."""
    if connection.dialect.name == "postgresql":
        _lock_accounts(connection, scopes)
    values = _scope_values(scopes) | {"amount": reserved, "charged": charged}
    _settle_statement(len(scopes))(connection, values)


_OPEN = Prepared(
    text(
        "INSERT INTO ledger (scope, cap_nusd, spent_nusd, reserved_nusd) VALUES (:scope, :cap, 0, 0) "
        "ON CONFLICT (scope) DO UPDATE SET cap_nusd = excluded.cap_nusd"
    )
)


def _scope_values(scopes: Iterable[str]) -> dict[str, Any]:
    return {f"scope_{n}": scope for n, scope in enumerate(scopes)}


def _in_scopes(n: int) -> ColumnElement[bool]:
    # A list of unknown length would be compiled again on every execution.
    return or_(*(ledger.c.scope == bindparam(f"scope_{i}") for i in range(n)))


def _lock_accounts(connection: Connection, scopes: Iterable[str]) -> Sequence[Any]:
    """Return the rows, locked in one order, that of the day first, since every call uses it.

    An update locks rows in the order in which it finds them, so two that share two accounts could deadlock.
    SQLite needs no locks: it has one writer at a time.
    """
    values = _scope_values(scopes)
    return _lock_statement(len(values))(connection, values)


@cache
def _lock_statement(n: int) -> Prepared:
    order = (ledger.c.scope.not_like(literal_column("'day:%'")), ledger.c.scope)
    return Prepared(select(ledger).where(_in_scopes(n)).order_by(*order).with_for_update())


@cache
def _reserve_statement(n: int) -> Prepared:
    return Prepared(
        update(ledger).where(_in_scopes(n)).values(reserved_nusd=ledger.c.reserved_nusd + bindparam("amount"))
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
