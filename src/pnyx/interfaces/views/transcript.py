"""A run's events as a person follows them: what was said, in order, and where every seat stands.

The one reader of events behind the live view, the plain lines, `pnyx show` and the exports. It is fed
one event at a time and decides nothing about looks. Texts are kept as they were said: whoever shows
them makes them safe for where they go.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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
from ...run.exhaustion import reason
from ...run.result import Cost, Summary

__all__ = ["Entry", "Place", "Transcript", "place_name", "quantity", "seconds", "whereabouts"]

TAIL_CHARS = 400
"""How much of the text that is arriving is kept for the screen."""


def paid(known_usd: float, unpriced: bool) -> str:
    """What several requests cost together. unpriced: the price of some is unknown."""
    if not unpriced:
        return money(known_usd)
    return f"at least {money(known_usd)}" if known_usd else money(None)


def quantity(count: float, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def seconds(elapsed: float) -> str:
    return f"{elapsed:.1f} s" if elapsed < 60 else f"{int(elapsed // 60)} min {int(elapsed % 60)} s"


def place_name(seat: str | None, model: str) -> str:
    """A seat as people are told of it, who may know what other seats may not: "Participant B (lab:beta)"."""
    return f"{seat} ({model})" if seat else model


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that a reader is told.

    kind: reply | silence | retry | unknown | dropped | tool | tally | budget | cut.
    title: where and who, "Round 1 · propose · Participant B (lab:beta)". text: what was said, or why.
    facts: what is to be said about it (tokens, cost, time), ours and short.
    """

    kind: str
    title: str
    text: str = ""
    facts: tuple[str, ...] = ()


