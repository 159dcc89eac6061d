"""The Python library: ask, stream, resume, record feedback, and a synchronous `ask`."""

from __future__ import annotations

import asyncio
import os
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
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import fields, replace
from functools import partial
from types import UnionType
from typing import Any, TypeAlias

from pydantic import SkipValidation

from ..config.schema import Settings
from ..core.context.files import File, Source
from ..core.events import Event
from ..core.text import Material
from ..errors import UsageError
from ..files.read import read_files
from ..providers.adapter import AnyProvider
from ..providers.registry import Providers
from ..run.handle import RunHandle
from ..run.options.request import OPTIONS, RunRequest
from ..run.options.resolve import Amount, check_arguments, find_protocol, resolve
from ..run.options.responses import Response
from ..run.result import Result
from ..run.runner import Runner
from ..similar import among
from ..store.records.labels import LabelChange
from .process.open_settings import open_settings
from .records.existing_database import existing_database
from .records.runs import RunRecords
from .requests.option_names import with_keywords
from .service.run_service import RunService

__all__ = [
    "aggregate",
    "ask",
    "ask_sync",
    "delete",
    "deliberate",
    "feedback",
    "open_runner",
    "resume",
    "stream",
    "tag",
]

FileArgument: TypeAlias = "str | os.PathLike[str] | bytes | Mapping[str, Any] | File"
"""A path, the bytes of a file, or a mapping of the fields of `Source`."""

SOURCE_KEYS = {field.name for field in fields(Source)}
KEYWORDS = {option.keyword: name for name, option in OPTIONS.items() if option.keyword is not None}
"""Keyword argument -> option of `RunRequest`; any other keyword is an option of the protocol."""


