"""The events of a run as a transcript: entries in order, and the current state of every seat.

The live view, the plain lines, `pnyx show` and the exports all use it. It takes one event at a time and
does not format. Texts are unescaped: each renderer makes them safe for its output.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.events import (
    BranchesClosed,
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    RunStarted,
    SeatAbstained,
    SeatDropped,
    Token,
    ToolCalled,
    UnknownEvent,
    VoteTallied,
    closed_branches,
    is_abstention,
)
from ...core.models import money
from ...core.sycophancy.detect import is_blank
from ...run.journal import CUT_OFF
from ...run.result import Cost, Summary
from ...run.spending.exhaustion import budget_name, reason
from ..render.terminal import clip
from .structured import reply_text
from .tallies import votes_text, winner_of

__all__ = ["Entry", "SeatState", "Transcript", "location", "quantity", "seat_name", "seconds"]

TAIL_CHARS = 400
"""Characters of an unfinished reply that are stored for the live view."""
QUOTED = 200
"""Cells on a terminal of what a seat wrote that abstains."""


def paid(known_usd: float, unpriced: bool) -> str:
    """What several requests cost together. unpriced: the price of some is unknown."""
    if not unpriced:
        return money(known_usd)
    return f"at least {money(known_usd)}" if known_usd else money(None)


def quantity(count: float, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def seconds(elapsed: float) -> str:
    minutes, rest = divmod(round(elapsed), 60)
    return f"{elapsed:.1f} s" if elapsed < 59.95 else f"{minutes} min {rest} s"


def seat_name(seat: str | None, model: str) -> str:
    """The name of a seat for people, with its model: "Participant B (lab:beta)"."""
    return f"{seat} ({model})" if seat else model


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the transcript.

    kind: reply | silence | retry | unknown | dropped | tool | tally | budget | cut.
    title: location and seat, "Round 1 · propose · Participant B (lab:beta)". text: a reply or a reason.
    facts: short texts of ours about it, such as tokens, cost and time. reasoning: what the model thought
    before its reply, which is only shown on demand.
    """

    kind: str
    title: str
    text: str = ""
    facts: tuple[str, ...] = ()
    reasoning: str = ""


@dataclass(slots=True)
class SeatState:
    """The state of a seat after the events so far. since: clock time when its oldest open call started.

    arriving: pieces of text of the unfinished reply, about as many as its tokens.
    state: waiting | asked | writing | answered | silent | retrying | dropped.
    replied: whether a call had a reply, with an answer or without.
    failure: kind of its last call that failed, or "".
    """

    label: str
    model: str
    role: str = ""
    state: str = "waiting"
    phase: str = ""
    replied: bool = False
    failure: str = ""
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: Cost = field(default_factory=Cost)
    busy_s: float = 0.0
    arriving: int = 0
    tail: str = ""
    open: dict[str, float] = field(default_factory=dict)

    @property
    def since(self) -> float | None:
        return min(self.open.values(), default=None)

    @property
    def cost_usd(self) -> float | None:
        return self.cost.usd


