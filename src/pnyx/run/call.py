"""The attempts at one call: intent, request, retries, outcome.

The only place that sends a request, and the only retry loop.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

from ..core.compaction import fit, texts, tokens
from ..core.events import CallFailed, CallFinished, CallStarted, SeatDropped, Token
from ..core.parsing.json_objects import read_structured
from ..core.steps import Ask
from ..core.sycophancy.detect import is_blank, is_refusal
from ..core.tool_calls import ToolSpec
from ..errors import OutOfBudget, ProviderError
from ..providers.base import (
    Call,
    Completion,
    Message,
    Provider,
    can_search,
    complete_call,
    ensure_open,
    is_open,
)
from ..providers.redaction import StreamRedactor
from .budget import nusd, usd
from .context import RunContext
from .context_window import room, window
from .drive import Where
from .host_search import TOOL
from .journal import Outcome
from .limits import Deadline, Gate, delay, now

__all__ = ["ModelCall"]

SQUEEZE = (0.6, 0.8)
"""What is left of a request that the host found too long; the second where what is asked takes too much."""
SOURCES, ADDRESS = 20, 500
"""Cited sources that are recorded, and characters of an address: one that is cut would lead nowhere."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one request."""

    started: CallStarted
    result: Completion | ProviderError
    elapsed_s: float


