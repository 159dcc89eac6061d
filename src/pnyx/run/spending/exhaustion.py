"""The messages for a budget that has no room for the next call: why, and what to do."""

from __future__ import annotations

from dataclasses import replace

from ...core.events import Budget
from ...core.models import NUSD, money
from ...errors import OutOfBudget
from ...store.money.ledger import Exhausted
from .budget import budget_event, nusd
from .expectation import Expectation

__all__ = [
    "BatchOutOfBudget",
    "batch_remedy",
    "budget_name",
    "exhausted_event",
    "raise_setting",
    "reason",
    "remedy",
    "rounded_cap",
    "sufficient_cap",
    "with_rest",
]

NAMES = {
    "run": "Budget",
    "day": "Daily budget",
    "batch": "Batch budget",
    "key": "Budget of this key",
    "key-day": "Daily budget of this key",
}
"""The name of an account for a person, by its kind; the page has them in web/src/debate/notes.ts."""


class BatchOutOfBudget(OutOfBudget):
    """Stops a run of a batch because another one found that a budget of both has no room. event: of that."""

    def __init__(self, event: Budget) -> None:
        super().__init__(reason(event))
        self.event = event

    def of_run(self, run_id: str, batch_own: bool, calls: int) -> str:
        """Return why a run was stopped after `calls` requests, and what to do. batch_own: as for `remedy`."""
        state = "the batch was stopped" if calls else "not begun, since the batch was stopped"
        return f"{state}: {self}. {remedy(self.event, run_id, batch_own)}"


def budget_name(event: Budget) -> str:
    """The budget that the event is about: "Daily budget"."""
    return NAMES[_kind(event)]


def exhausted_event(error: Exhausted, time: str) -> Budget:
    """The event for a call that does not fit, or a run that is not begun because all of it does not."""
    event = budget_event("exhausted", error.account, time, next_usd=error.amount / NUSD)
    return event if error.expected is None else replace(event, expected_usd=error.expected / NUSD)


def with_rest(event: Budget, expectation: Expectation | None, spent: int, calls: int) -> Budget:
    """`event` of a run's own budget with what the run still needs, so that one larger budget is enough.

    expectation: of the run; None if unknown. spent: nUSD, by its first `calls` calls. A run that has had its
    usual calls may take as long again.
    """
    if _kind(event) != "run" or expectation is None:
        return event
    needed = expectation.remaining(spent, calls, 1.0)
    if calls >= expectation.calls:
        needed = max(needed, spent)
    return replace(event, needed_usd=needed / NUSD)


def reason(event: Budget) -> str:
    """Return why the call was not sent: "Budget too small: the next call may cost up to $0.06 and …".

    Events of version 0.1 have no `next_usd`.
    """
    left = money(_left_nusd(event) / NUSD)
    call = "the next call"
    if event.expected_usd is not None:
        problem = f"the run is expected to cost {money(event.expected_usd)} and {left} is left"
    elif event.next_usd is None:
        problem = f"{call} costs more than the {left} that is left"
    else:
        problem = f"{call} may cost up to {money(event.next_usd)} and {left} is left"
    return f"{budget_name(event)} too small: {problem}"


def remedy(event: Budget, run_id: str, batch_own: bool) -> str:
    """Return how to continue the run. batch_own: the cap of its batch is a flag of the batch's command."""
    cap = sufficient_cap(event)
    resume = f"pnyx resume {run_id}"
    match _kind(event):
        case "run":
            return f"Resume with: {resume} --budget {cap}"
        case "batch" if batch_own:
            return f"Run the batch again with --budget {cap}"
    return f"{raise_setting(event)}. Resume with: {resume}"


def batch_remedy(event: Budget) -> str:
    """Return how to continue the batch that the event stops."""
    cap = sufficient_cap(event)
    if _kind(event) == "batch":
        return f"Run the same command again with --budget {cap}"
    return f"{raise_setting(event)}. Then run the same command again"


def raise_setting(event: Budget) -> str:
    """Return which setting to raise, and to what: "Raise budget.day_usd to at least 2.00, or wait …"."""
    kind = _kind(event)
    fits = max(nusd(event.next_usd), nusd(event.expected_usd)) <= nusd(event.cap_usd)
    wait = ", or wait until tomorrow (UTC)" if kind in ("day", "key-day") and fits else ""
    owner = event.scope.split(":")[1]
    setting = f"serve.keys.{owner}.day_usd" if kind == "key-day" else f"budget.{kind}_usd"
    return f"Raise {setting} to at least {sufficient_cap(event)}{wait}"


def sufficient_cap(event: Budget) -> str:
    """Return a cap in USD with room for the call and the run, as a person types it.

    It is what is spent and reserved, plus the call or the rest of the run, rounded up to 1, 2 or 5 times a
    power of ten.
    """
    needed = nusd(event.spent_usd) + nusd(event.reserved_usd)
    return rounded_cap(needed + max(nusd(event.next_usd), nusd(event.expected_usd), nusd(event.needed_usd)))


def rounded_cap(needed: int) -> str:
    """Return an amount in nUSD as USD, rounded up to 1, 2 or 5 times a power of ten, as a person types it."""
    power = 10 ** (len(str(needed)) - 1)
    cap = next(n * power for n in (1, 2, 5, 10) if n * power >= needed)
    if cap >= NUSD // 100:
        return f"{cap / NUSD:.2f}"
    return f"{cap / NUSD:.9f}".rstrip("0")


def _kind(event: Budget) -> str:
    return event.scope.partition(":")[0]


def _left_nusd(event: Budget) -> int:
    return max(nusd(event.cap_usd) - nusd(event.spent_usd) - nusd(event.reserved_usd), 0)