async def ask(
    question: str,
    *,
    panel: Sequence[str] = (),
    saved_panel: str | None = None,
    judge: str | None = None,
    protocol: str | None = None,
    options: Mapping[str, Any] | None = None,
    providers: Mapping[str, AnyProvider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
    context: Sequence[Material | str] = (),
    files: Sequence[FileArgument] = (),
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
    effort: str | None = None,
    thinking_tokens: int | None = None,
    efforts: Mapping[str, str | int] | None = None,
    language: str | None = None,
    instructions: str | None = None,
    answer_schema: Mapping[str, Any] | None = None,
    client_tools: Sequence[Mapping[str, Any]] = (),
    tool_choice: str | None = None,
    parallel_tool_calls: bool | None = None,
    allow_unknown_price: bool = False,
    **more: Any,
) -> Result:
    """Ask a panel one question and return the result.

    docs/requests.md describes the options; settings supply those left out. panel: model references, or a
    single one, or the name of a saved panel, as `saved_panel`. judge: the model that closes. options: of the
    protocol; each can also be a keyword argument (`threshold=0.8`). context: texts, or `Material` with a
    label. files: paths, bytes, or mappings {"name", "content" or "data" or "url" or "path"}, see
    docs/context.md. responses: existing answers, see `Response`. providers: name -> object, in addition to
    the configured ones; an object needs only `async def complete(self, call) -> str`, see `pnyx.Provider`.
    settings: default is those of the command line. runner: from `pnyx.open_runner`, to share between calls;
    it has its own settings and providers. Without it, each call opens and closes one.

    A run that fails, pauses or is cancelled returns a result; see its `status` and `stop_reason`. Raises
    `PnyxError` for an invalid request, or if the run cannot be recorded. Cancelling `ask` interrupts the run,
    which can be resumed.
    """
    request = dict(locals())  # every argument by its name
    request |= request.pop("more")
    async with _start_run(**request) as handle:
        return await handle.result()


async def aggregate(question: str, *, responses: Iterable[Response] = (), **request: Any) -> Result:
    """Blind peer review of answers, from `responses` or from the panel. The rest as in `ask`.

    responses: texts, or mappings {"answer", "reasoning", "source"} of which only the answer is required.
    Answers in `responses` cost no call, and one seat is enough to review them; with
    `aggregators="each"` every seat does.
    """
    return await ask(question, protocol="aggregate", responses=responses, **request)


async def deliberate(question: str, *, responses: Iterable[Response] = (), **request: Any) -> Result:
    """Debate where answers differ: `responses`, one a seat in order, or the panel's. Else as `aggregate`."""
    return await ask(question, protocol="deliberate", responses=responses, **request)


async def stream(question: str, *, tokens: bool = True, **request: Any) -> AsyncGenerator[Event, None]:
    """Ask a panel and yield the events of the run as they happen, `RunFinished` last. request: as in `ask`.

    tokens: also yield text as it arrives. Leaving the iteration early interrupts the run, which can be
    resumed.
    """
    async with _start_run(question, **request) as handle:
        async for event in handle.events(tokens=tokens):
            yield event
        await handle.result()


def ask_sync(question: str, **request: Any) -> Result:
    """`ask` for code without an event loop. Raises `UsageError` if one is running."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise UsageError("an event loop is running: use `await pnyx.ask(…)` instead of pnyx.ask_sync")
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
    """Resume a paused or killed run from its journal. A run that is over returns its result again.

    run_id: or a unique prefix of it. budget_usd: the new cap of the whole run. deadline_s: seconds from now;
    default: the same number as before, from now. fork: start a new run that reuses the recorded replies whose
    steps have not changed. The rest as in `ask`. Raises `NotFound`, and `Running` if another process is
    running it.
    """
    start = _resume_call(run_id, budget_usd=budget_usd, deadline_s=deadline_s, fork=fork)
    async with _open_service(providers=providers, settings=settings, runner=runner) as service:
        handle = await start(service)
        with _interrupt_on_exit(handle):
            return await handle.result()


async def feedback(
    run_id: str,
    result: str,
    *,
    answer: str | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
) -> None:
    """Record whether a decision was right, replacing earlier feedback. Later runs learn from it.

    result: "success", "partial" or "failure". answer: the right answer, if it is short. Raises `NotFound`,
    and `UsageError` for a run without a decision, or for a success whose `answer` differs from the decision.
    """
    record = _feedback_call(run_id, result, answer=answer)
    async with _open_service(settings=settings, runner=runner) as service:
        await record(service)


async def tag(
    run_id: str,
    *tags: str,
    remove: Sequence[str] = (),
    title: str | None = None,
    pinned: bool | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
) -> None:
    """Give a run tags or a title, or pin it; None leaves a label as it is, and "" removes the title.

    Lists show the title in place of the question. remove: tags to remove. Raises `NotFound`, `UsageError`.
    """
    change = _label_call(run_id, tags=tags, remove=remove, title=title, pinned=pinned)
    async with _open_service(settings=settings, runner=runner) as service:
        await change(service)


async def delete(run_id: str, *, settings: Settings | None = None, runner: Runner | None = None) -> None:
    """Delete a run for good: its question, answer and events. Its costs and its feedback are kept.

    Raises `NotFound`, and `Running` for a run that is under way: cancel it first.
    """
    remove = _delete_call(run_id)
    async with _open_service(settings=settings, runner=runner) as service:
        await remove(service)


@asynccontextmanager
async def open_runner(
    settings: Settings | None = None, *, providers: Mapping[str, AnyProvider] | None = None
) -> AsyncIterator[Runner]:
    """Open what many runs share: settings, database and connections to hosts. Pass it as `runner=`.

    settings: default is those of the command line. providers: as in `ask`, for all runs of this runner. On
    exit, runs under way are interrupted; they can be resumed.
    """
    async with _open_new_service(settings, providers) as service:
        yield service.runner


@asynccontextmanager
async def _open_new_service(
    settings: Settings | None, providers: Mapping[str, AnyProvider] | None, *, stored: bool = False
) -> AsyncIterator[RunService]:
    """Open the service. stored: for runs that are stored, so a database that is missing is not created."""
    _check_type("settings", settings, Settings | None, "the result of pnyx.load_settings()")
    _check_type("providers", providers, Mapping | None, "a mapping of names to objects")
    for name in providers or ():
        _check_type("a key of providers", name, str, "text")
    free = [name for name, provider in (providers or {}).items() if getattr(provider, "free", False) is True]
    all_settings = (settings or open_settings()).with_provider_objects(providers or (), free)
    with existing_database(all_settings) if stored else nullcontext(all_settings) as chosen:
        hosts = Providers(chosen, extra=providers)
        async with RunService.open(chosen, providers=hosts, embedded=True, create=not stored) as service:
            yield service


def _check_type(name: str, value: object, kind: type | UnionType, need: str) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{name} must be {need}, not {value!r:.80}")


@asynccontextmanager
async def _open_service(
    *,
    providers: Mapping[str, AnyProvider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
    stored: bool = True,
) -> AsyncIterator[RunService]:
    """Open the service on `runner`, or on a new runner that is closed on exit. stored: of a new one."""
    _check_type("runner", runner, Runner | None, "the value of `async with pnyx.open_runner() as runner`")
    if runner is not None:
        if providers or settings:
            raise UsageError("a runner has its own settings and providers: pass them to pnyx.open_runner")
        yield RunService(runner)
        return
    async with _open_new_service(settings, providers, stored=stored) as service:
        yield service


@asynccontextmanager
async def _start_run(
    question: str,
    *,
    providers: Mapping[str, AnyProvider] | None = None,
    settings: Settings | None = None,
    runner: Runner | None = None,
    **request: Any,
) -> AsyncIterator[RunHandle]:
    """Start a run on `runner`, or on a new runner that is closed on exit. request: as in `ask`."""
    async with _open_service(providers=providers, settings=settings, runner=runner, stored=False) as service:
        options = request.pop("options", None)
        with _naming_keywords():
            run_request = _request(service.settings, options, question=question, **request)
            read = await read_files(run_request.files, service.settings.context, paths=True)
            handle = await service.start(resolve(replace(run_request, files=read.files), service.settings))
        with _interrupt_on_exit(handle):
            yield handle


@contextmanager
def _naming_keywords() -> Iterator[None]:
    """Let the messages of errors name options as this module does."""
    try:
        yield
    except UsageError as exc:
        exc.args = (with_keywords(str(exc)),)
        raise


@contextmanager
def _interrupt_on_exit(handle: RunHandle) -> Iterator[None]:
    """Interrupt the run on exit, so that it costs nothing more even if its runner stays open."""
    try:
        yield
    finally:
        handle.interrupt()


@check_arguments
def _request(
    settings: SkipValidation[Settings], options: Mapping[str, Any] | None, **request: Any
) -> RunRequest:
    """Build the request from keyword arguments. Raises `UsageError` for an unknown name."""
    values = {KEYWORDS[name]: value for name, value in request.items() if name in KEYWORDS}
    if "files" in values:
        values["files"] = tuple(_source(one) for one in _listed(values["files"]))
    extra = {name: value for name, value in request.items() if name not in KEYWORDS}
    models = values.get("models")
    if isinstance(models, str) and models in settings.panels:
        values |= {"models": (), "panel": models}
    protocol = values.get("protocol")
    if protocol is None and isinstance(name := values.get("panel"), str):
        protocol = settings.saved_panel(name).protocol
    if protocol is None or isinstance(protocol, str):
        known = find_protocol(protocol or settings.run.protocol, settings)
        for name in {**(options or {}), **extra}:
            if name not in known.options:
                names = f"it has: {', '.join(sorted(known.options)) or 'none'}"
                like = (*known.options, *KEYWORDS) if name in extra else known.options
                raise UsageError(f"{known.name} has no option {name!r}{among(name, like, names)}")
    return RunRequest(options={**(options or {}), **extra}, **values)


def _listed(files: object) -> Iterable[object]:
    """The files as a list; a single one is not a list of its characters or keys."""
    if files is None:
        return ()
    single = isinstance(files, str | os.PathLike | bytes | Mapping | File)
    return [files] if single or not isinstance(files, Iterable) else files


def _source(file: object) -> Source | File:
    match file:
        case File():
            return file
        case str() | os.PathLike():
            return Source(path=os.fspath(file))
        case bytes():
            return Source(data=file)
        case Mapping() if file.keys() <= SOURCE_KEYS:
            return Source(**file)
    raise UsageError(
        f"a file must be a path, bytes, or a mapping with {', '.join(sorted(SOURCE_KEYS))}, not {file!r:.80}"
    )


@check_arguments
def _resume_call(
    run_id: str, *, budget_usd: Amount, deadline_s: Amount, fork: bool
) -> Callable[[RunService], Awaitable[RunHandle]]:
    """Check the arguments of `resume`, and bind them to `RunService.resume`."""
    return partial(RunService.resume, prefix=run_id, budget_usd=budget_usd, deadline_s=deadline_s, fork=fork)


@check_arguments
def _feedback_call(
    run_id: str, result: str, *, answer: str | None
) -> Callable[[RunRecords], Awaitable[object]]:
    """Check the arguments of `feedback`, and bind them to `RunRecords.feedback`."""
    return partial(RunRecords.feedback, prefix=run_id, verdict=result, truth=answer)


@check_arguments
def _label_call(
    run_id: str, *, tags: tuple[str, ...], remove: Sequence[str], title: str | None, pinned: bool | None
) -> Callable[[RunRecords], Awaitable[object]]:
    """Check the arguments of `tag`, and bind them to `RunRecords.label`."""
    change = LabelChange(title=title, add=tags, remove=remove, pinned=pinned)
    return partial(RunRecords.label, prefix=run_id, change=change)


@check_arguments
def _delete_call(run_id: str) -> Callable[[RunRecords], Awaitable[object]]:
    """Check the argument of `delete`, and bind it to `RunRecords.delete`."""
    return partial(RunRecords.delete, prefix=run_id)