class ModelCall:
    """The attempts at one step."""

    def __init__(self, context: RunContext, key: str, ask: Ask, where: Where) -> None:
        self.context, self.key, self.ask = context, key, ask
        self.whole, self.cut = ask, 0
        self.searches = 0
        self.common: dict[str, Any] = {
            "key": key,
            "phase": where.phase,
            "round": where.round,
            "seat": ask.seat.label,
        }
        self.mark = ask.fingerprint

    async def outcome(self) -> Outcome:
        context, seat = self.context, self.ask.seat
        if seat.label in context.journal.dropped:
            return self._left_out()
        copied = context.journal.inherited.get(self.key)
        if copied is not None and copied.fingerprint == self.mark:
            return self._copy(copied)
        # Here and not where a seat is lost: a replay finds that in the journal, and must come by here too.
        context.check_quorum()
        gate = context.gates[seat.provider]
        provider = context.open_provider(seat.provider)
        searching = context.spec.searches and TOOL in self.ask.tools
        if searching or not is_open(provider):
            await context.unless_halted(self._ready(provider))
        call_deadline: Deadline | None = None
        tries, squeezed = 0, False
        if not self._fit(window(seat)):
            return self._unsendable()
        while True:
            if (refused := self._refused()) is not None:
                return refused
            async with gate.call(context.halt.requested, within=context.deadline.left) as inside:
                context.check()
                if not inside:
                    continue
                if (refused := self._refused()) is not None:  # while it waited at the gate
                    return refused
                if call_deadline is None:
                    call_deadline = Deadline.after(context.spec.limits.call_deadline_s)
                started = await self._intend()
                sent = await self._race(provider, started, call_deadline.sooner(context.deadline), gate)
            started, result, elapsed = sent.started, sent.result, sent.elapsed_s
            if isinstance(result, Completion):
                context.hedging.took(seat.model, elapsed)
                context.circuits[seat.model].answered()
                return self._finished(started, result, elapsed)
            tries += 1
            wait = delay(tries, result) if result.retryable and tries <= context.spec.limits.retries else None
            if result.kind == "too_long" and not squeezed:
                # The window is smaller than we knew, or its tokenizer finer than we reckon.
                squeezed = True
                size = tokens(self._sent())
                wait = 0.0 if any(self._fit(size * share) for share in SQUEEZE) else None
            if wait is not None and wait >= call_deadline.left:
                wait = None
            if context.deadline.left <= 0 or context.halt.reason is not None:
                # The run stops, not the seat: a resume tries again.
                self._failed(started, result, elapsed, final=False, wait=None)
                context.check()
            failed = self._failed(started, result, elapsed, final=wait is None, wait=wait)
            if wait is None:
                context.circuits[seat.model].failed(context.run_id, failed.kind, failed.message)
                return failed
            await context.sleep(wait)

    async def _ready(self, provider: Provider) -> None:
        # What is wrong with the provider is reported by the call itself.
        with suppress(ProviderError, TimeoutError):
            await ensure_open(provider)
        if TOOL in self.ask.tools and await can_search(provider, self.ask.seat.name):
            self.searches = self.context.spec.searches

    def _fit(self, room: float) -> bool:
        """Shorten what others said, and what tools were asked and gave, until the request has at most `room`
        tokens. False where it cannot be."""
        # What was shortened once no longer tells which parts of it are what others said.
        fitted = fit(self.whole, int(min(room, sys.maxsize)), self._tools())
        if fitted is not None:
            self.ask, self.cut = fitted
        return fitted is not None

    async def _intend(self) -> CallStarted:
        context, ask, sent = self.context, self.ask, self._sent()
        max_tokens = room(ask.seat, sent, context.spec.limits.max_output_tokens)
        started = CallStarted(
            **self.common,
            time=now(),
            attempt=context.journal.attempts(self.key) + 1,
            fingerprint=self.mark,
            model=ask.seat.model,
            prompt_id=ask.prompt.id,
            prompt_sha256=ask.prompt.sha256,
            prompt=ask.prompt.text,
            schema=ask.schema.json if ask.schema else None,
            max_tokens=max_tokens,
            cut=self.cut,
            searches=self.searches,
            reserved_usd=usd(context.budget.quote(ask.seat, sent, max_tokens, self.searches)),
        )
        await context.journal.append(started, ledger=context.budget.reserve(started))
        return started

    async def _race(self, provider: Provider, started: CallStarted, deadline: Deadline, gate: Gate) -> Sent:
        """What came of the request; where hedging is on and it is late, of it or of a second one."""
        context = self.context
        patience = context.hedging.patience(self.ask.seat.model) if context.spec.limits.hedge else None
        if patience is None:
            return await self._send(provider, started, deadline)
        sends = {started.attempt: asyncio.create_task(self._send(provider, started, deadline))}
        first = sends[started.attempt]
        try:
            await asyncio.wait([first], timeout=patience)
            if first.done() or gate.full or context.halt.reason is not None or not context.hedging.take():
                return await first
            async with gate.call(first, context.halt.requested, within=context.deadline.left) as inside:
                if first.done() or not inside:  # while the host's rate held the second one back
                    return await first
                try:
                    again = await self._intend()
                except OutOfBudget:
                    return await first
                sends[again.attempt] = asyncio.create_task(self._send(provider, again, deadline, quiet=True))
                return await self._first([(started, first), (again, sends[again.attempt])])
        finally:
            for task in sends.values():
                task.cancel()
            await asyncio.wait(sends.values())

    async def _first(self, sends: Sequence[tuple[CallStarted, asyncio.Task[Sent]]]) -> Sent:
        """The first reply, else the first request's failure; what came of the others is recorded."""
        waiting = {task for _, task in sends}
        answered: list[asyncio.Task[Sent]] = []
        while waiting and not answered:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            answered = [task for task in done if isinstance(task.result().result, Completion)]
        kept = next(iter(answered), sends[0][1])
        overtaken = ProviderError("overtaken", "another request for the same answered first", billed=True)
        for started, task in sends:
            if task is not kept:
                lost = task.result() if task.done() else Sent(started, overtaken, 0.0)
                error = overtaken if isinstance(lost.result, Completion) else lost.result
                self._failed(started, error, lost.elapsed_s, final=False, wait=None)
        return kept.result()

    async def _send(
        self, provider: Provider, started: CallStarted, deadline: Deadline, quiet: bool = False
    ) -> Sent:
        """quiet: nobody sees its text arrive, since that of another request for the same is shown."""
        context, seat, limits = self.context, self.ask.seat, self.context.spec.limits
        timeout = None if deadline.at is None else max(deadline.left, 0.001)
        call = Call(
            model=seat.name,
            messages=_messages(self.ask),
            tools=self._tools(),
            max_tokens=started.max_tokens,
            temperature=seat.temperature if seat.temperature is not None else limits.temperature,
            # One seed for all calls would make seats of one model say the same thing.
            seed=None if limits.seed is None else crc32(f"{limits.seed}{self.key}".encode()),
            schema=self.ask.schema,
            timeout_s=timeout,
            searches=self.searches,
        )

        def show(text: str) -> None:
            context.broadcast.publish(Token(**self.common, time=now(), run_id=context.run_id, text=text))

        arriving = StreamRedactor(context.redact_text, show)
        began = time.monotonic()
        result: Completion | ProviderError
        try:
            async with asyncio.timeout(timeout):
                result = await complete_call(
                    provider, call, arriving.add if context.broadcast.wants_text and not quiet else None
                )
        except TimeoutError:
            result = ProviderError("timeout", f"no answer within {round(timeout or 0, 1):g} s", billed=True)
        except ProviderError as exc:
            result = exc
        finally:
            arriving.end()
        return Sent(started, result, time.monotonic() - began)

    def _tools(self) -> tuple[ToolSpec, ...]:
        """The tools of the request. Its host's own search is none; nor is ours, where it cannot be had."""
        toolbox = self.context.toolbox
        return toolbox.specs(
            name for name in self.ask.tools if name != TOOL or (not self.searches and name in toolbox.tools)
        )

    def _sent(self) -> str:
        """All that the host reads of the request, as far as its tokens go."""
        return "\n".join(texts(self.ask, self._tools()))

    def _finished(self, started: CallStarted, done: Completion, elapsed: float) -> CallFinished:
        context, ask = self.context, self.ask
        bill = context.budget.bill(
            started, ask.seat.price, done.usage, self._sent(), bool(done.text), done.searches
        )
        absent = None if done.tool_calls and ask.tools else _absence(done)
        redact = context.redact_text
        text = redact(done.text)
        data, source = read_structured(text, ask.schema) if ask.schema else (None, None)
        finished = CallFinished(
            **self.common,
            time=now(),
            attempt=started.attempt,
            fingerprint=self.mark,
            model=redact(done.model) or ask.seat.model,
            text=text,
            tool_calls=tuple(redact.redact_json(asdict(call)) for call in done.tool_calls),
            # Once more: what is read may be a key that was spelt with escapes.
            data=redact.redact_json(data),
            finish_reason=done.finish_reason,
            input_tokens=bill.usage.input_tokens,
            cached_tokens=bill.usage.cached_tokens,
            output_tokens=bill.usage.output_tokens,
            reasoning_tokens=bill.usage.reasoning_tokens,
            cost_usd=usd(bill.cost_nusd),
            usage_flag=bill.flag,
            absent=absent,
            searches=done.searches if type(done.searches) is int else None,
            sources=tuple(redact(url) for url in done.sources if len(url) <= ADDRESS)[:SOURCES],
            source=source,
            elapsed_s=round(elapsed, 3),
        )
        context.record(started, bill.cost_nusd or 0, finished)
        return finished

    def _failed(
        self,
        started: CallStarted,
        error: ProviderError,
        elapsed: float,
        *,
        final: bool,
        wait: float | None,
    ) -> CallFailed:
        context, seat = self.context, self.ask.seat
        charged = started.reserved_usd if error.billed else 0.0
        failed = CallFailed(
            **self.common,
            time=now(),
            attempt=started.attempt,
            fingerprint=self.mark,
            model=seat.model,
            kind=error.kind,
            message=context.redact(str(error)),
            final=final,
            charged_usd=charged,
            retry_in_s=wait and round(wait, 3),
            elapsed_s=round(elapsed, 3),
        )
        context.record(started, nusd(charged), failed, *([self._dropped(failed)] if final else []))
        return failed

    def _left_out(self) -> CallFailed:
        """A seat that was dropped earlier is not asked; that too is in the record."""
        failed = self._unsent("dropped", "was dropped earlier in this run")
        self.context.journal.later(failed)
        return failed

    def _unsendable(self) -> CallFailed:
        """A request that cannot be made to fit is not sent blind: its seat is dropped."""
        window = f"{self.ask.seat.context or 0:,} tokens"
        return self._unasked("too_long", f"the question alone does not fit the model's window of {window}")

    def _refused(self) -> CallFailed | None:
        """A seat whose host is known to be down is dropped unasked, where the run can do without it."""
        context = self.context
        if len(context.spec.seats) - len(context.journal.dropped) <= context.quorum:
            return None
        reason = context.circuits[self.ask.seat.model].refusal(context.run_id)
        return None if reason is None else self._unasked("down", reason)

    def _unasked(self, kind: str, message: str) -> CallFailed:
        failed = self._unsent(kind, message)
        self.context.journal.later(failed)
        self.context.journal.later(self._dropped(failed))
        return failed

    def _unsent(self, kind: str, message: str) -> CallFailed:
        return CallFailed(
            **self.common,
            time=now(),
            attempt=self.context.journal.attempts(self.key),
            fingerprint=self.mark,
            model=self.ask.seat.model,
            kind=kind,
            message=message,
            final=True,
        )

    def _dropped(self, failed: CallFailed) -> SeatDropped:
        return SeatDropped(**self.common, time=failed.time, model=failed.model, reason=failed.message)

    def _copy(self, copied: CallFinished) -> CallFinished:
        taken = CallFinished(
            **self.common,
            time=now(),
            attempt=0,
            fingerprint=self.mark,
            model=copied.model,
            text=copied.text,
            data=copied.data,
            tool_calls=copied.tool_calls,
            finish_reason=copied.finish_reason,
            cost_usd=0.0,
            absent=copied.absent,
            sources=copied.sources,
            source=copied.source,
            copied=True,
        )
        self.context.journal.post(taken)
        return taken


def _absence(done: Completion) -> str | None:
    """Why a reply counts as silence, or None."""
    if is_blank(done.text):
        return "empty"
    return "refusal" if done.finish_reason == "filter" or is_refusal(done.text) else None


def _messages(ask: Ask) -> tuple[Message, ...]:
    messages = [Message("user", ask.prompt.text)]
    for turn in ask.turns:
        messages.append(Message("assistant", turn.text, turn.calls))
        messages += [
            Message("tool", result, tool_call_id=call.id, tool_name=call.name)
            for call, result in zip(turn.calls, turn.results, strict=True)
        ]
    return tuple(messages)
