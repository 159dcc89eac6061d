"""What the tools do: each a call of the runner, for one owner, within what the settings allow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import anyio

from ... import protocols as known
from ...core.events import CallFailed, CallFinished, Event, PhaseEntered
from ...core.text import Material
from ...run.batch import failure
from ..http.streaming import followed
from ..render.markdown import Markdown, as_markdown, as_summary
from ..render.terminal import clip
from ..service import House
from ..views.catalogue import described
from ..views.records import Record, read_recalled, read_run, read_runs
from ..views.transcript import money, quantity
from .schemas import Ask, Listing, Named, Nothing, Resume, Show, Sought

__all__ = ["Caller", "Told", "ask", "cancel", "protocols", "recall", "resume", "runs", "show"]


class Told(NamedTuple):
    """text: for the model. document: the same as data, of the tool's output schema. failed: no answer."""

    text: str
    document: dict[str, Any]
    failed: bool = False


@dataclass(frozen=True)
class Caller:
    """Whoever calls a tool. report: takes how far the call has come, and words for it."""

    house: House
    owner: str
    report: Callable[[float, None, str], Awaitable[None]]

    async def outcome(self, begin: Awaitable[str], wait: bool, seen: int = 0) -> Told:
        """The run's result, or with no `wait` how it stands. Raises as `begin` and `RunHandle.result` do.

        begin: gives the run's id. seen: the `seq` of its last event before that.

        A caller who gives up, times out or leaves pauses the run at once: nothing more is paid, and what
        was is not lost.
        """
        with anyio.CancelScope(shield=True):
            # Cut off halfway, it would leave a run that nobody is running.
            run_id = await begin
        try:
            if wait:
                await self._followed(run_id, seen)
            record = await self._read(run_id)
        except asyncio.CancelledError:
            if wait:
                self.house.runner.forget(run_id, pause=True)
            raise
        why = failure(record.result) if wait else None
        return _told(record, as_summary(record, self.house.redact), why and self.house.redact(why))

    async def stand(self, run_id: str, transcript: bool = False) -> Told:
        """A run as it stands. Raises `NotFound`."""
        record = await self._read(run_id)
        write = as_markdown if transcript else as_summary
        return _told(record, write(record, self.house.redact))

    async def _followed(self, run_id: str, seen: int) -> None:
        begun = f"run {run_id}"
        await self.report(0, None, f"{begun} has begun; `show` reads it, `resume` goes on with it")
        where, calls, count = "", 0, 0
        async with aclosing(followed(self.house.runner, run_id, seen)) as events:
            async for event in events:
                where, calls = _further(event, where, calls)
                if isinstance(event, PhaseEntered | CallFinished | CallFailed):
                    count += 1
                    told = f"{begun} · {where} · {quantity(calls, 'reply', 'replies')}"
                    await self.report(count, None, told)

    async def _read(self, run_id: str) -> Record:
        return await self.house.runner.database.read(partial(read_run, prefix=run_id, owner=self.owner))


async def ask(caller: Caller, asked: Ask) -> Told:
    """Begin a run. Raises `UsageError`, `NotFound`, `ConfigError`, `Full`, `StoreError`."""
    context = (Material("Context", asked.context),) if asked.context else ()
    spec = caller.house.spec(asked, caller.owner, context=context)
    return await caller.outcome(caller.house.begin(spec), asked.wait)


async def resume(caller: Caller, how: Resume) -> Told:
    """Go on with a run. Raises `NotFound`, `Running`, `UsageError`, `Full`, `StoreError`."""
    caller.house.check_budget(how.budget_usd)
    seen = 0 if how.fork else (await caller.house.find(how.run_id, caller.owner)).seq
    begin = caller.house.resume(
        how.run_id, caller.owner, budget_usd=how.budget_usd, deadline_s=how.deadline_s, fork=how.fork
    )
    return await caller.outcome(begin, how.wait, seen)


async def show(caller: Caller, which: Show) -> Told:
    return await caller.stand(which.run_id, which.transcript)


async def cancel(caller: Caller, which: Named) -> Told:
    return await caller.stand(await caller.house.runner.cancel(which.run_id, caller.owner))


async def runs(caller: Caller, which: Listing) -> Told:
    work = partial(read_runs, status=which.status, limit=which.limit, owner=caller.owner)
    found = await caller.house.runner.database.read(work)
    return _listed(caller, [record.document for record in found])


async def recall(caller: Caller, which: Sought) -> Told:
    """Runs by their words. Raises `UsageError` where there is none to look for."""
    work = partial(read_recalled, text=which.text, limit=which.limit, owner=caller.owner)
    found = await caller.house.runner.database.read(work)
    return _listed(
        caller, found.to_json(), "" if found.every else "None has all of that; these have some of it."
    )


def _listed(caller: Caller, found: list[dict[str, Any]], head: str = "") -> Told:
    """A line for each run, and where it has what was looked for."""
    page = Markdown(caller.house.redact)
    lines = [head] if head and found else []
    for run in found:
        lines.append(
            f"- {run['run_id']} · {run['status']} · {run['protocol']} · {money(run['usage']['cost_usd'])} · "
            f"{page.plain(clip(run['question'], 100))}"
        )
        lines += [f"  > {page.plain(run['snippet'])}"] if run.get("snippet") else []
    return Told(_text(lines or ["There are none."]), _data({"runs": found}))


async def protocols(caller: Caller, nothing: Nothing) -> Told:
    found = [described(page) for page in known.loaded()]
    lines = [
        f"- {page['name']}: {page['summary']} Options: "
        f"{json.dumps({name: option['default'] for name, option in page['options'].items()})}; presets: "
        f"{', '.join(page['presets']) or 'none'}; seats: {page['quorum']} or more."
        for page in found
    ]
    return Told(_text(lines), {"protocols": found})


def _further(event: Event, where: str, calls: int) -> tuple[str, int]:
    match event:
        case PhaseEntered():
            round = "" if event.round is None else f"round {event.round} · "
            return f"{round}{event.phase}", calls
        case CallFinished() | CallFailed(final=True):
            return where, calls + 1
        case _:
            return where, calls


def _told(record: Record, page: str, why: str | None = None) -> Told:
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
    return Told(_text([head + page + more]), _data(record.document), why is not None)


def _text(lines: Iterable[str]) -> str:
    return _sendable("\n".join(lines))


def _data(document: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(_sendable(json.dumps(document, ensure_ascii=False)))
    return whole


def _sendable(text: str) -> str:
    """`text` without the half characters that models write, and no message can carry."""
    return text.encode("utf-8", "replace").decode()
