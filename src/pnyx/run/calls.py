"""Asking one seat, once and for all: replay, or intent, request, retries, outcome.

The only place that sends a request, and the only retry loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from ..core.events import CallFailed, CallFinished, CallStarted, Event, PhaseEntered, SeatDropped, Token
from ..core.models import NUSD, Seat
from ..core.steps import Ask, Enter, Reply
from ..core.structured import read_object
from ..core.sycophancy import refusal, silent
from ..errors import DeadlinePassed, Halted, NoQuorum, ProviderError, SeatAbsent
from ..providers.seam import Call, Completion, Message, Provider
from ..store.runs import Account
from .budget import Purse, budget_event, nusd, usd
from .drive import Where
from .journal import Journal, Outcome
from .limits import Deadline, Gate, delay

__all__ = ["Caller", "Limits", "now"]


def now() -> str:
    """The time in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the calls of a run. Seconds and tokens; `retries` are attempts after the first."""

    call_deadline_s: float
    max_output_tokens: int
    retries: int = 3
    temperature: float | None = None
    seed: int | None = None


@dataclass
class Caller:
    """Performs the leaves of one run's tree of steps.

    open_provider: name -> provider. redact: takes secrets out of error messages. streaming: whether
    anyone looks at tokens. warn_usd: spent in the run, from where on it warns, once.
    """

    journal: Journal
    purse: Purse
    seats: tuple[Seat, ...]
    quorum: int
    limits: Limits
    deadline: Deadline
    gates: Mapping[str, Gate]
    open_provider: Callable[[str], Provider]
    redact: Callable[[str], str] = lambda text: text
    streaming: bool = False
    warn_usd: float | None = None
    spent_nusd: int = 0
    halted: Halted | None = None
    _halting: asyncio.Event = field(default_factory=asyncio.Event)

    def halt(self, why: Halted) -> None:
        """Let no further request out. Those in flight are still received and recorded."""
        if self.halted is None:
            self.halted = why
            self._halting.set()

    async def enter(self, key: str, step: Enter, where: Where) -> None:
        if not self.journal.entered(key):
            self.journal.later(
                PhaseEntered(
                    time=now(),
                    key=key,
                    protocol=where.protocol,
                    phase=where.phase,
                    round=where.round,
                    answer=step.answer,
                )
            )

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        """The seat's reply, from the journal when it is there. Raises `SeatAbsent`, `NoQuorum`, `Halted`."""
        outcome = self.journal.outcome(key, ask.fingerprint)
        if outcome is None:
            outcome = await _Attempts(self, key, ask, where).outcome()
        if isinstance(outcome, CallFailed):
            raise SeatAbsent(f"{ask.seat.label}: {outcome.message}")
        if outcome.absent:
            raise SeatAbsent(f"{ask.seat.label}: {outcome.absent}")
        return Reply(ask, outcome.text, outcome.data, truncated=outcome.finish_reason == "length")

    def check(self) -> None:
        """Raise what stops this run from sending another request."""
        if self.halted is None and self.deadline.left <= 0:
            self.halt(DeadlinePassed("the run's deadline has passed; `pnyx resume ID` goes on"))
        if self.halted is not None:
            raise self.halted

    async def pause(self, seconds: float) -> None:
        """Wait between two attempts, unless the run halts first."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._halting.wait(), min(seconds, max(self.deadline.left, 0)))
        self.check()

    async def write_off(self) -> list[CallStarted]:
        """Close requests whose outcome is not known: charged at their reservation, and told."""
        lost = self.journal.in_flight()
        for started in lost:
            failed = CallFailed(
                key=started.key,
                phase=started.phase,
                round=started.round,
                seat=started.seat,
                time=now(),
                attempt=started.attempt,
                fingerprint=started.fingerprint,
                model=started.model,
                kind="unknown",
                message="in flight when the run stopped: the outcome is unknown, the reservation is charged",
                final=False,
                charged_usd=started.reserved_usd,
            )
            await self.record(started, nusd(started.reserved_usd), failed)
        return lost

    async def record(self, started: CallStarted, charged_nusd: int, *outcome: Event) -> None:
        """Commit the outcome of a request together with what it was charged."""
        before, warn = self.spent_nusd, self.warn_usd
        self.spent_nusd += charged_nusd
        if warn is not None and before < warn * NUSD <= self.spent_nusd:
            account = Account(self.purse.run_scope, round(warn * NUSD), self.spent_nusd, 0)
            outcome = (*outcome, budget_event("warning", account, now()))
        await self.journal.append(*outcome, ledger=self.purse.settle(started, charged_nusd))

    def check_quorum(self) -> None:
        live = [s for s in self.seats if s.label not in self.journal.dropped]
        if len(live) < self.quorum:
            why = "; ".join(f"{label}: {reason}" for label, reason in self.journal.dropped.items())
            raise NoQuorum(f"{len(live)} of {len(self.seats)} seats are left, {self.quorum} needed ({why})")


class _Attempts:
    """The attempts at one step."""

    def __init__(self, caller: Caller, key: str, ask: Ask, where: Where) -> None:
        self.caller, self.key, self.ask = caller, key, ask
        self.common: dict[str, Any] = {
            "key": key,
            "phase": where.phase,
            "round": where.round,
            "seat": ask.seat.label,
        }
        self.mark = ask.fingerprint

    async def outcome(self) -> Outcome:
        caller, seat = self.caller, self.ask.seat
        if seat.label in caller.journal.dropped:
            return self._left_out()
        copied = caller.journal.inherited.get(self.key)
        if copied is not None and copied.fingerprint == self.mark:
            return await self._copy(copied)
        gate = caller.gates[seat.provider]
        provider = caller.open_provider(seat.provider)
        call_deadline: Deadline | None = None
        tries = 0
        while True:
            async with gate.call():
                caller.check()
                if call_deadline is None:
                    call_deadline = Deadline.after(caller.limits.call_deadline_s)
                started = await self._intend()
                began = time.monotonic()
                result = await self._send(provider, started, call_deadline.sooner(caller.deadline))
                elapsed = time.monotonic() - began
            if isinstance(result, Completion):
                return await self._finished(started, result, elapsed)
            tries += 1
            wait = delay(tries, result) if result.retryable and tries <= caller.limits.retries else None
            if wait is not None and wait >= call_deadline.left:
                wait = None
            if caller.deadline.left <= 0 or caller.halted is not None:
                # The run stops, not the seat: a resume tries again.
                await self._failed(started, result, elapsed, final=False, wait=None)
                caller.check()
            failed = await self._failed(started, result, elapsed, final=wait is None, wait=wait)
            if wait is None:
                caller.check_quorum()
                return failed
            await caller.pause(wait)

    async def _intend(self) -> CallStarted:
        caller, ask = self.caller, self.ask
        max_tokens = _room(ask.seat, ask.prompt.text, caller.limits.max_output_tokens)
        started = CallStarted(
            **self.common,
            time=now(),
            attempt=caller.journal.attempts(self.key) + 1,
            fingerprint=self.mark,
            model=ask.seat.model,
            prompt_id=ask.prompt.id,
            prompt_sha256=ask.prompt.sha256,
            prompt=ask.prompt.text,
            schema=ask.schema.json if ask.schema else None,
            max_tokens=max_tokens,
            reserved_usd=usd(caller.purse.quote(ask.seat, ask.prompt.text, max_tokens)),
        )
        await caller.journal.append(started, ledger=caller.purse.reserve(started))
        return started

    async def _send(
        self, provider: Provider, started: CallStarted, deadline: Deadline
    ) -> Completion | ProviderError:
        caller, seat = self.caller, self.ask.seat
        timeout = None if deadline.at is None else max(deadline.left, 0.001)
        call = Call(
            model=seat.model.partition(":")[2],
            messages=(Message("user", self.ask.prompt.text),),
            max_tokens=started.max_tokens,
            temperature=seat.temperature if seat.temperature is not None else caller.limits.temperature,
            # One seed for all calls would make seats of one model say the same thing.
            seed=None if caller.limits.seed is None else crc32(f"{caller.limits.seed}{self.key}".encode()),
            schema=self.ask.schema,
            timeout_s=timeout,
        )

        def on_text(text: str) -> None:
            caller.journal.show(Token(**self.common, run_id=caller.journal.run_id, text=text))

        try:
            async with asyncio.timeout(timeout):
                return await provider.complete(call, on_text if caller.streaming else None)
        except TimeoutError:
            return ProviderError("timeout", f"no answer within {timeout:.0f} s", billed=True)
        except ProviderError as exc:
            return exc

    async def _finished(self, started: CallStarted, done: Completion, elapsed: float) -> CallFinished:
        caller, ask = self.caller, self.ask
        bill = caller.purse.bill(started, ask.seat.price, done.usage, ask.prompt.text, bool(done.text))
        absent = None
        if silent(done.text):
            absent = "empty"
        elif done.finish_reason == "filter" or refusal(done.text):
            absent = "refusal"
        finished = CallFinished(
            **self.common,
            time=now(),
            attempt=started.attempt,
            fingerprint=self.mark,
            model=done.model or ask.seat.model,
            text=done.text,
            data=read_object(done.text) if ask.schema else None,
            finish_reason=done.finish_reason,
            input_tokens=bill.usage.input_tokens,
            cached_tokens=bill.usage.cached_tokens,
            output_tokens=bill.usage.output_tokens,
            reasoning_tokens=bill.usage.reasoning_tokens,
            cost_usd=usd(bill.cost_nusd),
            usage_flag=bill.flag,
            absent=absent,
            elapsed_s=round(elapsed, 3),
        )
        await caller.record(started, bill.cost_nusd or 0, finished)
        return finished

    async def _failed(
        self,
        started: CallStarted,
        error: ProviderError,
        elapsed: float,
        *,
        final: bool,
        wait: float | None,
    ) -> CallFailed:
        caller, seat = self.caller, self.ask.seat
        charged = started.reserved_usd if error.billed else 0.0
        failed = CallFailed(
            **self.common,
            time=now(),
            attempt=started.attempt,
            fingerprint=self.mark,
            model=seat.model,
            kind=error.kind,
            message=caller.redact(str(error)),
            final=final,
            charged_usd=charged,
            retry_in_s=wait and round(wait, 3),
            elapsed_s=round(elapsed, 3),
        )
        dropped = SeatDropped(**self.common, time=failed.time, model=seat.model, reason=failed.message)
        await caller.record(started, nusd(charged), failed, *([dropped] if final else []))
        return failed

    def _left_out(self) -> CallFailed:
        """A seat that was dropped earlier is not asked; that too is in the record."""
        failed = CallFailed(
            **self.common,
            time=now(),
            attempt=self.caller.journal.attempts(self.key),
            fingerprint=self.mark,
            model=self.ask.seat.model,
            kind="dropped",
            message="was dropped earlier in this run",
            final=True,
        )
        self.caller.journal.later(failed)
        return failed

    async def _copy(self, copied: CallFinished) -> CallFinished:
        taken = CallFinished(
            **self.common,
            time=now(),
            attempt=0,
            fingerprint=self.mark,
            model=copied.model,
            text=copied.text,
            data=copied.data,
            finish_reason=copied.finish_reason,
            cost_usd=0.0,
            absent=copied.absent,
            copied=True,
        )
        await self.caller.journal.append(taken)
        return taken


def _room(seat: Seat, prompt: str, limit: int) -> int:
    """Output tokens to ask for: the limit, the model's own, and what its window leaves, at least 16."""
    room = limit if seat.max_output is None else min(limit, seat.max_output)
    if seat.context is not None:
        room = min(room, seat.context - len(prompt.encode("utf-8", "surrogatepass")) // 3)
    return max(room, 16)
