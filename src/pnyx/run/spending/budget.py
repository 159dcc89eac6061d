"""The budget of one run: what a call may cost, what it did cost, and the caps that apply.

A call is reserved before it is sent and settled after it. Every amount is booked in all scopes at once (run,
day, batch, key), in one transaction, so that no cap is exceeded however many processes share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, TypeAlias

from sqlalchemy import Connection

from ...core.events import Budget, CallStarted
from ...core.models import NUSD, Price, Seat, Usage
from ...store.money import holds, ledger
from ..calls.admission import Refusal, Request, admit
from .claim import Claim, is_alive_now

__all__ = [
    "Bill",
    "OutputLimits",
    "Quote",
    "Reservation",
    "RunBudget",
    "audit",
    "budget_event",
    "nusd",
    "usd",
]

OVERHEAD_TOKENS = 32
"""The most tokens that a host's chat template adds to a prompt."""

SEARCH_TOKENS = 10_000
"""About how many tokens a search by a host adds to the input."""


Quote: TypeAlias = Callable[[int], int | None]
"""Tokens of output -> the most that a call costs with them, in nUSD; None if its price is unknown."""


def usd(nusd: int | None) -> float | None:
    """Return an amount in nUSD as USD."""
    return None if nusd is None else nusd / NUSD


@dataclass(frozen=True, slots=True)
class Bill:
    """The charge for a call. cost_nusd: None if the price is unknown. flag: why its usage was rejected."""

    usage: Usage
    cost_nusd: int | None
    flag: str | None = None


_NOTHING = Usage()


def audit(usage: Usage | None, input_tokens: int, output_tokens: int, has_text: bool) -> str | None:
    """Return why reported usage is rejected, or None. The token counts are those of the reservation.

    Hosts count a little differently than our estimate. Only impossible counts are rejected, and those above
    four times the reservation plus 10,000 tokens. has_text: whether the reply has any.
    """
    if usage is None or usage == _NOTHING:
        return "missing"
    # A third-party provider may report anything.
    counts: list[Any] = [getattr(usage, name, None) for name in Usage.__slots__]
    if any(type(n) is not int for n in counts):
        return "malformed"
    if min(counts) < 0:
        return "negative"
    if usage.input_tokens == 0 or (has_text and usage.output_tokens == 0):
        return "zero"
    cached = usage.cached_tokens + usage.cache_write_tokens + usage.cache_write_1h_tokens
    if cached > usage.input_tokens or usage.reasoning_tokens > usage.output_tokens:
        return "inconsistent"
    if usage.input_tokens > 4 * input_tokens + 10_000 or usage.output_tokens > 4 * output_tokens + 10_000:
        return "absurd"
    return None


def _input_tokens(text: int, searches: int, images: int) -> int:
    """Return the most input tokens that a request is charged for. Each search reads all earlier results.

    text, images: the tokens of its text and of its images.
    """
    results = SEARCH_TOKENS * searches * (searches + 1) // 2
    return text + OVERHEAD_TOKENS + results + images


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """Limits of a call's output, in tokens: the usual one, one that few replies reach, the lowest useful."""

    most: int
    enough: int
    least: int

    @classmethod
    def only(cls, limit: int) -> OutputLimits:
        """No lower one will do."""
        return cls(limit, limit, limit)


