"""A case tried two ways: with the provider alone, and in a whole run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pnyx.core.events import CallFailed, CallFinished, CallStarted, Event, SeatDropped, Token
from pnyx.core.models import Seat
from pnyx.core.steps import Schema
from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Completion, Message, ToolSpec
from pnyx.providers.hosted.provider import HostedProvider, open_hosted
from pnyx.run.calls.limits import Limits
from pnyx.run.result import Result
from pnyx.run.spec import Spec
from pnyx.run.spending.budget import nusd
from pnyx.store import Database
from tests.hosts.case import PRICE, Case
from tests.support.hosting import KEY
from tests.support.processes import Node, account_of
from tests.support.scripted import ScriptedHost

__all__ = ["Trial", "ask", "run", "script"]

QUESTION = "Is 7 prime?"


def script(host: ScriptedHost, case: Case, until: Callable[[], bool] | None = None) -> None:
    """Make the host send the replies of the case, and then proper ones; not before `until`."""
    for number, reply in enumerate(case.replies, 1):
        host.on(
            case.model, call=number, status=reply.status, headers=reply.headers, body=reply.body, until=until
        )


def open_provider(host: ScriptedHost, dialect: str) -> HostedProvider:
    base_url = getattr(host, dialect if dialect in ("anthropic", "google", "mistral") else "openai")
    return open_hosted(dialect, base_url=base_url, api_key=KEY)


async def ask(host: ScriptedHost, case: Case) -> tuple[Completion | ProviderError, str]:
    """The outcome of one call, and its text as it was streamed."""
    script(host, case)
    pieces: list[str] = []
    provider = open_provider(host, case.dialect)
    try:
        return await provider.complete(_call(case), pieces.append if case.stream else None), "".join(pieces)
    except ProviderError as exc:
        return exc, "".join(pieces)
    finally:
        await provider.close()


def _call(case: Case) -> Call:
    more: dict[str, Any] = {"max_tokens": 1000, **case.ask}
    if "schema" in more:
        more["schema"] = Schema.of("verdict", more["schema"])
    more["tools"] = tuple(ToolSpec(**tool) for tool in more.get("tools", ()))
    return Call(case.model, (Message("user", QUESTION),), **more)


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished run. spent, reserved: of its ledger, in nUSD."""

    result: Result
    log: Sequence[Event]
    tokens: str
    spent: int
    reserved: int

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.log if isinstance(event, kind)]

    @property
    def reservation(self) -> int:
        """The reservations of the requests that failed or whose usage was not accepted, in nUSD."""
        open_keys = {e.attempt for e in self.of(CallFailed) if e.charged_usd}
        open_keys |= {e.attempt for e in self.of(CallFinished) if e.usage_flag}
        return sum(nusd(e.reserved_usd) for e in self.of(CallStarted) if e.attempt in open_keys)

    @property
    def failures(self) -> str:
        """All that the events say of failures."""
        return "\n".join([e.message for e in self.of(CallFailed)] + [e.reason for e in self.of(SeatDropped)])


async def run(host: ScriptedHost, database: Database, case: Case) -> Trial:
    """A run of `single` with one seat, a price and a budget; watched as text arrives if the case streams."""
    # A watcher that is still reading the log when a reply is stored gets it whole, not as it arrives.
    watching = threading.Event()
    script(host, case, until=watching.is_set if case.stream else None)
    provider = open_provider(host, case.dialect)
    node = Node(database, provider)  # type: ignore[arg-type]
    seat = Seat("Participant A", f"h:{case.model}", price=PRICE, temperature=case.ask.get("temperature"))
    limits = Limits(30.0, case.ask.get("max_tokens", 1000), 3, seed=case.ask.get("seed"))
    spec = Spec(question=QUESTION, protocol="single", seats=(seat,), limits=limits, budget_usd=1.0)
    tokens: list[str] = []
    try:
        handle = await node.runner.start(spec)
        if case.stream:
            async for event in handle.events(tokens=True):
                watching.set()
                tokens += [event.text] if isinstance(event, Token) else []
        result = await handle.result()
        account = await account_of(node, handle.run_id)
        log = await node.log(handle.run_id)
    finally:
        await node.stop()
        await node.runner.ownership.keeper.close()
        await provider.close()
    return Trial(result, log, "".join(tokens), account.spent_nusd, account.reserved_nusd)
