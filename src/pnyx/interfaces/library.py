"""The library: ask, stream, resume, give feedback; and one synchronous wrapper."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from types import UnionType
from typing import Any

from pydantic import SkipValidation

from .. import protocols
from ..config.schema import Settings, nearest
from ..core.events import Event
from ..core.text import Material
from ..errors import UsageError
from ..providers.adapter import AnyProvider
from ..providers.registry import Providers
from ..run.handle import RunHandle
from ..run.request import OPTIONS, RunRequest
from ..run.resolve import Amount, check_arguments, resolve
from ..run.responses import Response
from ..run.result import Result
from ..run.runner import Runner
from .open_settings import open_settings
from .run_records import RunRecords
from .service import RunService

__all__ = ["aggregate", "ask", "ask_sync", "deliberate", "feedback", "open_runner", "resume", "stream"]

KEYWORDS = {option.keyword: name for name, option in OPTIONS.items() if option.keyword is not None}
"""Keyword argument -> option of `RunRequest`; any other keyword is an option of the protocol."""


async def ask(
    question: str,
    *,
    panel: Sequence[str] = (),
    protocol: str | None = None,
    options: Mapping[str, Any] | None = None,
    providers: Mapping[str, AnyProvider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
    context: Sequence[Material | str] = (),
    preset: str | None = None,
    roles: Mapping[str, str] | None = None,
    cast: str | None = None,
    responses: Iterable[Response] = (),
    ground: bool = False,
    rounds: int | None = None,
    tools: bool | None = None,
    budget_usd: float | None = None,
    deadline_s: float | None = None,
    seed: int | None = None,
    allow_unknown_price: bool = False,
    **more: Any,
) -> Result:
    """Ask a panel one question, and return the decision with its record.

    docs/requests.md describes the options; what is left out comes from the settings. panel: one reference may
    stand alone. options: of the protocol, which may also be keyword arguments of their own (`threshold=0.8`).
    context: texts, or `Material` with a label. responses: of `Response`. providers: your own by name, beside
    the configured ones; each needs only `async def complete(self, call) -> str`, see `pnyx.Provider`.
    settings: default is what the command line uses. runner: one to share between calls, which has settings
    and providers of its own; without it one is opened and closed.

    A run that fails, pauses or is cancelled says so in `status` and `stop_reason`. Raises `PnyxError` for a
    request that is wrong, or if the run cannot be recorded. Cancelling `ask` interrupts the run; it can be
    resumed.
    """
    request = dict(locals())  # every argument by its name
    request |= request.pop("more")
    async with _begun(**request) as handle:
        return await handle.result()


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


async def stream(question: str, *, tokens: bool = True, **request: Any) -> AsyncGenerator[Event, None]:
    """The events of a run as they happen, `RunFinished` last; `request` as in `ask`.

    tokens: also text as it arrives. Leaving the iteration early interrupts the run; what is
    recorded can be resumed.
    """
    async with _begun(question, **request) as handle:
        async for event in handle.events(tokens=tokens):
            yield event
        await handle.result()


def ask_sync(question: str, **request: Any) -> Result:
    """`ask` for code without an event loop. Raises `UsageError` where one is running."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise UsageError("an event loop is running here: `await pnyx.ask(…)` instead of pnyx.ask_sync")
    return asyncio.run(ask(question, **request))


