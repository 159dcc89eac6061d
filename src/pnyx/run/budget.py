"""The money of one run: what a call may cost, what it did cost, and the caps it must fit under.

Reserve before dispatch, settle after. Every amount is held in all scopes at once (the run, the
day, a batch), atomically in the database, so that no cap is passed however many processes share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from ..core.events import Budget, CallStarted
from ..core.models import NUSD, Price, Seat, Usage
from ..core.text import estimate_tokens
from ..store import ledger

__all__ = ["Bill", "RunBudget", "audit", "budget_event", "nusd", "usd"]

OVERHEAD_TOKENS = 32
"""What a host's chat template adds to a prompt, at most, in tokens."""

SEARCH_TOKENS = 10_000
"""What a search by a host adds to the input, about, in tokens."""


def usd(nusd: int | None) -> float | None:
    return None if nusd is None else nusd / NUSD


@dataclass(frozen=True, slots=True)
class Bill:
    """What a call is charged; cost_nusd None: unknown price. flag: why its usage was not believed."""

    usage: Usage
    cost_nusd: int | None
    flag: str | None = None


def audit(usage: Usage | None, input_tokens: int, output_tokens: int, spoke: bool) -> str | None:
    """Why reported usage cannot be believed, or None. The token counts are those of the reservation.

    Hosts count a little differently than we estimate; only what is impossible or four times beyond
    the reservation (and 10,000 tokens) is refused.
    """
    if usage is None or usage == Usage():
        return "missing"
    # A program's own provider may bring anything.
    counts: list[Any] = [getattr(usage, name, None) for name in Usage.__slots__]
    if any(type(n) is not int for n in counts):
        return "malformed"
    if min(counts) < 0:
        return "negative"
    if usage.input_tokens == 0 or (spoke and usage.output_tokens == 0):
        return "zero"
    if usage.cached_tokens > usage.input_tokens or usage.reasoning_tokens > usage.output_tokens:
        return "inconsistent"
    if usage.input_tokens > 4 * input_tokens + 10_000 or usage.output_tokens > 4 * output_tokens + 10_000:
        return "absurd"
    return None


def _input_tokens(prompt: str, searches: int) -> int:
    """Tokens that a request is charged for, at most: what was found is read again at each further search."""
    found = SEARCH_TOKENS * searches * (searches + 1) // 2
    return estimate_tokens(prompt) + OVERHEAD_TOKENS + found


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The accounts of one run. caps: scope -> USD or None; see `Spec.caps`.

    "run" stands for this run, "day" for the day of the call. search_price: USD for a search by a model's
    host, None when unknown.
    """

    run_id: str
    caps: Mapping[str, float | None]
    search_price: float | None = None

    @property
    def run_scope(self) -> str:
        return f"run:{self.run_id}"

    def accounts(self, time: str) -> dict[str, int | None]:
        """scope -> cap in nUSD of the accounts that a call begun at `time` (ISO 8601) is charged to."""
        named = {"run": self.run_scope, "day": f"day:{time[:10]}"}
        return {
            named.get(scope, scope): None if cap is None else round(cap * NUSD)
            for scope, cap in self.caps.items()
        }

    def quote(self, seat: Seat, prompt: str, max_tokens: int, searches: int = 0) -> int | None:
        """The most the call can cost, in nUSD; None when the price of the seat or a search is unknown."""
        found = self._cost(searches)
        if seat.price is None or found is None:
            return None
        return seat.price.ceiling(_input_tokens(prompt, searches), max_tokens) + found

    def open(self, connection: Connection, time: str) -> None:
        """Make the accounts, or give those that are there their caps."""
        for scope, cap in self.accounts(time).items():
            ledger.open_account(connection, scope, cap)

    def reserve(self, started: CallStarted) -> Callable[[Connection], None] | None:
        """The ledger's part of an intent; None for a call that costs nothing."""
        amount = nusd(started.reserved_usd)
        if not amount:
            return None
        accounts = self.accounts(started.time)
        return lambda connection: ledger.reserve(connection, accounts, amount)

    def settle(self, started: CallStarted, charged_nusd: int) -> Callable[[Connection], None] | None:
        """The ledger's part of an outcome."""
        reserved = nusd(started.reserved_usd)
        if not reserved and not charged_nusd:
            return None
        scopes = list(self.accounts(started.time))
        return lambda connection: ledger.settle(connection, scopes, reserved, charged_nusd)

    def overrun(self, started: CallStarted, charged_nusd: int, spent_nusd: int, time: str) -> Budget | None:
        """What to tell of a call that was billed beyond its reservation, else None.

        spent_nusd: by the run, this call included.
        """
        over = charged_nusd - nusd(started.reserved_usd)
        if over <= 0 or started.reserved_usd is None:
            return None
        cap = self.accounts(time)[self.run_scope]
        told = budget_event("overrun", ledger.Account(self.run_scope, cap, spent_nusd, 0), time)
        return replace(told, seat=started.seat, overrun_usd=over / NUSD)

    def bill(
        self,
        started: CallStarted,
        price: Price | None,
        usage: Usage | None,
        prompt: str,
        spoke: bool,
        searches: int | None = None,
    ) -> Bill:
        """What the finished call is charged: its usage at the price, or the reservation when that is odd.

        searches: as the host told them; where that is odd, those that were allowed are charged.
        """
        flag = audit(usage, _input_tokens(prompt, started.searches), started.max_tokens, spoke)
        if flag is not None or usage is None:
            reserved = None if started.reserved_usd is None else nusd(started.reserved_usd)
            return Bill(Usage(), reserved, flag)
        made = searches if started.searches else 0
        if type(made) is not int or not 0 <= made <= 4 * started.searches:
            flag = f"of searches {'missing' if made is None else 'absurd'}"
            made = started.searches
        found = self._cost(made)
        return Bill(usage, None if price is None or found is None else price.cost(usage) + found, flag)

    def _cost(self, searches: int) -> int | None:
        """What so many searches by a host cost, in nUSD, or None when that is unknown."""
        if not searches:
            return 0
        return None if self.search_price is None else searches * nusd(self.search_price)


def budget_event(kind: str, account: ledger.Account, time: str, next_usd: float | None = None) -> Budget:
    """The event that describes an account. kind, next_usd: see `Budget`."""
    cap = account.cap_nusd
    return Budget(
        time=time,
        kind=kind,
        scope=account.scope,
        spent_usd=account.spent_nusd / NUSD,
        reserved_usd=account.reserved_nusd / NUSD,
        cap_usd=None if cap is None else cap / NUSD,
        next_usd=next_usd,
    )


def nusd(amount: float | None) -> int:
    return round((amount or 0.0) * NUSD)
