"""One run under way: its task, its events for whoever watches, its result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from ..core.decision import AGREEMENT_KNOWN, Status
from ..core.events import CallStarted, Event, RunFinished
from ..core.steps import Decision
from ..errors import Diverged, Fenced, Halted, Interrupted, NoQuorum, NoSources, SeatAbsent, StoreError
from ..store import ledger
from .context import RunContext
from .drive import drive
from .exhaustion import exhausted_event, reason, remedy
from .learned import calibrated
from .limits import now
from .performer import Performer
from .result import Result, Summary
from .spec import Spec

__all__ = ["RunHandle"]


class RunHandle:
    """One run in this process: its task, its events for whoever watches, its result.

    spent_s: seconds that earlier processes worked on it. gives_back: whether it waits for another worker,
    instead of being paused, when this process stops. lost: requests of an earlier process whose outcome is
    unknown. began_at: when this process began with it, in seconds of its monotonic clock.
    """

    def __init__(self, context: RunContext, *, spent_s: float = 0.0, gives_back: bool = False) -> None:
        self.context = context
        self.gives_back = gives_back
        self.lost: list[CallStarted] = []
        self._spent_s = spent_s
        self.began_at = time.monotonic()
        self._task: asyncio.Task[Result] | None = None
        self._cancelled = self._started = self._ending = False
        context.stop_requests.subscribe(self._obey)

    @property
    def run_id(self) -> str:
        return self.context.run_id

    @property
    def spec(self) -> Spec:
        return self.context.spec

    @property
    def summary(self) -> Summary:
        """What the events add up to so far."""
        return self.context.summary

    @property
    def past(self) -> Sequence[Event]:
        """Events stored before this process took the run over."""
        return self.context.past

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know before the run starts, such as why a tool is off."""
        return self.context.notes

    def launch(self, done: Callable[[], None]) -> None:
        """Start the task. `done` is called when it has ended."""
        self.context.broadcast.open()
        self._task = asyncio.create_task(self._run(), name=f"pnyx run {self.run_id}")

        def ended(_: object) -> None:
            self.context.broadcast.close()
            done()

        self._task.add_done_callback(ended)

    def write_off(self) -> None:
        """Charge the requests that an earlier process left in flight, and keep them in `lost`."""
        self.lost += self.context.write_off()

    @property
    def stranded(self) -> bool:
        """Whether the run stopped without a word of it in the database, which still calls it running."""
        return self._task is not None and self._task.done() and isinstance(self._failure, StoreError)

    @property
    def _failure(self) -> BaseException | None:
        return None if self._task is None or self._task.cancelled() else self._task.exception()

    def events(self, after: int = 0, tokens: bool = False) -> AsyncGenerator[Event, None]:
        """Events with a `seq` above `after`, until the terminal one; see `Broadcast.events`.

        Where nothing of the run can be written there is no terminal event, and `result` raises why.
        """
        return self.context.broadcast.events(after, tokens)

    def stream_text(self) -> None:
        """Have providers stream their text, from the next call on."""
        self.context.broadcast.want_text()

    async def result(self) -> Result:
        """The result, once there is one. Raises `Diverged`, `Fenced`, `StoreError` if the run is stuck."""
        if self._task is not None:
            return await asyncio.shield(self._task)
        last = self.context.broadcast.last
        if last is None:
            raise Interrupted(f"run {self.run_id} was never started here")
        return Result.from_json(last.result)

    async def wait(self) -> None:
        """Until the task has ended, however it did."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def interrupt(self, why: str = "interrupted") -> None:
        """Send nothing more; end when what is in flight has been recorded."""
        if self._task is not None:
            self.context.halt.request(Interrupted(f"{why}. Resume with: pnyx resume {self.run_id}"))

    def kill(self) -> None:
        """Stop at once. What is in flight counts as unknown when the run is resumed."""
        if not self._started:
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

    def _obey(self, how: str) -> None:
        """A request of another process: "cancel", or "pause": stop at once, and leave it to its owner."""
        if how == "cancel":
            self.cancel()
        else:
            self.gives_back = False
            self.kill()

    def so_far(self) -> dict[str, Any]:
        """What the run has come to before it goes on: kept, for whoever finds it without another result."""
        return self._ended("waiting", "").to_json()

    async def end_cancelled(self) -> Result:
        """Write the terminal event of a run that nobody is running."""
        return await self._finish(self._ended("cancelled", "cancelled"))

    async def _run(self) -> Result:
        self._started = True
        spec = self.spec
        if self._cancelled:
            return await self.end_cancelled()
        try:
            handler = Performer(self.context)
            decision = await drive(spec.page, spec.brief, spec.panel, handler, spec.resolve)
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
        await self.context.journal.settled()
        self.context.write_off()
        result = replace(result, usage=dict(self.summary.usage), elapsed_s=self._elapsed())
        event = RunFinished(time=now(), status=result.status, result=result.to_json())
        await self._release(result.status, event, result=result)
        return result

    async def _pause(self, why: Halted | Diverged) -> Result:
        self._ending = True
        message = str(why)
        if isinstance(why, ledger.Exhausted):
            event = exhausted_event(why, now())
            await self.context.journal.append(event)
            message = f"{reason(event)}. {remedy(event, self.run_id, self.spec.batch_own)}"
        result = self._ended("paused", why.stop_reason, message)
        waits = self.gives_back and isinstance(why, Interrupted)
        await self._release("running" if waits else "paused", result=result)
        # It takes no number: what comes when the run goes on will have that one.
        last = RunFinished(run_id=self.run_id, time=now(), status=result.status, result=result.to_json())
        self.context.broadcast.publish(last)
        return result

    async def _release(self, status: str, *events: Event, result: Result | None = None) -> None:
        columns: dict[str, Any] = {"status": status, "worker": None, "updated_at": now()}
        if result is not None:
            columns["result"] = result.to_json()
        await self.context.journal.append(*events, columns=columns)

    def _ended(self, status: Status, stop_reason: str, message: str = "") -> Result:
        """A result without a decision: the best answer so far, and why there is no better one."""
        message = self.context.redact(message)
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
        if reached is None and decision.status in AGREEMENT_KNOWN:
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
        return round(self._spent_s + time.monotonic() - self.began_at, 3)
