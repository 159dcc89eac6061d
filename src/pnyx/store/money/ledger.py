"""The ledger: the cap, the spending and the reservations of each scope, as functions of a connection.

A refused write raises; the engine rolls back that write alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import inf
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, literal_column, or_, select, text, update

from ...core.models import NUSD, money
from ...errors import OutOfBudget
from ..prepared import Prepared
from ..schema import ledger

__all__ = ["Account", "Exhausted", "open_account", "read_account", "reserve", "settle"]


class Account(NamedTuple):
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
        return self._replace(cap_nusd=cap_nusd)

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


def reserve(connection: Connection, caps: Mapping[str, int | None], amount: int) -> tuple[Account, ...]:
    """Reserve `amount` nUSD in the accounts of these scopes. Return the accounts as they were before.

    The caller finds out whether there was room, and gives back what was too much with `settle`; no other
    transaction sees or changes the accounts until this one ends.

    caps: scope -> cap in nUSD. They apply besides the stored cap, which another process may have removed. An
    account that does not exist yet, such as that of a new day, is created.
    """
    rows = {row[0]: row for row in _change(connection, caps, amount, 0)}
    if missing := sorted(caps.keys() - rows.keys()):
        for scope in missing:
            open_account(connection, scope, caps[scope])
        rows |= {row[0]: row for row in _change(connection, missing, amount, 0)}
    accounts = (Account(*rows[scope]).within(cap) for scope, cap in caps.items())
    return tuple(one._replace(reserved_nusd=one.reserved_nusd - amount) for one in accounts)


def settle(connection: Connection, scopes: Sequence[str], reserved: int, charged: int) -> None:
    """Replace a reservation by the charge, both in nUSD."""
    _change(connection, scopes, -reserved, charged)


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


def _change(connection: Connection, scopes: Iterable[str], reserved: int, spent: int) -> Sequence[Any]:
    """Add to what is reserved and spent in every scope, and return the rows."""
    values = _scope_values(scopes)
    statement = _change_statement(len(values), connection.dialect.name == "postgresql")
    return statement(connection, values | {"reserved": reserved, "spent": spent})


@cache
def _change_statement(n: int, locks: bool) -> Prepared:
    """locks: lock the rows in one order, that of the day first, since every call uses it.

    An update locks rows in the order in which it finds them, so two that share two accounts could deadlock.
    SQLite needs no locks: it has one writer at a time.
    """
    chosen = _in_scopes(n)
    if locks:
        order = (ledger.c.scope.not_like(literal_column("'day:%'")), ledger.c.scope)
        locked = select(ledger.c.scope).where(chosen).order_by(*order).with_for_update().cte("locked")
        chosen = ledger.c.scope == locked.c.scope
    changed = {
        "reserved_nusd": ledger.c.reserved_nusd + bindparam("reserved"),
        "spent_nusd": ledger.c.spent_nusd + bindparam("spent"),
    }
    return Prepared(update(ledger).where(chosen).values(changed).returning(*ledger.c))