@dataclass(frozen=True, slots=True)
class Reservation:
    """The limit of a call's output in tokens, and what is reserved for it in nUSD; None: unknown."""

    max_tokens: int
    amount: int | None


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The accounts of one run.

    caps: scope -> USD or None, where "run" is this run, "day" the day of the call, and "key-day:NAME" that
    day of a key; see `Spec.caps`.
    search_price: USD for a search by a model's host, None if unknown. claim: on the caps that it shares.
    """

    run_id: str
    caps: Mapping[str, float | None]
    search_price: float | None = None
    claim: Claim | None = None

    @property
    def run_scope(self) -> str:
        return f"run:{self.run_id}"

    @property
    def is_new(self) -> bool:
        """Whether the run shares a cap and has sent no call yet."""
        return self.claim is not None and not self.claim.begun

    def accounts(self, time: str) -> dict[str, int | None]:
        """Return scope -> cap in nUSD of the accounts that a call started at `time` (ISO 8601) uses."""
        day = time[:10]
        scopes = {"run": self.run_scope, "day": f"day:{day}"}
        scopes |= {scope: f"{scope}:{day}" for scope in self.caps if scope.startswith("key-day:")}
        return {
            scopes.get(scope, scope): None if cap is None else round(cap * NUSD)
            for scope, cap in self.caps.items()
        }

    def quote(self, seat: Seat, text: int, searches: int, images: int) -> Quote:
        """Return what gives the most that a call can cost. text, images: the tokens of these."""
        price, search_cost = seat.price, self._search_cost(searches)
        if price is None or search_cost is None:
            return lambda max_tokens: None
        input_tokens = _input_tokens(text, searches, images)
        return lambda max_tokens: price.ceiling(input_tokens, max_tokens) + search_cost

    def open(self, connection: Connection, time: str) -> None:
        """Create the accounts, or set the caps of existing ones."""
        for scope, cap in self.accounts(time).items():
            ledger.open_account(connection, scope, cap)

    def hold(self, connection: Connection, time: str, spent: int, calls: int) -> None:
        """Hold what the run is expected to need still, as soon as this process has it: a younger one may send
        its first call earlier. spent: nUSD, by the `calls` calls of the run that have ended.
        """
        if self.claim is not None:
            self.claim.look_up(connection)
            holds.keep(connection, self.claim.hold(self.accounts(time), spent, calls))

    def reserve(
        self,
        connection: Connection,
        time: str,
        quote: Quote,
        limits: OutputLimits,
        spent: int,
        calls: int,
    ) -> Reservation | Refusal:
        """Reserve the most that a call can cost, under the highest limit of its output that has room.

        spent: nUSD, by the `calls` calls of the run that have ended.
        """
        most = quote(limits.most)
        if not most:
            return Reservation(limits.most, most)
        caps, claim = self.accounts(time), self.claim
        need = None if claim is None else claim.need(connection)
        longer = 1.0 if claim is None else claim.longer
        enough = min(limits.most, ceil(limits.enough * longer))
        request = Request(most, *(quote(tokens) or 0 for tokens in (enough, limits.least)))
        hold = None if claim is None else claim.hold(caps, spent, calls)
        granted = admit(connection, caps, self.run_scope, request, hold, need, is_alive_now(connection))
        if isinstance(granted, Refusal):
            return granted
        if claim is not None:
            claim.begin()  # already for the calls that are sent with this one
        if granted >= most:
            return Reservation(limits.most, most)
        low, high = limits.least, limits.most
        while low < high:  # the most tokens that the granted amount pays for
            middle = (low + high + 1) // 2
            low, high = (middle, high) if (quote(middle) or 0) <= granted else (low, middle - 1)
        return Reservation(low, granted)

    def settle(self, started: CallStarted, charged_nusd: int) -> Callable[[Connection], None] | None:
        """Return the ledger write of an outcome; None if nothing was reserved or charged."""
        reserved = nusd(started.reserved_usd)
        if not reserved and not charged_nusd:
            return None
        scopes = list(self.accounts(started.time))
        return lambda connection: ledger.settle(connection, scopes, reserved, charged_nusd)

    def overrun(self, started: CallStarted, charged_nusd: int, spent_nusd: int, time: str) -> Budget | None:
        """Return the event for a call that was billed beyond its reservation, else None.

        spent_nusd: by the run, this call included.
        """
        over = charged_nusd - nusd(started.reserved_usd)
        if over <= 0 or started.reserved_usd is None:
            return None
        cap = self.accounts(time)[self.run_scope]
        event = budget_event("overrun", ledger.Account(self.run_scope, cap, spent_nusd, 0), time)
        return replace(event, seat=started.seat, overrun_usd=over / NUSD)

    def bill(
        self,
        started: CallStarted,
        price: Price | None,
        usage: Usage | None,
        text: int,
        has_text: bool,
        searches: int | None,
        images: int,
    ) -> Bill:
        """Return the charge for a finished call: its usage at the price; the reservation if that is rejected.

        text, images: the tokens of those of the request. has_text: whether the reply has any.
        searches: as reported by the host. An impossible number is replaced by the allowed one.
        """
        flag = audit(usage, _input_tokens(text, started.searches, images), started.max_tokens, has_text)
        if flag is not None or usage is None:
            reserved = None if started.reserved_usd is None else nusd(started.reserved_usd)
            return Bill(Usage(), reserved, flag)
        count = searches if started.searches else 0
        if type(count) is not int or not 0 <= count <= 4 * started.searches:
            flag = f"of searches {'missing' if count is None else 'absurd'}"
            count = started.searches
        search_cost = self._search_cost(count)
        cost = None if price is None or search_cost is None else price.cost(usage) + search_cost
        return Bill(usage, cost, flag)

    def _search_cost(self, searches: int) -> int | None:
        """Return what searches by a host cost, in nUSD, or None if unknown."""
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
    """Return an amount in USD as whole nUSD; an unknown one is 0."""
    return round((amount or 0.0) * NUSD)
