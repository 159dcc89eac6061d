"""One run in this process: its task, its events, its result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection

from ..core.decision import AGREEMENT_KNOWN, DECIDED, Status
from ..core.events import CallStarted, Event, RunFinished
from ..core.steps import Decision
from ..errors import (
    Diverged,
    Fenced,
    Halted,
    Interrupted,
    NoQuorum,
    NoSources,
    NotInForm,
    SeatAbsent,
    Starved,
    StoreError,
    WorkersLost,
)
from ..isolation import describe, lacks_files
from ..store.money import ledger
from .broadcast import AT_ONCE, TextWanted, Turn
from .context import RunContext
from .drive import drive
from .learned import calibrate_decision
from .observer import RunClosed, RunOpened
from .performer import Performer
from .result import Result, Summary
from .spec import Spec
from .spending.claim import learn_cost
from .spending.exhaustion import BatchOutOfBudget, exhausted_event, reason, remedy, with_rest
from .spending.expectation import expect

__all__ = ["RunHandle"]

PAUSE_S = 8.0
"""Seconds for which the calls in flight of a run continue when it is paused."""


class RunHandle:
    """One run in this process: its task, its events, its result.

    elapsed_s: seconds that earlier processes worked on it. requeue_on_stop: whether it waits for
    another worker, instead of being paused, when this process stops. started_at: when this process
    started it, in monotonic seconds.
    """

    def __init__(self, context: RunContext, *, elapsed_s: float = 0.0, requeue_on_stop: bool = False) -> None:
        self.context = context
        self.requeue_on_stop = requeue_on_stop
        self.starved = False
        """Whether it stopped since this process had too many open files."""
        self._prior_elapsed_s = elapsed_s
        self.started_at = time.monotonic()
        self._task: asyncio.Task[Result] | None = None
        self._cancelled = self._has_started = self._is_ending = False
        context.stop_requests.subscribe(self._on_stop_request)

    @property
    def run_id(self) -> str:
        return self.context.run_id

    @property
    def spec(self) -> Spec:
        return self.context.spec

    @property
    def summary(self) -> Summary:
        """The sums over the events until now."""
        return self.context.summary

    @property
    def past(self) -> Sequence[Event]:
        """Events stored before this process took the run over."""
        return self.context.past

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the run starts, such as why a tool is off."""
        return self.context.notes

    def launch(self, done: Callable[[], None]) -> None:
        """Start the task. `done` is called when it ends."""
        self.context.broadcast.open()
        observe, identity = self.context.observer, self.context.identity
        if observe is not None:
            observe(RunOpened(identity, resumed=any(isinstance(event, CallStarted) for event in self.past)))
        self._task = asyncio.create_task(self._run(), name=f"pnyx run {self.run_id}")

        def ended(_: object) -> None:
            self.context.broadcast.close()
            self.context.stop_requests.unsubscribe()
            if observe is not None:
                failure = self._failure
                observe(RunClosed(identity, "" if failure is None else type(failure).__name__))
            done()

        self._task.add_done_callback(ended)

    @property
    def needs_release(self) -> bool:
        """Whether the run stopped but could not be written; the database still lists it as running."""
        return self._task is not None and self._task.done() and isinstance(self._failure, StoreError)

    @property
    def _failure(self) -> BaseException | None:
        return None if self._task is None or self._task.cancelled() else self._task.exception()

    def events(
        self, after: int = 0, tokens: TextWanted = False, prompts: bool = True, turn: Turn = AT_ONCE
    ) -> AsyncGenerator[Event, None]:
        """Yield events with a `seq` above `after`, until the terminal one; see `Broadcast.events`.

        If the run cannot be written there is no terminal event, and `result` raises why.
        """
        return self.context.broadcast.events(after, tokens, prompts, turn)

    def stream_text(self, wanted: TextWanted = True) -> None:
        """Let providers stream their text from the next call on, or that of the answer alone."""
        self.context.broadcast.want_text(wanted)

    async def result(self) -> Result:
        """Wait for the result. Raises `Diverged`, `Fenced` or `StoreError` if the run cannot continue."""
        if self._task is not None:
            return await asyncio.shield(self._task)
        last = self.context.broadcast.last
        if last is None:
            raise Interrupted(f"run {self.run_id} was never started here")
        return Result.from_json(last.result)

    async def wait(self) -> None:
        """Wait until the task has ended, with or without a result."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def interrupt(self, why: str = "interrupted") -> None:
        """Stop, so that the run can be resumed."""
        self.stop(Interrupted(f"{why}. Resume with: pnyx resume {self.run_id}"))

    def stop(self, why: Halted) -> None:
        """Send no further request; end when replies in flight are recorded."""
        if self._task is not None:
            self.context.halt.request(why)

    def pause(self, grace_s: float = PAUSE_S) -> None:
        """Interrupt, and stop what is still in flight after `grace_s` seconds.

        Calls in flight are paid for, and would be asked again.
        """
        self.interrupt()
        asyncio.get_running_loop().call_later(grace_s, self.kill)

    def kill(self) -> None:
        """Stop at once. Requests in flight count as unknown when the run is resumed."""
        if not self._has_started:
            # A task that is cancelled before its first step never runs, and could record nothing.
            self.interrupt()
        # Not while the end is being written: it must be written exactly once.
        elif self._task is not None and not self._is_ending:
            self._is_ending = True
            self._task.cancel()

    def cancel(self) -> None:
        """End the run for good."""
        self._cancelled = self._cancelled or not self._is_ending
        self.kill()

    def _on_stop_request(self, how: str) -> None:
        """Handle a stop request of another process: "cancel", or "pause", which leaves it to its owner."""
        if how == "cancel":
            self.cancel()
        else:
            self.requeue_on_stop = False
            self.pause()

    def interim_result(self) -> dict[str, Any]:
        """Return the result so far as JSON, stored when the run is resumed."""
        return self._undecided_result("waiting", "").to_json()

    async def end_cancelled(self) -> Result:
        """Write the terminal event of a run that no process runs, and return its result."""
        return await self._finish(self._undecided_result("cancelled", "cancelled"))

    async def end_held_back(self, why: str) -> Result:
        """Pause a run that no process runs, so that no worker starts it again, and return its result."""
        self._is_ending = True
        self.context.write_off()
        await self.context.journal.flush()
        result = self._undecided_result("paused", WorkersLost.stop_reason, why)
        result = replace(result, usage=dict(self.summary.usage))
        await self._release("paused", result=result, held_back=why)
        return result

    async def _run(self) -> Result:
        self._has_started = True
        spec = self.spec
        if self._cancelled:
            return await self.end_cancelled()
        try:
            handler = Performer(self.context)
            decision = await drive(spec.protocol_def, spec.brief, spec.panel, handler, spec.resolve)
            return await self._finish(self._decided_result(decision))
        except Halted as exc:
            return await self._pause(exc)
        except (SeatAbsent, NoQuorum, NoSources, NotInForm) as exc:
            lacking = self.context.unaffordable
            if lacking is not None and self.context.journal.unaffordable:
                return await self._pause(lacking.explained(str(exc)))  # with more budget they may answer
            return await self._finish(self._undecided_result("failed", exc.stop_reason, str(exc)))
        except asyncio.CancelledError:
            if self._cancelled:
                return await self.end_cancelled()
            return await self._pause(Interrupted("stopped at once"))
        except Diverged as exc:
            await self._pause(exc)
            raise
        except (Fenced, StoreError):
            raise
        except MemoryError:
            # Where there is more, it goes on; a worker that took it again would lack memory again.
            self.requeue_on_stop = False
            why = "the process that carried it out had no memory left; where there is more, continue it with"
            return await self._pause(Interrupted(f"{why}: pnyx resume {self.run_id}"))
        except Exception as exc:
            if lacks_files(exc):
                return await self._pause(Starved(self.run_id))
            return await self._finish(self._undecided_result("failed", "error", describe(exc)))

    async def _finish(self, result: Result) -> Result:
        self._is_ending = True
        # A branch that was cancelled may have left a request in flight; every reservation must be settled.
        await self.context.journal.flush()
        self.context.write_off()
        result = replace(result, usage=dict(self.summary.usage), elapsed_s=self._elapsed())
        event = RunFinished(time=self.context.now(), status=result.status, result=result.to_json())
        await self._release(result.status, event, result=result)
        return result

    async def _pause(self, why: Halted | Diverged) -> Result:
        self._is_ending = True
        self.starved = isinstance(why, Starved)
        message = str(why)
        if isinstance(why, ledger.Exhausted):
            event = exhausted_event(why, self.context.now())
            spent, calls = self.context.spent_nusd, self.context.settled_calls
            event = with_rest(event, expect(self.spec, self.context.chosen), spent, calls)
            await self.context.journal.append(event)
            message = f"{reason(event)}. {remedy(event, self.run_id, self.spec.batch_own)}"
            message = f"{why.because}. {message}" if why.because else message
        if isinstance(why, BatchOutOfBudget):
            message = why.of_run(self.run_id, self.spec.batch_own, self.summary.usage["calls"])
        result = self._undecided_result("paused", why.stop_reason, message)
        requeued = self.requeue_on_stop and isinstance(why, Interrupted)
        await self._release("running" if requeued else "paused", result=result)
        # Not stored, so it has no `seq`: the first event after a resume gets the next one.
        time, document = self.context.now(), result.to_json()
        last = RunFinished(run_id=self.run_id, time=time, status=result.status, result=document)
        self.context.broadcast.publish(last)
        return result

    async def _release(
        self, status: str, *events: Event, result: Result | None = None, held_back: str | None = None
    ) -> None:
        columns: dict[str, Any] = {"status": status, "worker": None, "updated_at": self.context.now()}
        if held_back is not None:
            columns["held_back"] = held_back
        if result is not None:
            columns["result"] = result.to_json()
        await self.context.journal.append(*events, columns=columns, ledger=self._end_claim(status, result))
        self.context.waiting.wake()

    def _end_claim(self, status: str, result: Result | None) -> Callable[[Connection], None] | None:
        """Return the write that gives up the run's hold on shared caps, and learns what the run cost.

        None if there is nothing to write.
        """
        context, claim = self.context, self.context.budget.claim
        if claim is None:
            if status not in DECIDED or not context.spent_nusd:
                return None
            spec, spent, made = context.spec, context.spent_nusd, context.settled_calls
            return partial(learn_cost, spec=spec, spent=spent, calls=made, chosen=context.chosen)
        is_telling = status in DECIDED or (result is not None and result.stop_reason == "budget")
        spent, calls = context.spent_nusd, context.settled_calls if is_telling else 0
        return lambda connection: claim.end(connection, spent, calls, finished=status in DECIDED)

    def _undecided_result(self, status: Status, stop_reason: str, message: str = "") -> Result:
        """Return a result without a decision: the best answer until now, and why the run ended."""
        message = self.context.redact(message)
        decision = Decision(
            answer=self.summary.answer or "",
            status=status,
            rounds=self.summary.rounds,
            stop_reason=stop_reason,
            detail={"message": message} if message else {},
        )
        return self._decided_result(decision)

    def _decided_result(self, decision: Decision) -> Result:
        decision = replace(decision, **calibrate_decision(self.spec, decision))
        detail = dict(decision.detail)
        if self.summary.overrun_usd:
            detail["overrun_usd"] = self.summary.overrun_usd
        detail |= self.summary.cut_mark(decision.answer)
        if decision.status == "failed" and self.summary.fits_nobody:
            detail["too_long"] = True
        consensus_reached = decision.consensus_reached
        if consensus_reached is None and decision.status in AGREEMENT_KNOWN:
            consensus_reached = decision.status == "consensus"
        decision = replace(decision, detail=detail, consensus_reached=consensus_reached)
        return Result(
            **{f.name: getattr(decision, f.name) for f in fields(decision)},
            run_id=self.run_id,
            protocol=self.spec.protocol,
            question=self.spec.question,
            seats=self.spec.seat_rows,
            dropped=self.summary.missing,
            degraded=self.summary.degraded,
            usage=dict(self.summary.usage),
            elapsed_s=self._elapsed(),
        )

    def _elapsed(self) -> float:
        return round(self._prior_elapsed_s + time.monotonic() - self.started_at, 3)
