"""The person is asked for a budget that is missing or too small, where the client can show a form."""

from __future__ import annotations

from mcp_types import ElicitRequestFormParams

from ...config.schema import Settings
from ...core.events import Budget
from ...core.models import NUSD, money
from ...errors import UsageError
from ...run.spec import Spec
from ...run.spending.exhaustion import reason, rounded_cap, sufficient_cap
from ...run.spending.expectation import expect
from ..requests.json_body import Amount, Body
from ..views.records import Record
from .peer import Peer

__all__ = ["ask_for_budget", "ask_for_more", "sufficient_budget"]

KEY = "budget"
"""The name of the question, for a client of 2026."""
AMPLE = 2
"""Under a cap of so many times its expected cost, a run usually finishes (docs/budgets.md)."""


class Form(Body):
    """What the person fills in."""

    budget_usd: Amount


async def ask_for_budget(peer: Peer, spec: Spec, settings: Settings) -> float | None:
    """Ask for the budget of a run that no cap covers. None: it needs none, or the client cannot be asked.

    A run without known prices needs none: no cap could be kept. Raises `UsageError` if the person gives no
    budget, and `InputNeeded`.
    """
    caps = settings.budget
    if spec.budget_usd is not None or not peer.can_elicit:
        return None
    if (caps.day_usd, caps.key_usd) != (None, None):
        return None
    expected = expect(spec)
    if expected is None or not expected.cost:
        return None
    text = (
        f"A panel of {len(spec.seats)} models is to answer by {spec.protocol}. It is expected to cost about "
        f"{money(expected.cost / NUSD)}, and has no budget. How much may it cost at most?"
    )
    suggested = float(rounded_cap(AMPLE * expected.cost))
    budget, was_asked = await _ask(peer, text, suggested, caps.run_usd, None)
    if was_asked and budget is None:
        raise UsageError(
            "the run has not started, since the person gave no budget; call again with budget_usd, or set "
            "[budget] run_usd in the settings"
        )
    return budget


async def ask_for_more(peer: Peer, record: Record, settings: Settings) -> float | None:
    """Ask for a larger budget for a run that its budget has paused. None: there is none.

    Raises `UsageError` for an answer that is no budget, and `InputNeeded`.
    """
    cap, most = sufficient_budget(record), settings.budget.run_usd
    if cap is None or (most is not None and cap > most):
        return None
    spent = money(record.result.usage["cost_usd"])
    text = f"The run has cost {spent} and stopped. {_reason(record)}. How much may the whole run cost?"
    return (await _ask(peer, text, cap, most, record.row.id))[0]


def sufficient_budget(record: Record) -> float | None:
    """A budget of its own with which a run that it has paused goes on; None for any other run."""
    event = _exhausted(record)
    return None if event is None else float(sufficient_cap(event))


def _exhausted(record: Record) -> Budget | None:
    """The event of the run's own budget that paused it."""
    if record.result.status != "paused" or record.result.stop_reason != "budget":
        return None
    events = (event for event in reversed(record.events) if isinstance(event, Budget))
    event = next((event for event in events if event.kind == "exhausted"), None)
    return event if event is not None and event.scope.startswith("run:") else None


def _reason(record: Record) -> str:
    event = _exhausted(record)
    assert event is not None
    return reason(event)


async def _ask(
    peer: Peer, text: str, suggested: float, most: float | None, state: str | None
) -> tuple[float | None, bool]:
    """Return the person's budget, and whether the client could ask. most: the cap in the settings."""
    amount = {
        "type": "number",
        "title": "Budget in USD",
        "description": "The run pauses before it costs more.",
        "default": suggested,
        "minimum": 0,
    }
    if most is not None:
        amount["maximum"] = most
    form = {"type": "object", "properties": {"budget_usd": amount}, "required": ["budget_usd"]}
    answer = await peer.elicit(KEY, ElicitRequestFormParams(message=text, requested_schema=form), state)
    if answer is None:
        return None, False
    if answer.action != "accept":
        return None, True
    return Form.parse(answer.content or {}).budget_usd, True
