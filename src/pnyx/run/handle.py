"""One run under way: its task, its events for whoever watches, its result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, get_args

from ..core.decision import Decided, Status
from ..core.events import CallFailed, CallFinished, CallStarted, Event, RunFinished, Token
from ..core.steps import Decision
from ..errors import Diverged, Fenced, Halted, Interrupted, NoQuorum, NoSources, SeatAbsent, StoreError
from ..store import Database, ledger
from ..store import runs as store
from .budget import budget_event, nusd
from .drive import drive
from .learned import calibrated
from .limits import now
from .performer import Caller
from .result import Result, Summary
from .spec import Spec

__all__ = ["FINAL", "RunHandle"]

FINAL = frozenset((*get_args(Decided), "failed", "cancelled"))
"""Statuses of runs that are over; the others are "paused" and "running", which waiting ones are stored as."""
MEASURED = frozenset(("consensus", "majority", "plurality", "deadlock"))
"""Statuses that tell whether seats agreed, where the protocol does not say it itself."""


@dataclass(eq=False)
class RunHandle:
    """What a door holds of a run.

    past: events stored before this process took the run up. notes: what a person should know before it
    begins, such as why a tool is off. lost: requests of an earlier process whose outcome is unknown. spent_s:
    seconds that earlier processes worked on it. gives_back: whether it waits for another worker, and is not
    paused, when this process stops.
    """

    database: Database
    run_id: str
    spec: Spec
    past: Sequence[Event] = ()
    spent_s: float = 0.0
    gives_back: bool = False
    notes: tuple[str, ...] = ()
    lost: list[CallStarted] = field(default_factory=list)
    caller: Caller = field(init=False)
    summary: Summary = field(default_factory=Summary)
    _watchers: set[asyncio.Queue[Event | None]] = field(default_factory=set)
    _arriving: dict[str, list[Token]] = field(default_factory=dict)
    _task: asyncio.Task[Result] | None = None
    _last: RunFinished | None = None
    _cancelled: bool = False
    _begun: bool = False
    _ending: bool = False
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        for event in self.past:
            if isinstance(event, RunFinished):
                self._last = event

    def launch(self, done: Callable[[], None]) -> None:
        """Start the task, with `caller` set. `done` is called when it has ended."""
        self._task = asyncio.create_task(self._run(), name=f"pnyx run {self.run_id}")

        def ended(_: object) -> None:
            for queue in self._watchers:
                queue.put_nowait(None)
            done()

        self._task.add_done_callback(ended)

    @property
    def stranded(self) -> bool:
        """Whether the run stopped without a word of it in the database, which still calls it running."""
        return self._task is not None and self._task.done() and isinstance(self._failure, StoreError)

    @property
    def _failure(self) -> BaseException | None:
        return None if self._task is None or self._task.cancelled() else self._task.exception()

    @property
    def spent_nusd(self) -> int:
        """What the run has cost so far, as far as prices are known."""
        return nusd(self.summary.cost.known_usd)

    async def events(self, after: int = 0, tokens: bool = False) -> AsyncGenerator[Event, None]:
        """Events with a `seq` above `after`: stored ones first, then live, until the terminal one.

        tokens: also the text as it arrives, and first what has arrived of replies that are not finished.
        Ends without a terminal event when nothing of the run can be written; `result` then raises why.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._watchers.add(queue)
        if self._task is not None and not self._task.done():
            if tokens:
                self.stream_text()
                for pieces in self._arriving.values():
                    queue.put_nowait(replace(pieces[0], text="".join(piece.text for piece in pieces)))
        else:
            queue.put_nowait(None)
        try:
            over: set[str] = set()
            for event in await self.database.read(partial(store.log, run_id=self.run_id, after=after)):
                after = event.seq or after
                _follow(over, event)
                yield event
            while (live := await queue.get()) is not None:
                if isinstance(live, Token):
                    # While the log was read, more may have been said, and written into it.
                    if tokens and live.key not in over:
                        yield live
                elif (live.seq or 0) > after:
                    after = live.seq or after
                    _follow(over, live)
                    yield live
            if self._last is not None and (self._last.seq is None or self._last.seq > after):
                yield self._last
        finally:
            self._watchers.discard(queue)

    def stream_text(self) -> None:
        """Have hosts send their text as they write it, from the next call on."""
        self.caller.streaming = True

    async def result(self) -> Result:
        """The result, once there is one. Raises `Diverged`, `Fenced`, `StoreError` if the run is stuck."""
        if self._task is not None:
            return await asyncio.shield(self._task)
        if self._last is None:
            raise Interrupted(f"run {self.run_id} was never started here")
        return Result.from_json(self._last.result)

    async def wait(self) -> None:
        """Until the task has ended, however it did."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def interrupt(self) -> None:
        """Send nothing more; end when what is in flight has been recorded."""
        if self._task is not None:
            self.caller.halt(Interrupted(f"interrupted; `pnyx resume {self.run_id}` goes on"))

    def kill(self) -> None:
        """Stop at once. What is in flight counts as unknown when the run is resumed."""
        if not self._begun:
            # A task that is cancelled before its first step never takes it, and could say nothing of it.
            self.interrupt()
        # Once, and not while the last words are being written: those must be written exactly once.
        elif self._task is not None and not self._ending:
            self._ending = True
            self._task.cancel()

    def cancel(self) -> None:
        """End the run for good."""
        self._cancelled = self._cancelled or not self._ending
        self.kill()

    def stop(self, how: str) -> None:
        """What another process asks: "cancel", or "pause": stop at once, and leave it to its owner."""
        if how == "cancel":
            self.cancel()
        else:
            self.gives_back = False
            self.kill()

    def publish(self, event: Event, seq: int | None = None) -> None:
        """Hand an event to everyone who watches; given to the journal, which tells the number it got."""
        # Most runs are watched by nobody, and a copy of an event costs more than all else of it.
        if seq is not None and (self._watchers or isinstance(event, RunFinished)):
            event = replace(event, run_id=self.run_id, seq=seq)
        match event:
            case RunFinished():
                self._last = event
            case Token():
                self._arriving.setdefault(event.key, []).append(event)
            case CallStarted() | CallFinished() | CallFailed():
                self._arriving.pop(event.key, None)
        for queue in self._watchers:
            queue.put_nowait(event)

    def so_far(self) -> dict[str, Any]:
        """What the run has come to before it goes on: kept, for whoever finds it without another result."""
        return self._ended("waiting", "").to_json()

    async def end_cancelled(self) -> Result:
        """Write the terminal event of a run that nobody is running."""
        return await self._finish(self._ended("cancelled", "cancelled"))

    async def _run(self) -> Result:
        self._begun = True
        spec = self.spec
        if self._cancelled:
            return await self.end_cancelled()
        try:
            self.caller.quorum = spec.quorum
            decision = await drive(spec.page, spec.brief, spec.panel, self.caller, spec.resolve)
            return await self._finish(self._result(decision))
        except Halted as exc:
            return await self._pause(exc)
        except (SeatAbsent, NoQuorum, NoSources) as exc:
            return await self._finish(self._ended("failed", exc.stop_reason, str(exc)))
        except asyncio.CancelledError:
            if self._cancelled:
                return await self.end_cancelled()
            return await self._pause(Interrupted("stopped at once"))
        except Diverged as exc:
            await self._pause(exc)
            raise
        except (Fenced, StoreError):
            raise
        except Exception as exc:
            return await self._finish(self._ended("failed", "error", f"{type(exc).__name__}: {exc}"))

    async def _finish(self, result: Result) -> Result:
        self._ending = True
        # A branch that lost a race may have left a request behind; every reservation ends settled.
        await self.caller.journal.settled()
        self.caller.write_off()
        result = replace(result, usage=dict(self.summary.usage), elapsed_s=self._elapsed())
        event = RunFinished(time=now(), status=result.status, result=result.to_json())
        await self._release(result.status, event, result=result)
        return result

    async def _pause(self, why: Halted | Diverged) -> Result:
        self._ending = True
        if isinstance(why, ledger.Exhausted):
            await self.caller.journal.append(budget_event("exhausted", why.account, now()))
        result = self._ended("paused", why.stop_reason, str(why))
        waits = self.gives_back and isinstance(why, Interrupted)
        await self._release("running" if waits else "paused", result=result)
        # It takes no number: what comes when the run goes on will have that one.
        last = RunFinished(run_id=self.run_id, time=now(), status=result.status, result=result.to_json())
        self.publish(last)
        return result

    async def _release(self, status: str, *events: Event, result: Result | None = None) -> None:
        columns: dict[str, Any] = {"status": status, "worker": None, "updated_at": now()}
        if result is not None:
            columns["result"] = result.to_json()
        await self.caller.journal.append(*events, columns=columns)

    def _ended(self, status: Status, stop_reason: str, message: str = "") -> Result:
        """A result without a decision: the best answer so far, and why there is no better one.

        message: where it says how to go on, with `ID` for this run.
        """
        if self.spec.batch_own:
            message = message.replace("raise budget.batch_usd", "raise the batch's --budget")
        message = self.caller.redact(message.replace("pnyx resume ID", f"pnyx resume {self.run_id}"))
        decision = Decision(
            answer=self.summary.answer or "",
            status=status,
            rounds=self.summary.rounds,
            stop_reason=stop_reason,
            detail={"message": message} if message else {},
        )
        return self._result(decision)

    def _result(self, decision: Decision) -> Result:
        decision = replace(decision, **calibrated(self.spec, decision))
        detail = dict(decision.detail)
        if self.summary.overrun_usd:
            detail["overrun_usd"] = self.summary.overrun_usd
        if decision.answer.strip() in self.summary.cut:
            detail["truncated"] = True
        reached = decision.consensus_reached
        if reached is None and decision.status in MEASURED:
            reached = decision.status == "consensus"
        decision = replace(decision, detail=detail, consensus_reached=reached)
        dropped = tuple(self.summary.dropped)
        return Result(
            **{f.name: getattr(decision, f.name) for f in fields(decision)},
            run_id=self.run_id,
            protocol=self.spec.protocol,
            question=self.spec.question,
            seats=self.spec.seated,
            dropped=dropped,
            degraded=bool(dropped),
            usage=dict(self.summary.usage),
            elapsed_s=self._elapsed(),
        )

    def _elapsed(self) -> float:
        return round(self.spent_s + time.monotonic() - self._began, 3)


def _follow(over: set[str], event: Event) -> None:
    """over: keys of steps whose last request is answered, or failed."""
    match event:
        case CallStarted():
            over.discard(event.key)
        case CallFinished() | CallFailed():
            over.add(event.key)
