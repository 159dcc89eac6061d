"""One call to a model: the only place that sends requests, and the only retry loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from ...core.events import CallFailed, CallFinished, CallStarted, Token
from ...core.parsing.json_objects import read_structured
from ...core.steps import Ask
from ...errors import OutOfBudget, ProviderError, Starved
from ...isolation import lacks_files
from ...providers.base import Completion, Provider, can_search, complete_call, ensure_open, is_open
from ...providers.unsent import too_late
from ..context import RunContext
from ..drive import Where
from ..journal import Outcome
from ..spending.budget import Bill, OutputLimits, usd
from .admission import Refusal
from .context_window import request_limit, shorter
from .counted_prompts import Bound
from .failed_calls import FailedCalls
from .host_notes import host_notes
from .host_search import TOOL
from .limits import Deadline, Gate, Slot, delay
from .live_text import LiveText
from .reply import (
    LONGEST_DETAIL,
    Response,
    absence,
    copy_reply,
    no_answer,
    separate,
    stored_reasoning,
    stored_sources,
)
from .reply_limits import ReplyLimits
from .request import CallRequest

__all__ = ["ModelCall"]


class ModelCall:
    """The attempts at one step. `outcome` performs them."""

    def __init__(self, context: RunContext, key: str, ask: Ask, where: Where) -> None:
        self.context, self.key = context, key
        self.common = dict[str, Any](key=key, phase=where.phase, round=where.round, seat=ask.seat.label)
        self.fingerprint = ask.fingerprint
        is_short = ask.schema is not None or ask.max_tokens is not None
        self.answers = where.closing and not where.has_answer and not is_short
        # With a second request for the same call, either may be the reply.
        self.closing = ask.closing and where.closing and not context.spec.limits.hedge
        self.deadline = Deadline(None)
        self.failures = FailedCalls(context, ask.seat, self.common, self.fingerprint)
        thinking = context.spec.thinking(ask.seat, where.phase, ask.effort)
        self.request = CallRequest(context, key, ask, thinking)
        self.limits = ReplyLimits(context, key, ask.seat, ask.max_tokens, thinking)

    @property
    def ask(self) -> Ask:
        """The step as it is sent."""
        return self.request.ask

    async def outcome(self) -> Outcome:
        """Perform the call and return its recorded outcome. Raises `NoQuorum`, `Halted`."""
        context, request, seat = self.context, self.request, self.ask.seat
        if seat.label in context.journal.dropped:
            return self.failures.already_dropped()
        if (inherited := context.journal.inherit(self.key, self.ask)) is not None:
            copy = copy_reply(inherited, self.fingerprint, **self.common, time=self.context.now())
            context.journal.post(copy)
            return copy
        # Here and not where a seat is dropped: a replay reads that from the journal and must still check.
        context.check_quorum()
        gate, provider = context.gates[seat.provider], context.open_provider(seat.provider)
        searching = context.spec.searches and TOOL in self.ask.tools
        if searching or not is_open(provider):
            await context.unless_halted(self._prepare_provider(provider))
        tries = 0
        limit, windows = request_limit(seat), context.windows
        if not (request.fit(windows.get(seat.model, limit)) or request.fit(limit)):
            return self.failures.too_long()
        while True:
            try:
                sent = await self._attempt(provider, gate)
            except OutOfBudget as exc:
                if (cut := self.limits.unaffordable(request.size)) is None:
                    raise
                context.unaffordable = exc.explained(cut.message)
                if "." not in self.key:  # no other branch may do: the answer of this seat is needed
                    raise
                return self.failures.unanswered(cut)
            if isinstance(sent, CallFailed):
                return sent
            started, result, elapsed = sent.started, sent.result, sent.elapsed_s
            if isinstance(result, Completion):
                context.hedging.record(seat.model, elapsed)
                context.circuits[seat.model].record_success()
                if not self._is_unused(started, result, elapsed, tries):
                    return self._record_reply(started, result, elapsed)
                self._record_unused(started, result, elapsed)
                tries += result.finish_reason == "malformed"
                continue
            tries += 1
            wait = delay(tries, result) if result.retryable and tries <= context.spec.limits.retries else None
            if result.kind == "too_long":
                # The window is smaller than configured, or the tokenizer splits finer than our estimate.
                tries, size = tries - 1, request.size
                wait = 0.0 if any(request.fit(size * share) for share in shorter(result.fits)) else None
                windows[seat.model] = min(request.size, windows.get(seat.model, request.size))
            if wait is not None and wait >= self.deadline.left:
                wait = None
            if context.deadline.left <= 0 or context.halt.reason is not None:
                # The run stops, the seat does not fail: a resume tries again.
                self.failures.record(started, result, elapsed, final=False, wait=None)
                context.check()
            failed = self.failures.record(started, result, elapsed, final=wait is None, wait=wait)
            if wait is None:
                context.circuits[seat.model].record_failure(context.run_id, failed.kind, failed.message)
                return failed
            await context.sleep(wait)

    async def _attempt(self, provider: Provider, gate: Gate) -> Response | CallFailed:
        """Return the response to a request, or the failure that drops the seat before one is sent."""
        context = self.context
        refused: Refusal | None = None
        wakes = 0
        while True:
            if refused is not None:
                await self._wait_for_room(refused, wakes)
            if (dropped := self.failures.drop_if_down()) is not None:
                return dropped
            async with gate.call(context.halt.requested, within=context.deadline.left) as slot:
                context.check()
                if slot is None:
                    continue
                if (dropped := self.failures.drop_if_down()) is not None:  # while it waited for the gate
                    return dropped
                wakes = context.waiting.wakes
                intent = await self._record_intent()
                if isinstance(intent, CallStarted):
                    if self.deadline.at is None:
                        self.deadline = Deadline.after(context.spec.limits.call_deadline_s)
                    context.waiting.begun(context.run_id)
                    if refused is not None:
                        context.waiting.wake()  # the next call may have room too
                    deadline = self.deadline.sooner(context.deadline)
                    return await self._race(provider, intent, deadline, gate, slot)
                refused = intent

    async def _wait_for_room(self, refused: Refusal, wakes: int) -> None:
        """Wait until a call that was refused may have room. Raises `OutOfBudget` if none will come, `Halted`.

        wakes: see `Waiting.wait`.
        Not while it holds a slot of its host: calls that free room may need that.
        """
        context, began = self.context, time.monotonic()
        if refused.scope is None:
            context.waiting.wake()  # a call that waited for this run, or behind it
            raise refused.error
        place = (context.budget.is_new, context.journal.created_at, context.run_id)
        await context.waiting.wait(
            refused.scope, place, context.halt.requested, wakes=wakes, within=max(context.deadline.left, 0)
        )
        context.check()
        if self.deadline.at is not None:  # of an attempt before this one
            self.deadline = Deadline(self.deadline.at + time.monotonic() - began)

    async def _prepare_provider(self, provider: Provider) -> None:
        # The call itself reports what is wrong with the provider.
        with suppress(ProviderError, TimeoutError):
            await ensure_open(provider)
        if TOOL in self.ask.tools and await can_search(provider, self.ask.seat.name):
            self.request.searches = self.context.spec.searches

    async def _record_intent(self, whole: int | None = None) -> CallStarted | Refusal:
        """Reserve the cost of a request and record it. whole: the only limit of its output that will do.

        If there is no room for its usual limit, its host is asked first how many tokens its text has.
        """
        context, request, seat = self.context, self.request, self.ask.seat
        provider, bound = context.open_provider(seat.provider), request.bound()
        may_count = whole is None and request.may_count(bound) and hasattr(provider, "count_tokens")
        limits = self.limits.in_budget(request.size) if whole is None else OutputLimits.only(whole)
        intent = await self._record_within(OutputLimits.only(limits.most) if may_count else limits, bound)
        # A run that is not begun yet waits for the cost of all of it.
        if isinstance(intent, CallStarted) or not may_count or intent.error.expected is not None:
            return intent
        left = self.deadline.sooner(context.deadline).left
        await context.unless_halted(request.count(provider, limits.most, left))
        return await self._record_within(limits, request.bound())

    async def _record_within(self, limits: OutputLimits, bound: Bound) -> CallStarted | Refusal:
        context, request, time = self.context, self.request, self.context.now()
        ask, attempt = request.ask, context.journal.attempts(self.key) + 1
        quote = context.budget.quote(ask.seat, bound.most, request.searches, request.image_tokens)
        calls = context.settled_calls

        def intent(connection: Connection) -> CallStarted | Refusal:
            reserved = context.budget.reserve(connection, time, quote, limits, context.spent_nusd, calls)
            if isinstance(reserved, Refusal):
                return reserved
            return CallStarted(
                **self.common,
                time=time,
                attempt=attempt,
                fingerprint=self.fingerprint,
                model=ask.seat.model,
                prompt_id=ask.prompt.id,
                prompt_sha256=ask.prompt.sha256,
                prompt=ask.prompt.text,
                system=ask.prompt.system,
                schema=ask.schema.json if ask.schema else None,
                max_tokens=reserved.max_tokens,
                cut=request.cut_chars,
                searches=request.searches,
                reserved_usd=usd(reserved.amount),
                answers=self.answers,
            )

        return await context.journal.reserve(intent)

    def _is_unused(self, started: CallStarted, done: Completion, elapsed: float, tries: int) -> bool:
        """Return whether a reply is asked for again."""
        if done.finish_reason == "malformed":
            return not tries
        left = min(self.deadline.left, self.context.deadline.left)
        return self.limits.is_too_low(self.request.size, started.max_tokens, done, elapsed, left)

    def _record_unused(self, started: CallStarted, done: Completion, elapsed: float) -> None:
        bill = self._bill(started, done)
        why = self.limits.why_again(self.request.size, started.max_tokens, done, bill.usage)
        self.failures.record_unused(started, done, bill, elapsed, why)

    async def _race(
        self, provider: Provider, started: CallStarted, deadline: Deadline, gate: Gate, slot: Slot
    ) -> Response:
        """Return the response to the request or, if hedging is on and it is late, to a second one."""
        context = self.context
        patience = context.hedging.patience(self.ask.seat.model) if context.spec.limits.hedge else None
        if patience is None:
            return await self._send(provider, started, deadline, slot)
        sends = {started.attempt: asyncio.create_task(self._send(provider, started, deadline, slot))}
        first = sends[started.attempt]
        try:
            await asyncio.wait([first], timeout=patience)
            if first.done() or gate.full or context.halt.reason is not None or not context.hedging.acquire():
                return await first
            async with gate.call(first, context.halt.requested, within=context.deadline.left) as more:
                if first.done() or more is None:  # while the second one waited for the host's rate limit
                    return await first
                # A second request needs room without a wait, for as long a reply; else there is none.
                second = None
                if started.max_tokens == self.limits.next(self.request.size):
                    second = await self._record_intent(started.max_tokens)
                if not isinstance(second, CallStarted):
                    return await first
                hedge = asyncio.create_task(self._send(provider, second, deadline, more, quiet=True))
                sends[second.attempt] = hedge
                return await self._first([(started, first), (second, hedge)])
        finally:
            for task in sends.values():
                task.cancel()
            await asyncio.wait(sends.values())

    async def _first(self, sends: Sequence[tuple[CallStarted, asyncio.Task[Response]]]) -> Response:
        """Return the first completion, else the first request's failure. Record failures for the others."""
        waiting = {task for _, task in sends}
        completed: list[asyncio.Task[Response]] = []
        while waiting and not completed:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            completed = [task for task in done if isinstance(task.result().result, Completion)]
        winner = next(iter(completed), sends[0][1])
        overtaken = ProviderError("overtaken", "another request for the call was answered first", billed=True)
        for started, task in sends:
            if task is not winner:
                other = task.result() if task.done() else Response(started, overtaken, 0.0)
                error = overtaken if isinstance(other.result, Completion) else other.result
                self.failures.record(started, error, other.elapsed_s, final=False, wait=None)
        return winner.result()

    async def _send(
        self, provider: Provider, started: CallStarted, deadline: Deadline, slot: Slot, quiet: bool = False
    ) -> Response:
        """Send the request and return the response. quiet: do not publish its text, since the text of another
        request for the same call is published."""
        context = self.context
        timeout = None if deadline.at is None else max(deadline.left, 0.001)
        call = self.request.call(started.max_tokens, timeout)
        live: LiveText | None = None
        context.warm_up.begin(context.names)
        started_at = time.monotonic()
        result: Completion | ProviderError
        try:
            async with asyncio.timeout(timeout):
                await slot.ready()
                started_at = time.monotonic()
                if context.broadcast.wants(self.closing) and not quiet:
                    live = LiveText(context.redact_text, self._publish)
                result = separate(await complete_call(provider, call, live.add if live else None))
        except TimeoutError as exc:
            result = too_late(exc, timeout)
        except ProviderError as exc:
            result = exc.with_traceback(None)  # whose frames hold the error, and all that a call needs
            if lacks_files(exc.__cause__):
                # No fault of the host's: no other seat could connect either.
                context.halt.request(Starved(context.run_id))
        finally:
            if live is not None:
                live.end()
        return Response(started, result, time.monotonic() - started_at)

    def _publish(self, text: str, restart: bool) -> None:
        """Show the next piece of a reply to those who follow the run, see `LiveText`."""
        common = {**self.common, "time": self.context.now(), "run_id": self.context.run_id}
        self.context.broadcast.publish(Token(**common, text=text, answer=self.closing, restart=restart))

    def _bill(self, started: CallStarted, done: Completion) -> Bill:
        request, wrote = self.request, bool(done.text or done.reasoning)
        price, text, images = request.ask.seat.price, request.input_tokens, request.image_tokens
        bill = self.context.budget.bill(started, price, done.usage, text, wrote, done.searches, images)
        if bill.flag is None:
            request.note_charged(bill.usage.input_tokens)
        return bill

    def _record_reply(self, started: CallStarted, done: Completion, elapsed: float) -> CallFinished:
        context, ask, redact = self.context, self.ask, self.context.redact_text
        bill = self._bill(started, done)
        absent = absence(done, no_answer(done, bill.usage, self.limits.setting(started.max_tokens)))
        if done.tool_calls and ask.tools:
            absent = None
        if ask.max_tokens is None and done.finish_reason == "stop" and bill.usage.output_tokens:
            context.note_answer(bill.usage.output_tokens)
        text = redact(done.text)
        data, source = read_structured(text, ask.schema) if ask.schema else (None, None)
        finished = CallFinished(
            **self.common,
            time=self.context.now(),
            attempt=started.attempt,
            fingerprint=self.fingerprint,
            model=redact(done.model) or ask.seat.model,
            text=text,
            tool_calls=tuple(redact.redact_json(asdict(call)) for call in done.tool_calls),
            # Redacted again: an API key that was written with escapes is only now readable.
            data=redact.redact_json(data),
            finish_reason=done.finish_reason,
            input_tokens=bill.usage.input_tokens,
            cached_tokens=bill.usage.cached_tokens,
            output_tokens=bill.usage.output_tokens,
            reasoning_tokens=bill.usage.reasoning_tokens,
            cache_write_tokens=bill.usage.cache_write_tokens,
            cache_write_1h_tokens=bill.usage.cache_write_1h_tokens,
            cost_usd=usd(bill.cost_nusd),
            usage_flag=bill.flag,
            absent=absent and redact(absent),
            searches=done.searches if type(done.searches) is int else None,
            sources=stored_sources(done, redact),
            source=source,
            notes=tuple(
                map(redact, context.new_notes(host_notes(ask.seat, self.request.text(thoughts=False), done)))
            ),
            elapsed_s=round(elapsed, 3),
            finish_detail=redact(done.finish_detail)[:LONGEST_DETAIL],
            reasoning=stored_reasoning(done, redact),
        )
        context.record(started, bill.cost_nusd or 0, finished)
        return finished