@dataclass
class Transcript:
    """The state of a run after the events so far.

    tools: the entry of every tool call, in order. tally: the last count of votes. result: the result object
    once the run ended or paused.
    """

    clock: Callable[[], float] = time.monotonic
    run_id: str = ""
    question: str = ""
    protocol: str = ""
    version: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Sequence[Mapping[str, Any]] = ()
    round: int = 0
    phase: str = ""
    seats: dict[str, SeatState] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)
    tools: list[Entry] = field(default_factory=list)
    tally: VoteTallied | None = None
    result: Mapping[str, Any] | None = None

    def add(self, event: Event) -> Entry | None:
        """Add an event; return its entry, or None if it has none."""
        self.summary.add(event)
        match event:
            case RunStarted():
                self._start(event)
            case PhaseEntered():
                self.round, self.phase = event.round or 0, event.phase or ""
            case CallStarted():
                return self._call_started(event)
            case Token():
                self._token(event)
            case CallFinished():
                return self._call_finished(event)
            case CallFailed():
                return self._call_failed(event)
            case SeatDropped():
                seat = self._seat(event, event.model)
                seat.state, seat.tail = "dropped", ""
                title = self._title(event, event.model)
                return Entry(kind="dropped", title=title, text=f"dropped: {event.reason}")
            case SeatAbstained():
                return self._abstained(event, event.seat, event.reason)
            case VoteTallied() if is_abstention(event):
                return self._abstained(event, next(iter(event.tally), None), str(event.detail.get("why", "")))
            case VoteTallied() if closed_branches(event):
                return None
            case RunFinished():
                self.result = event.result
            case ToolCalled() | VoteTallied() | Budget():
                entry = self._other_entry(event)
                self.tally = event if isinstance(event, VoteTallied) else self.tally
                if entry.kind == "tool":
                    self.tools.append(entry)
                return entry
            case BranchesClosed() | UnknownEvent():
                return None
        return None

    def _abstained(self, event: SeatAbstained | VoteTallied, seat: str | None, reason: str) -> Entry:
        """An entry for a seat whose verdict could not be read."""
        model = self.seats[seat].model if seat in self.seats else ""
        why = f" ({reason})" if reason else ""
        text = f"{seat or 'a seat'} abstains: its verdict could not be read{why}"
        return Entry(kind="tally", title=self._title(event, model), text=text)

    @property
    def now(self) -> str:
        """The current location: "Round 1 · challenge"."""
        return _location(self.round, self.phase)

    def by_model(self) -> dict[str, SeatState]:
        """The usage and cost of each model, summed over its seats."""
        models: dict[str, SeatState] = {}
        for seat in self.seats.values():
            total = models.setdefault(seat.model, SeatState("", seat.model))
            for name in ("calls", "input_tokens", "cached_tokens", "output_tokens", "busy_s"):
                setattr(total, name, getattr(total, name) + getattr(seat, name))
            total.cost.known_usd += seat.cost.known_usd
            total.cost.unpriced |= seat.cost.unpriced
        return models

    def _start(self, event: RunStarted) -> None:
        self.run_id, self.question, self.protocol = event.run_id, event.question, event.protocol
        self.version, self.options, self.files = event.version, event.options, event.files
        for seat in event.seats:
            self.seats[seat["seat"]] = SeatState(seat["seat"], seat["model"], seat.get("role") or "")

    def _call_started(self, event: CallStarted) -> Entry | None:
        seat = self._seat(event, event.model)
        seat.calls += 1
        seat.cost.add(event)
        seat.open[event.key] = self.clock()
        seat.state, seat.phase, seat.tail, seat.arriving = "asked", event.phase or "", "", 0
        if not event.cut:
            return None
        text = f"the prompt was shortened by {event.cut:,} characters to fit the context window"
        return Entry(kind="cut", title=self._title(event, event.model), text=text)

    def _token(self, event: Token) -> None:
        seat = self._seat(event, "")
        seat.state = "writing"
        seat.arriving += 1
        seat.tail = (event.text if event.restart else seat.tail + event.text)[-TAIL_CHARS:]

    def _call_finished(self, event: CallFinished) -> Entry:
        seat = self._seat(event, event.model)
        seat.open.pop(event.key, None)
        seat.cost.add(event)
        seat.tail, seat.arriving = "", 0
        seat.state, seat.replied = "silent" if event.absent else "answered", True
        counted = event.output_tokens or not event.usage_flag
        tokens = quantity(event.output_tokens, "token") if counted else "tokens unknown"
        facts = [tokens, money(event.cost_usd), seconds(event.elapsed_s)]
        if event.reasoning_tokens:
            facts.insert(1, f"{event.reasoning_tokens:,} of them reasoning")
        if event.copied:
            facts = ["reused from the forked run"]
        else:
            for name in ("input_tokens", "cached_tokens", "output_tokens"):
                setattr(seat, name, getattr(seat, name) + getattr(event, name))
            seat.busy_s += event.elapsed_s
        if event.finish_reason == "length":
            facts.append("cut at the token limit")
        if event.searches:
            facts.append(f"searched {quantity(event.searches, 'time')}")
        if event.usage_flag:
            charged = "" if event.cost_usd is None else ", charged at the reservation"
            facts.append(f"usage {event.usage_flag}{charged}")
        title = self._title(event, seat.model)
        if event.absent:
            # What the model wrote instead, if it shows.
            words = "" if is_blank(event.text) else clip(event.text, QUOTED)
            text = ": ".join(filter(None, ("abstained", event.abstention, words)))
            return Entry(
                kind="silence", title=title, text=text, facts=tuple(facts), reasoning=event.reasoning or ""
            )
        tools = ", ".join(str(call.get("name")) for call in event.tool_calls)
        facts += [f"calls {tools}"] if tools else []
        return Entry(
            kind="reply",
            title=title,
            text=reply_text(event),
            facts=tuple(facts),
            reasoning=event.reasoning or "",
        )

    def _call_failed(self, event: CallFailed) -> Entry | None:
        seat = self._seat(event, event.model)
        seat.open.pop(event.key, None)
        seat.busy_s += event.elapsed_s
        seat.cost.add(event)
        seat.failure, seat.tail, seat.arriving = event.kind, "", 0
        for name in ("input_tokens", "cached_tokens", "output_tokens"):
            setattr(seat, name, getattr(seat, name) + getattr(event, name))
        if event.final:
            if event.kind != CUT_OFF:
                return None  # the seat is dropped, and that event says why
            seat.state = "silent"
            title = self._title(event, event.model)
            return Entry(kind="silence", title=title, text=f"abstained: {event.message}")
        seat.state = "retrying" if event.retry_in_s is not None else "waiting"
        facts = [f"attempt {event.attempt}"]
        if event.charged_usd != 0:
            facts.append(f"charged {money(event.charged_usd)}")
        if event.retry_in_s is not None:
            facts.append(f"retry in {seconds(event.retry_in_s)}")
        kind = "unknown" if event.kind == "unknown" else "retry"
        title, reasoning = self._title(event, event.model), event.reasoning or ""
        words = "" if is_blank(event.text) else clip(event.text, QUOTED)
        text = ": ".join(filter(None, (event.message, words)))
        return Entry(kind=kind, title=title, text=text, facts=tuple(facts), reasoning=reasoning)

    def _other_entry(self, event: ToolCalled | VoteTallied | Budget) -> Entry:
        """The entry for a tool call, a tally or a budget event."""
        match event:
            case ToolCalled():
                model = self.seats[event.seat].model if event.seat in self.seats else ""
                arguments = ", ".join(f"{name}={value}" for name, value in event.arguments.items())
                outcome = event.outcome if event.ok else f"failed: {event.outcome}"
                title = f"{self._title(event, model)} · {event.tool}({arguments})"
                return Entry(kind="tool", title=title, text=outcome, facts=(seconds(event.elapsed_s),))
            case VoteTallied():
                tally = ", ".join(f"{of} ({votes_text(n)})" for of, n in event.tally.items()) or "no votes"
                winner = winner_of(event)
                end = f" → {winner}" if winner else ", a tie" if len(event.tally) > 1 and event.winner else ""
                text = f"{event.rule}: {tally}{end}"
                return Entry(kind="tally", title=self._title(event, ""), text=text)
            case Budget(kind="exhausted"):
                title, _, text = reason(event).partition(": ")
                return Entry(kind="budget", title=title, text=text)
            case Budget():
                spent = f"{money(event.spent_usd)} spent, {money(event.reserved_usd)} reserved"
                cap = "" if event.cap_usd is None else f" of {money(event.cap_usd)}"
                over = f"; {money(event.overrun_usd)} more than was reserved" if event.overrun_usd else ""
                title = f"{budget_name(event)} {event.kind}"
                return Entry(kind="budget", title=title, text=f"{spent}{cap}{over}")

    def _title(self, event: Event, model: str) -> str:
        seat = seat_name(event.seat, self._seat(event, model).model) if event.seat else ""
        return " · ".join(filter(None, [location(event), seat]))

    def _seat(self, event: Event, model: str) -> SeatState:
        return self.seats.setdefault(event.seat or "", SeatState(event.seat or "", model))


def location(event: Event) -> str:
    """The location of an event in its run, the start of its entry's title: "Round 1 · challenge"."""
    return _location(event.round or 0, event.phase or "")


def _location(round: int, phase: str) -> str:
    return " · ".join(filter(None, [f"Round {round}" if round else "", phase]))
