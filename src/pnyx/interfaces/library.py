"""The library door: `pnyx.ask`, `pnyx.stream` and one synchronous wrapper."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ..core.events import Event
from ..core.text import Material
from ..providers.registry import Providers
from ..providers.seam import Provider
from ..run.request import build
from ..run.result import Result
from ..run.runner import Runner
from ..settings import Settings
from .opening import open_settings

__all__ = ["ask", "ask_sync", "stream"]


async def ask(
    question: str,
    *,
    panel: Sequence[str] = (),
    protocol: str | None = None,
    providers: Mapping[str, Provider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
    context: Sequence[Material] = (),
    preset: str | None = None,
    roles: Mapping[str, str] | None = None,
    budget_usd: float | None = None,
    deadline_s: float | None = None,
    seed: int | None = None,
    **options: Any,
) -> Result:
    """Put one question to a panel and return the decision with its record.

    panel: model references, "provider:model" or "provider:model*N"; default: the configured one.
    providers: ready-made provider objects by name, beside the configured ones. settings: default
    is what the command line would use. runner: one to share between calls; else one is opened and
    closed. preset: "quick" or "deep". budget_usd in USD, deadline_s in seconds. options: those of
    the protocol, such as `rounds=2`.

    A run that fails, pauses or is cancelled says so in `status` and `stop_reason`; what stops it
    from being recorded, or a request that makes no sense, raises `PnyxError`.
    """
    given = {"panel": panel, "protocol": protocol, "preset": preset, "roles": roles, "context": context}
    limits = {"budget_usd": budget_usd, "deadline_s": deadline_s, "seed": seed}
    if runner is not None:
        spec = build(runner.settings, question, **given, **limits, options=options)  # type: ignore[arg-type]
        return await (await runner.start(spec)).result()
    chosen = (settings or open_settings()).with_own(providers or ())
    async with Runner.open(chosen, Providers(chosen, extra=providers or {})) as own:
        spec = build(chosen, question, **given, **limits, options=options)  # type: ignore[arg-type]
        return await (await own.start(spec)).result()


async def stream(
    question: str,
    *,
    tokens: bool = True,
    providers: Mapping[str, Provider] | None = None,
    settings: Settings | None = None,
    options: Mapping[str, Any] | None = None,
    **request: Any,
) -> AsyncIterator[Event]:
    """The events of a run as they happen, `RunFinished` last; `request` as in `run.request.build`.

    tokens: also text as it arrives. Leaving the iteration early interrupts the run; what is
    recorded can be resumed.
    """
    chosen = (settings or open_settings()).with_own(providers or ())
    async with Runner.open(chosen, Providers(chosen, extra=providers or {})) as runner:
        handle = await runner.start(build(chosen, question, options=options, **request))
        async for event in handle.events(tokens=tokens):
            yield event
        await handle.result()


def ask_sync(question: str, **request: Any) -> Result:
    """`ask` for code without an event loop."""
    return asyncio.run(ask(question, **request))
