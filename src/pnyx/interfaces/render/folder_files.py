"""A run as a folder: pages for people and a `state.json` for programs; which they are, and their text.

Made of the events alone: fed as they come or read from storage, they give the same files. No file is
ever taken away again. Names are made of our own labels, phases and numbers, never of what a model said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ... import protocols
from ...core.events import CallFailed, CallFinished, Event, RunFinished, RunStarted, ToolCalled, VoteTallied
from ...providers.redaction import redact_json
from ..views.records import Record
from ..views.transcript import Entry, Transcript, place_name, seconds
from .folder_final import closing
from .markdown import Markdown, Redact
from .terminal import flat, safe

__all__ = ["STATE", "Artifacts", "told"]

STATE = "state.json"
LONGEST = 40


def told(record: Record) -> Iterator[Event]:
    """The events as a live reader is told them: a paused run ends with one that is not stored."""
    yield from record.events
    if record.result.status == "paused":
        yield RunFinished(status="paused", result=record.document)


class Artifacts:
    """The files of one run, as far as its events tell. Paths are relative, with "/"."""

    def __init__(self, redact: Redact = str) -> None:
        self._redact, self._page = redact, Markdown(redact)
        self._view = Transcript()
        self._seq = 0
        self._begun = ""
        self._texts: dict[str, str] = {}
        self._seats: dict[str, str] = {}
        self._scopes: dict[str, str] = {"": ""}
        self._counts: list[tuple[Entry, VoteTallied]] = []
        self._tools: list[tuple[Entry, ToolCalled]] = []

    def add(self, event: Event) -> set[str]:
        """Take in the next event, one that is known already being nothing: the files it changes."""
        if event.seq is not None and event.seq <= self._seq:
            return set()
        self._seq = event.seq or self._seq
        entry = self._view.add(event)
        changed = {STATE}
        match event:
            case RunStarted():
                self._begun = event.time
                for seat in event.seats:
                    self._seat(seat["seat"])
                changed.add(self._append("prompt.md", self._prompt(event)))
            case CallFinished(absent=None) | ToolCalled() if entry is not None:
                changed.add(self._append(self._path(event, "md"), self._page.said(entry, "#")))
                if isinstance(event, ToolCalled):
                    self._tools.append((entry, event))
            case CallFinished():
                reason = "said nothing" if event.absent == "empty" else str(event.absent)
                changed.add(self._failed(event, reason, event.text))
            case CallFailed(final=True):
                changed.add(self._failed(event, f"{event.kind}: {event.message}"))
            case VoteTallied() if entry is not None:
                self._counts.append((entry, event))
            case RunFinished() if event.status != "paused":
                page, view, counts, tools = self._page, self._view, self._counts, self._tools
                last = closing(page, view, event.result, self._begun, counts, tools)
                changed.add(self._append("final.md", last))
            case _:
                pass
        return changed

    def text(self, path: str) -> str:
        """What is in a file that some event has changed."""
        return self._state() if path == STATE else self._texts[path]

    def _failed(self, event: CallFinished | CallFailed, reason: str, said: str = "") -> str:
        """A seat that gave nothing in a phase, and why; in plain text."""
        seat = event.seat or ""
        who = place_name(seat, self._view.places[seat].model)
        told = [f"round {event.round or 1}, {event.phase}: {who}", reason]
        words = safe(self._redact(said)).strip()
        lines = [*(flat(self._redact(line)) for line in told), "", words]
        return self._append(self._path(event, "failed"), lines)

    def _append(self, path: str, lines: Iterable[str]) -> str:
        text, before = "\n".join(lines).rstrip("\n") + "\n", self._texts.get(path)
        self._texts[path] = text if before is None else f"{before}\n{text}"
        return path

    def _path(self, event: CallFinished | CallFailed | ToolCalled, suffix: str) -> str:
        scope = self._scope(event.key)
        if isinstance(event, ToolCalled) and not event.seat:  # for all seats, before the first phase
            return f"{scope}panel.{_slug(event.tool)}.{suffix}"
        phase, protocol = event.phase or "", protocols.find(_inside(event.key)[-1] or self._view.protocol)
        # A protocol that is no longer installed leaves files that are called after its phases.
        noun = protocol.noun(phase) if protocol else phase
        # The files of a phase that comes once, after all rounds, lie beside the folders of the rounds.
        place = "" if protocol and phase in protocol.closing else f"round-{event.round or 1:03}/"
        return f"{scope}{place}{self._seat(event.seat or '')}.{_slug(noun)}.{suffix}"

    def _seat(self, label: str) -> str:
        """The label in lower case; a number for one that is not of the kind that runs deal."""
        if label not in self._seats:
            dealt = re.fullmatch(r"Participant ([A-Z]{1,8})", label)
            name = f"participant-{dealt[1].lower()}" if dealt else f"seat-{len(self._seats) + 1}"
            self._seats[label] = name
        return self._seats[label]

    def _scope(self, key: str) -> str:
        """The folder of the protocol that runs inside another: its name, and which one of the name it is."""
        steps = _inside(key)
        inside = "/".join(steps)
        if inside not in self._scopes:
            name = _slug(steps[-1])
            others = {scope for scope in self._scopes.values() if re.fullmatch(rf"{name}-\d+/", scope)}
            self._scopes[inside] = f"{name}-{len(others) + 1}/"
        return self._scopes[inside]

    def _prompt(self, event: RunStarted) -> Iterator[str]:
        page = self._page
        yield from ("# Question", "", *page.quoted(event.question), "", "# Panel", "")
        for seat in event.seats:
            role = f", as {seat['role']}" if seat.get("role") else ""
            yield f"- {page.plain(place_name(seat['seat'], seat['model']) + role)}"
        yield from ("", "# Settings", "", f"- protocol: {page.plain(event.protocol)}")
        for name, value in event.options.items():
            yield f"- {page.plain(name)}: {page.plain(str(value))}"
        yield f"- seed: {event.seed}"
        if event.budget_usd is not None:
            yield f"- budget: ${event.budget_usd:g}"
        if event.deadline_s is not None:
            yield f"- deadline: {seconds(event.deadline_s)}"
        if event.forked_from:
            yield f"- forked from: {page.plain(event.forked_from)}"
        yield f"- begun: {event.time}, by pnyx {page.plain(event.version)}"

    def _state(self) -> str:
        view, result = self._view, self._view.result
        state: Mapping[str, Any] = {
            "run_id": view.run_id,
            "status": result["status"] if result else "running",
            "protocol": view.protocol,
            "round": view.round,
            "phase": view.phase,
            "begun": self._begun,
            "seats": [
                {
                    "seat": place.label,
                    "file": self._seat(place.label),
                    "model": place.model,
                    "role": place.role or None,
                    "state": place.state,
                    "calls": place.calls,
                    "cost_usd": place.cost_usd and round(place.cost_usd, 9),
                }
                for place in view.places.values()
                if place.label
            ],
            "usage": view.summary.usage,
            "result": result,
        }
        return json.dumps(redact_json(state, self._redact), indent=2) + "\n"


def _inside(key: str) -> list[str]:
    """The steps of `key` up to the protocol that it is a step of; the last is that protocol's name.

    It is empty for the run's own protocol.
    """
    steps = key.split("/")
    while steps[-1][:1].isdigit():
        steps.pop()
    return steps


def _slug(text: str) -> str:
    """`text` as part of a file's name that every system takes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:LONGEST].strip("-") or "step"
