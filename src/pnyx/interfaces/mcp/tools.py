"""What the tools do: each a call of the service, for one owner, within what the settings allow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NamedTuple

import anyio

from ... import protocols as known
from ...core.events import CallFailed, CallFinished, Event, PhaseEntered
from ...core.models import money
from ...run.batch import failure
from ..follow import follow
from ..render.markdown import Markdown, as_markdown, as_summary
from ..render.terminal import clip
from ..service import RunService
from ..views.catalogue import described
from ..views.records import Record
from ..views.transcript import quantity
from .schemas import Ask, Listing, Named, Nothing, Resume, Show, Sought

__all__ = ["Caller", "Report", "ToolResult", "ask", "cancel", "protocols", "recall", "resume", "runs", "show"]

Report = Callable[[float, None, str], Awaitable[None]]
"""Sends progress: how far the call is, an unknown total, and a message."""


class ToolResult(NamedTuple):
    """text: for the model. document: the same as data, of the tool's output schema. failed: no answer."""

    text: str
    document: dict[str, Any]
    failed: bool = False


@dataclass(frozen=True)
class Caller:
    """The client of one call. owner: whose runs it may see."""

    service: RunService
    owner: str
    report: Report

    async def result(self, begin: Awaitable[str], wait: bool, seen: int = 0) -> ToolResult:
        """The run's result, or without `wait` its state. Raises as `begin` and `RunHandle.result` do.

        begin: returns the run's id. seen: the `seq` of its last event before that.

        A caller who cancels, times out or leaves pauses the run at once: nothing more is paid, and what
        is recorded is not lost.
        """
        with anyio.CancelScope(shield=True):
            # Cut off halfway, it would leave a run that nobody is running.
            run_id = await begin
        try:
            if wait:
                await self._follow(run_id, seen)
            record = await self.service.read(run_id, self.owner)
        except asyncio.CancelledError:
            if wait:
                self.service.abandon(run_id, pause=True)
            raise
        why = failure(record.result) if wait else None
        redact = self.service.redact
        return _result(record, as_summary(record, redact), why and redact(why))

    async def state(self, run_id: str, transcript: bool = False) -> ToolResult:
        """The state of a run. Raises `NotFound`."""
        record = await self.service.read(run_id, self.owner)
        write = as_markdown if transcript else as_summary
        return _result(record, write(record, self.service.redact))

    async def _follow(self, run_id: str, seen: int) -> None:
        begun = f"run {run_id}"
        await self.report(0, None, f"{begun} has begun; `show` reads it, `resume` goes on with it")
        where, calls, count = "", 0, 0
        async with aclosing(follow(self.service, run_id, seen)) as events:
            async for event in events:
                where, calls = _further(event, where, calls)
                if isinstance(event, PhaseEntered | CallFinished | CallFailed):
                    count += 1
                    message = f"{begun} · {where} · {quantity(calls, 'reply', 'replies')}"
                    await self.report(count, None, message)


async def ask(caller: Caller, asked: Ask) -> ToolResult:
    """Begin a run. Raises `UsageError`, `NotFound`, `ConfigError`, `Full`, `StoreError`."""
    spec = caller.service.resolve(asked.to_request(), caller.owner)
    return await caller.result(caller.service.begin(spec), asked.wait)


async def resume(caller: Caller, how: Resume) -> ToolResult:
    """Go on with a run. Raises `NotFound`, `Running`, `UsageError`, `Full`, `StoreError`."""
    service, owner = caller.service, caller.owner
    seen = 0 if how.fork else (await service.find(how.run_id, owner)).seq
    begin = service.begin_resume(
        how.run_id, owner, budget_usd=how.budget_usd, deadline_s=how.deadline_s, fork=how.fork
    )
    return await caller.result(begin, how.wait, seen)


async def show(caller: Caller, which: Show) -> ToolResult:
    return await caller.state(which.run_id, which.transcript)


async def cancel(caller: Caller, which: Named) -> ToolResult:
    return await caller.state(await caller.service.cancel(which.run_id, caller.owner))


async def runs(caller: Caller, which: Listing) -> ToolResult:
    found = await caller.service.list_runs(which.status, which.limit, owner=caller.owner)
    return _listed(caller, [record.document for record in found])


async def recall(caller: Caller, which: Sought) -> ToolResult:
    """Runs by their words. Raises `UsageError` where there is none to look for."""
    found = await caller.service.recall(which.text, which.limit, owner=caller.owner)
    return _listed(
        caller, found.to_json(), "" if found.every else "None has all of that; these have some of it."
    )


def _listed(caller: Caller, found: list[dict[str, Any]], head: str = "") -> ToolResult:
    """A line for each run, and where it has what was looked for."""
    page = Markdown(caller.service.redact)
    lines = [head] if head and found else []
    for run in found:
        lines.append(
            f"- {run['run_id']} · {run['status']} · {run['protocol']} · {money(run['usage']['cost_usd'])} · "
            f"{page.plain(clip(run['question'], 100))}"
        )
        lines += [f"  > {page.plain(run['snippet'])}"] if run.get("snippet") else []
    return ToolResult(_text(lines or ["There are none."]), _data({"runs": found}))


async def protocols(caller: Caller, nothing: Nothing) -> ToolResult:
    found = [described(page) for page in known.loaded()]
    lines = [
        f"- {page['name']}: {page['summary']} Options: "
        f"{json.dumps({name: option['default'] for name, option in page['options'].items()})}; presets: "
        f"{', '.join(page['presets']) or 'none'}; seats: {page['quorum']} or more."
        for page in found
    ]
    return ToolResult(_text(lines), {"protocols": found})


def _further(event: Event, where: str, calls: int) -> tuple[str, int]:
    match event:
        case PhaseEntered():
            round = "" if event.round is None else f"round {event.round} · "
            return f"{round}{event.phase}", calls
        case CallFinished() | CallFailed(final=True):
            return where, calls + 1
        case _:
            return where, calls


def _result(record: Record, page: str, why: str | None = None) -> ToolResult:
    """why: there is no answer, where one was waited for."""
    run = record.result
    more = ""
    if run.status == "paused":
        more = (
            f"\n`resume` with run_id {run.run_id} goes on, with a larger budget_usd or deadline_s where that "
        )
        more += "is what it lacks; what is recorded is not paid again.\n"
    elif run.status in ("running", "waiting"):
        how = "under way" if run.status == "running" else "in the queue"
        more = f"\nIt is {how}; `show` with run_id {run.run_id} tells how it stands.\n"
    head = "" if why is None else f"run {run.run_id} {why}\n\n"
    return ToolResult(_text([head + page + more]), _data(record.document), why is not None)


def _text(lines: Iterable[str]) -> str:
    return _sendable("\n".join(lines))


def _data(document: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(_sendable(json.dumps(document, ensure_ascii=False)))
    return whole


def _sendable(text: str) -> str:
    """`text` without the half characters that models write, and no message can carry."""
    return text.encode("utf-8", "replace").decode()