async def resume(
    run_id: str,
    *,
    budget_usd: float | None = None,
    deadline_s: float | None = None,
    fork: bool = False,
    providers: Mapping[str, AnyProvider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
) -> Result:
    """Go on with a run that is paused or was killed, from its journal; one that is over is shown again.

    run_id: or a beginning of it that no other has. budget_usd: of the whole run, in place of what it had.
    deadline_s: seconds from now on; default: as many as before, from now on. fork: a new run that keeps
    every recorded reply whose question is still the same. The rest as in `ask`. Raises `NotFound`, and
    `Running` where another process is at it.
    """
    begin = _resuming(run_id, budget_usd=budget_usd, deadline_s=deadline_s, fork=fork)
    async with _opened(providers=providers, settings=settings, runner=runner) as chosen:
        handle = await begin(chosen)
        with _waited_for(handle):
            return await handle.result()


async def feedback(
    run_id: str,
    result: str,
    *,
    answer: str | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
) -> None:
    """Say what became of a decision, in place of what was said before; later runs learn from it.

    result: "success", "partial" or "failure". answer: the right one, where it is short. Raises `NotFound`,
    and `UsageError` for a run that decided nothing, or a success with another answer than the decision's.
    """
    keep = _judging(run_id, result, answer=answer)
    async with _opened(settings=settings, runner=runner) as chosen:
        await keep(chosen)


@asynccontextmanager
async def open_runner(
    settings: Settings | None = None, *, providers: Mapping[str, AnyProvider] | None = None
) -> AsyncIterator[Runner]:
    """What many runs share: settings, database, connections to hosts. For `runner=` of everything here.

    settings: default is what the command line would use. providers: as in `ask`; the runs cannot bring
    others. On leaving, runs that are under way are interrupted, and can be resumed.
    """
    _held("settings", settings, Settings | None, "what pnyx.load_settings() gives")
    _held("providers", providers, Mapping | None, "a mapping of names to objects")
    for name in providers or ():
        _held("a key of providers", name, str, "text")
    chosen = (settings or open_settings()).with_provider_objects(providers or ())
    async with RunService.open(chosen, providers=Providers(chosen, extra=providers)) as service:
        yield service.runner


def _held(name: str, value: object, kind: type | UnionType, need: str) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{name} must be {need}, not {value!r:.80}")


@asynccontextmanager
async def _opened(
    *,
    providers: Mapping[str, AnyProvider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
) -> AsyncIterator[RunService]:
    """The service on `runner`, or on a new one that is closed on leaving."""
    _held("runner", runner, Runner | None, "what pnyx.open_runner() gives as it is entered")
    if runner is not None:
        if providers or settings:
            raise UsageError("a runner has its own settings and providers: give them to pnyx.open_runner")
        yield RunService(runner)
        return
    async with open_runner(settings, providers=providers) as opened:
        yield RunService(opened)


@asynccontextmanager
async def _begun(
    question: str,
    *,
    providers: Mapping[str, AnyProvider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
    **request: Any,
) -> AsyncIterator[RunHandle]:
    """The run, by `runner` or one that is closed behind it; the request as in `ask`."""
    async with _opened(providers=providers, settings=settings, runner=runner) as chosen:
        options = request.pop("options", None)
        asked = _request(chosen.settings, options, question=question, **request)
        handle = await chosen.start(resolve(asked, chosen.settings))
        with _waited_for(handle):
            yield handle


@contextmanager
def _waited_for(handle: RunHandle) -> Iterator[None]:
    """While somebody waits for the run: nobody pays for it any longer, though its runner stays open."""
    try:
        yield
    finally:
        handle.interrupt()


@check_arguments
def _request(
    settings: SkipValidation[Settings], options: Mapping[str, Any] | None, **request: Any
) -> RunRequest:
    """The request of keyword arguments. Raises `UsageError` for an unknown name."""
    values = {KEYWORDS[name]: value for name, value in request.items() if name in KEYWORDS}
    own = {name: value for name, value in request.items() if name not in KEYWORDS}
    protocol = values.get("protocol")
    if protocol is None or isinstance(protocol, str):
        known = protocols.get(protocol or settings.run.protocol)
        for name in {**(options or {}), **own}:
            if name not in known.options:
                names = ", ".join(sorted(known.options)) or "none"
                hint = nearest(name, (*known.options, *KEYWORDS) if name in own else known.options)
                raise UsageError(f"{known.name} has no option {name!r}{hint}; it has: {names}")
    return RunRequest(options={**(options or {}), **own}, **values)


@check_arguments
def _resuming(
    run_id: str, *, budget_usd: Amount, deadline_s: Amount, fork: bool
) -> Callable[[RunService], Awaitable[RunHandle]]:
    """The checked arguments as a call of a service, which resumes a run."""
    return partial(RunService.resume, prefix=run_id, budget_usd=budget_usd, deadline_s=deadline_s, fork=fork)


@check_arguments
def _judging(run_id: str, result: str, *, answer: str | None) -> Callable[[RunRecords], Awaitable[object]]:
    """The checked arguments as a call of a service, which records feedback."""
    return partial(RunRecords.feedback, prefix=run_id, verdict=result, truth=answer)
