"""The library door: `pnyx.ask`, `pnyx.stream` and one synchronous wrapper."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from ..core.events import Event
from ..core.text import Material
from ..providers.own import Brought
from ..providers.registry import Providers
from ..run.given import Response
from ..run.request import build
from ..run.result import Result
from ..run.runner import Runner
from ..run.spec import Spec
from ..settings import Settings
from .opening import open_settings

__all__ = ["aggregate", "ask", "ask_sync", "deliberate", "stream"]


async def ask(
    question: str,
    *,
    panel: Sequence[str] = (),
    protocol: str | None = None,
    providers: Mapping[str, Brought] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
    context: Sequence[Material] = (),
    preset: str | None = None,
    roles: Mapping[str, str] | None = None,
    cast: str | None = None,
    responses: Iterable[Response] = (),
    ground: bool = False,
    tools: bool | None = None,
    budget_usd: float | None = None,
    deadline_s: float | None = None,
    seed: int | None = None,
    **options: Any,
) -> Result:
    """Put one question to a panel and return the decision with its record.

    panel: model references, "provider:model" or "provider:model*N"; default: the configured one.
    providers: objects of one's own by name, beside the configured ones; each needs no more than
    `async def complete(self, call) -> str`, see `pnyx.Provider` for all it can do. settings: default
    is what the command line would use. runner: one to share between calls; else one is opened and
    closed. preset: "quick" or "deep". cast: "diverse" or "redteam", a role for every seat. responses:
    answers that exist already, for the protocols that take such. ground: search the web first. budget_usd
    in USD, deadline_s in seconds. options: those of the protocol, such as `rounds=2`.

    A run that fails, pauses or is cancelled says so in `status` and `stop_reason`; what stops it
    from being recorded, or a request that makes no sense, raises `PnyxError`.
    """

    def spec(settings: Settings) -> Spec:
        return build(
            settings,
            question,
            panel=panel,
            protocol=protocol,
            preset=preset,
            roles=roles,
            cast=cast,
            context=context,
            responses=responses,
            ground=ground,
            tools=tools,
            budget_usd=budget_usd,
            deadline_s=deadline_s,
            seed=seed,
            options=options,
        )

    if runner is not None:
        return await (await runner.start(spec(runner.settings))).result()
    chosen = (settings or open_settings()).with_own(providers or ())
    async with Runner.open(chosen, Providers(chosen, extra=providers)) as own:
        return await (await own.start(spec(chosen))).result()


async def aggregate(question: str, *, responses: Iterable[Response] = (), **request: Any) -> Result:
    """Blind peer review of answers, those in `responses` or the panel's own; the rest as in `ask`.

    responses: of mappings {"answer", "reasoning", "source"}; answer alone is enough. Given answers cost
    no call; one seat is enough to review them, and `aggregators="each"` has every seat do it.
    """
    return await ask(question, protocol="aggregate", responses=responses, **request)


async def deliberate(question: str, *, responses: Iterable[Response] = (), **request: Any) -> Result:
    """A debate of the seats where answers differ, those in `responses` or the panel's own; as `aggregate`.

    The first response is taken for the first seat's answer, and so on.
    """
    return await ask(question, protocol="deliberate", responses=responses, **request)


async def stream(
    question: str,
    *,
    tokens: bool = True,
    providers: Mapping[str, Brought] | None = None,
    settings: Settings | None = None,
    options: Mapping[str, Any] | None = None,
    **request: Any,
) -> AsyncIterator[Event]:
    """The events of a run as they happen, `RunFinished` last; `request` as in `run.request.build`.

    tokens: also text as it arrives. Leaving the iteration early interrupts the run; what is
    recorded can be resumed.
    """
    chosen = (settings or open_settings()).with_own(providers or ())
    async with Runner.open(chosen, Providers(chosen, extra=providers)) as runner:
        handle = await runner.start(build(chosen, question, options=options, **request))
        async for event in handle.events(tokens=tokens):
            yield event
        await handle.result()


def ask_sync(question: str, **request: Any) -> Result:
    """`ask` for code without an event loop."""
    return asyncio.run(ask(question, **request))
