"""The files of a run as a folder: Markdown for people and `state.json` for programs.

They depend on the events only: live or stored events result in the same files. No file is ever removed.
Names consist of our own labels, phases and numbers, never of text from a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ... import protocols
from ...core.events import CallFailed, CallFinished, Event, RunFinished, RunStarted, ToolCalled, VoteTallied
from ...providers.redaction import redact_json
from ..views.files import file_words
from ..views.records import Record
from ..views.transcript import Entry, Transcript, seat_name, seconds
from .folder_final import final_lines
from .markdown import Markdown, Redact
from .terminal import flat, safe

__all__ = ["STATE", "Artifacts", "live_events"]

STATE = "state.json"
LONGEST = 40


def live_events(record: Record) -> Iterator[Event]:
    """The events as a live reader gets them: a paused run ends with one that is not stored."""
    yield from record.events
    if record.result.status == "paused":
        yield RunFinished(status="paused", result=record.document)


class Artifacts:
    """The files of one run after the events so far. Paths are relative, with "/"."""

    def __init__(self, redact: Redact = str) -> None:
        self._redact, self._markdown = redact, Markdown(redact)
        self._view = Transcript()
        self._seq = 0
        self._created_at = ""
        self._texts: dict[str, str] = {}
        self._seats: dict[str, str] = {}
        self._scopes: dict[str, str] = {"": ""}
        self._counts: list[tuple[Entry, VoteTallied]] = []
        self._tools: list[tuple[Entry, ToolCalled]] = []

    def add(self, event: Event) -> set[str]:
        """Add the next event; return the files that it changes. An event added before has no effect."""
        if event.seq is not None and event.seq <= self._seq:
            return set()
        self._seq = event.seq or self._seq
        entry = self._view.add(event)
        changed = {STATE}
        if isinstance(event, CallFinished | CallFailed) and entry is not None and entry.reasoning:
            lines = self._markdown.reasoning(entry, "#")
            changed.add(self._append(self._path(event, "reasoning.md"), lines))
        match event:
            case RunStarted():
                self._created_at = event.time
                for seat in event.seats:
                    self._seat(seat["seat"])
                changed.add(self._append("prompt.md", self._prompt(event)))
            case CallFinished(absent=None) | ToolCalled() if entry is not None:
                changed.add(self._append(self._path(event, "md"), self._markdown.entry(entry, "#")))
                if isinstance(event, ToolCalled):
                    self._tools.append((entry, event))
            case CallFinished():
                changed.add(self._failed(event, event.abstention, event.text))
            case CallFailed(final=True):
                changed.add(self._failed(event, f"{event.kind}: {event.message}"))
            case VoteTallied() if entry is not None:
                self._counts.append((entry, event))
            case RunFinished() if event.status != "paused":
                markdown, view, counts, tools = self._markdown, self._view, self._counts, self._tools
                lines = final_lines(markdown, view, event.result, self._created_at, counts, tools)
                changed.add(self._append("final.md", lines))
            case _:
                pass
        return changed

    def text(self, path: str) -> str:
        """The text of a file that an event has changed."""
        return self._state() if path == STATE else self._texts[path]

    def _failed(self, event: CallFinished | CallFailed, reason: str, reply: str = "") -> str:
        """Write why a seat has no reply in a phase, as plain text; return the file."""
        seat = event.seat or ""
        who = seat_name(seat, self._view.seats[seat].model)
        head = [f"round {event.round or 1}, {event.phase}: {who}", reason]
        lines = [*(flat(self._redact(line)) for line in head), "", safe(self._redact(reply)).strip()]
        return self._append(self._path(event, "failed"), lines)

    def _append(self, path: str, lines: Iterable[str]) -> str:
        text, before = "\n".join(lines).rstrip("\n") + "\n", self._texts.get(path)
        self._texts[path] = text if before is None else f"{before}\n{text}"
        return path

    def _path(self, event: CallFinished | CallFailed | ToolCalled, suffix: str) -> str:
        scope = self._scope(event.key)
        if isinstance(event, ToolCalled) and not event.seat:  # grounding, before the first phase
            return f"{scope}panel.{_slug(event.tool)}.{suffix}"
        phase, protocol = event.phase or "", protocols.find(_inside(event.key)[-1] or self._view.protocol)
        # Without the protocol, which may be uninstalled, the files are named after its phases.
        noun = protocol.noun(phase) if protocol else phase
        # The files of a phase that comes once, after all rounds, are next to the folders of the rounds.
        folder = "" if protocol and phase in protocol.closing else f"round-{event.round or 1:03}/"
        return f"{scope}{folder}{self._seat(event.seat or '')}.{_slug(noun)}.{suffix}"

    def _seat(self, label: str) -> str:
        """The label in lower case; a number for a label that runs do not use."""
        if label not in self._seats:
            match = re.fullmatch(r"Participant ([A-Z]{1,8})", label)
            name = f"participant-{match[1].lower()}" if match else f"seat-{len(self._seats) + 1}"
            self._seats[label] = name
        return self._seats[label]

    def _scope(self, key: str) -> str:
        """The folder of an inner protocol: its name and a number."""
        steps = _inside(key)
        inside = "/".join(steps)
        if inside not in self._scopes:
            name = _slug(steps[-1])
            others = {scope for scope in self._scopes.values() if re.fullmatch(rf"{name}-\d+/", scope)}
            self._scopes[inside] = f"{name}-{len(others) + 1}/"
        return self._scopes[inside]

    def _prompt(self, event: RunStarted) -> Iterator[str]:
        markdown = self._markdown
        yield from ("# Question", "", *markdown.quoted(event.question), "", "# Panel", "")
        for seat in event.seats:
            role = f", as {seat['role']}" if seat.get("role") else ""
            yield f"- {markdown.plain(seat_name(seat['seat'], seat['model']) + role)}"
        if event.files:
            yield from ("", "# Files", "", *(f"- {markdown.plain(file_words(row))}" for row in event.files))
        yield from ("", "# Settings", "", f"- protocol: {markdown.plain(event.protocol)}")
        for name, value in event.options.items():
            yield f"- {markdown.plain(name)}: {markdown.plain(str(value))}"
        yield f"- seed: {event.seed}"
        if event.budget_usd is not None:
            yield f"- budget: ${event.budget_usd:g}"
        if event.deadline_s is not None:
            yield f"- deadline: {seconds(event.deadline_s)}"
        if event.forked_from:
            yield f"- forked from: {markdown.plain(event.forked_from)}"
        yield f"- started: {event.time}, by pnyx {markdown.plain(event.version)}"

    def _state(self) -> str:
        view, result = self._view, self._view.result
        state: Mapping[str, Any] = {
            "run_id": view.run_id,
            "status": result["status"] if result else "running",
            "protocol": view.protocol,
            "round": view.round,
            "phase": view.phase,
            "begun": self._created_at,
            "seats": [
                {
                    "seat": seat.label,
                    "file": self._seat(seat.label),
                    "model": seat.model,
                    "role": seat.role or None,
                    "state": seat.state,
                    "calls": seat.calls,
                    "cost_usd": seat.cost_usd and round(seat.cost_usd, 9),
                }
                for seat in view.seats.values()
                if seat.label
            ],
            "usage": view.summary.usage,
            "result": result,
        }
        return json.dumps(redact_json(state, self._redact), indent=2) + "\n"


def _inside(key: str) -> list[str]:
    """The steps of `key` up to its inner protocol, whose name is the last; empty for the outer protocol."""
    steps = key.split("/")
    while steps[-1][:1].isdigit():
        steps.pop()
    return steps


def _slug(text: str) -> str:
    """`text` as a part of a file name that is valid on every system."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:LONGEST].strip("-") or "step"