@dataclass(slots=True)
class Place:
    """A seat, as far as the events tell. since: on the clock, when its oldest open call began.

    arriving: pieces of text of a reply that is not finished, which is about its tokens so far.
    state: waiting | asked | writing | answered | silent | retrying | dropped.
    """

    label: str
    model: str
    role: str = ""
    state: str = "waiting"
    phase: str = ""
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
    """What the events so far come to.

    tools: every use of a tool, in order. result: the result object once the run has ended or paused.
    """

    clock: Callable[[], float] = time.monotonic
    run_id: str = ""
    question: str = ""
    protocol: str = ""
    version: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    round: int = 0
    phase: str = ""
    places: dict[str, Place] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)
    tools: list[Entry] = field(default_factory=list)
    result: Mapping[str, Any] | None = None

    def add(self, event: Event) -> Entry | None:
        """Take in one event; what a reader is to be told of it, or None."""
        self.summary.add(event)
        match event:
            case RunStarted():
                self._start(event)
            case PhaseEntered():
                self.round, self.phase = event.round or 0, event.phase or ""
            case CallStarted():
                return self._asked(event)
            case Token():
                self._heard(event)
            case CallFinished():
                return self._finished(event)
            case CallFailed():
                return self._failed(event)
            case SeatDropped():
                place = self._place(event, event.model)
                place.state, place.tail = "dropped", ""
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
                entry = self._aside(event)
                if entry.kind == "tool":
                    self.tools.append(entry)
                return entry
            case BranchesClosed() | UnknownEvent():
                return None
        return None

    def _abstained(self, event: SeatAbstained | VoteTallied, seat: str | None, reason: str) -> Entry:
        """An entry for a seat whose verdict could not be read."""
        model = self.places[seat].model if seat in self.places else ""
        why = f" ({reason})" if reason else ""
        text = f"{seat or 'a seat'} abstains: its verdict could not be read{why}"
        return Entry(kind="tally", title=self._title(event, model), text=text)

    @property
    def now(self) -> str:
        """Where the run is: "Round 1 · challenge"."""
        return _where(self.round, self.phase)

    def by_model(self) -> dict[str, Place]:
        """What each model took and cost over all of its seats."""
        models: dict[str, Place] = {}
        for place in self.places.values():
            total = models.setdefault(place.model, Place("", place.model))
            for name in ("calls", "input_tokens", "cached_tokens", "output_tokens", "busy_s"):
                setattr(total, name, getattr(total, name) + getattr(place, name))
            total.cost.known_usd += place.cost.known_usd
            total.cost.unpriced |= place.cost.unpriced
        return models

    def _start(self, event: RunStarted) -> None:
        self.run_id, self.question, self.protocol = event.run_id, event.question, event.protocol
        self.version, self.options = event.version, event.options
        for seat in event.seats:
            self.places[seat["seat"]] = Place(seat["seat"], seat["model"], seat.get("role") or "")

    def _asked(self, event: CallStarted) -> Entry | None:
        place = self._place(event, event.model)
        place.calls += 1
        place.cost.add(event)
        place.open[event.key] = self.clock()
        place.state, place.phase, place.tail, place.arriving = "asked", event.phase or "", "", 0
        if not event.cut:
            return None
        told = f"shortened by {event.cut:,} characters, to fit the model's window"
        return Entry(kind="cut", title=self._title(event, event.model), text=f"what it is shown was {told}")

    def _heard(self, event: Token) -> None:
        place = self._place(event, "")
        place.state = "writing"
        place.arriving += 1
        place.tail = (place.tail + event.text)[-TAIL_CHARS:]

    def _finished(self, event: CallFinished) -> Entry:
        place = self._place(event, event.model)
        place.open.pop(event.key, None)
        place.cost.add(event)
        place.tail, place.arriving = "", 0
        place.state = "silent" if event.absent else "answered"
        facts = [f"{event.output_tokens:,} tokens", money(event.cost_usd), seconds(event.elapsed_s)]
        if event.copied:
            facts = ["taken from the forked run"]
        else:
            for name in ("input_tokens", "cached_tokens", "output_tokens"):
                setattr(place, name, getattr(place, name) + getattr(event, name))
            place.busy_s += event.elapsed_s
        if event.finish_reason == "length":
            facts.append("cut at the token limit")
        if event.searches:
            facts.append(f"searched {quantity(event.searches, 'time')}")
        if event.usage_flag:
            facts.append(f"usage {event.usage_flag}, charged at the reservation")
        title = self._title(event, place.model)
        if event.absent:
            said = f"abstained: {'said nothing' if event.absent == 'empty' else event.absent}"
            return Entry(kind="silence", title=title, text=said, facts=tuple(facts))
        wanted = ", ".join(str(call.get("name")) for call in event.tool_calls)
        facts += [f"wants {wanted}"] if wanted else []
        return Entry(kind="reply", title=title, text=event.text, facts=tuple(facts))

    def _failed(self, event: CallFailed) -> Entry | None:
        place = self._place(event, event.model)
        place.open.pop(event.key, None)
        place.busy_s += event.elapsed_s
        place.cost.add(event)
        place.tail, place.arriving = "", 0
        if event.final:
            return None  # the seat is dropped, and that event says why
        place.state = "retrying" if event.retry_in_s is not None else "waiting"
        facts = [f"attempt {event.attempt}"]
        if event.charged_usd != 0:
            facts.append(f"charged {money(event.charged_usd)}")
        if event.retry_in_s is not None:
            facts.append(f"again in {seconds(event.retry_in_s)}")
        kind = "unknown" if event.kind == "unknown" else "retry"
        return Entry(kind=kind, title=self._title(event, event.model), text=event.message, facts=tuple(facts))

    def _aside(self, event: ToolCalled | VoteTallied | Budget) -> Entry:
        """What is neither said nor failed."""
        match event:
            case ToolCalled():
                model = self.places[event.seat].model if event.seat in self.places else ""
                given = ", ".join(f"{name}={value}" for name, value in event.arguments.items())
                outcome = event.outcome if event.ok else f"failed: {event.outcome}"
                title = f"{self._title(event, model)} · {event.tool}({given})"
                return Entry(kind="tool", title=title, text=outcome, facts=(seconds(event.elapsed_s),))
            case VoteTallied():
                tally = ", ".join(f"{of} {n:g}" for of, n in event.tally.items())
                winner = f" → {event.winner}" if event.winner else ""
                said = f"{event.rule}: {tally}{winner}"
                return Entry(kind="tally", title=self._title(event, ""), text=said)
            case Budget(kind="exhausted"):
                title, _, text = reason(event).partition(": ")
                return Entry(kind="budget", title=title, text=text)
            case Budget():
                spent = f"{money(event.spent_usd)} spent, {money(event.reserved_usd)} reserved"
                cap = "" if event.cap_usd is None else f" of {money(event.cap_usd)}"
                over = f"; {money(event.overrun_usd)} more than was reserved" if event.overrun_usd else ""
                text = f"{event.scope}: {spent}{cap}{over}"
                return Entry(kind="budget", title=f"budget {event.kind}", text=text)

    def _title(self, event: Event, model: str) -> str:
        who = place_name(event.seat, self._place(event, model).model) if event.seat else ""
        return " · ".join(filter(None, [whereabouts(event), who]))

    def _place(self, event: Event, model: str) -> Place:
        return self.places.setdefault(event.seat or "", Place(event.seat or "", model))


def whereabouts(event: Event) -> str:
    """Where in its run an event happened, as its entry's title begins: "Round 1 · challenge"."""
    return _where(event.round or 0, event.phase or "")


def _where(round: int, phase: str) -> str:
    return " · ".join(filter(None, [f"Round {round}" if round else "", phase]))
