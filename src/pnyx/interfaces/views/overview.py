"""The debate at a glance: who voted for what, who changed their mind, where the panel stands, who cost what.

All of it follows from the recorded events: no model is asked. The page, `pnyx show` and the exports show it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    RunStarted,
    SeatAbstained,
    VoteTallied,
)
from ...phrases import listed
from ...run.result import Cost
from .statements import Statement, statements
from .tallies import tallies

__all__ = ["READS", "overview"]

READS = tuple(
    kind.type for kind in (RunStarted, CallStarted, CallFinished, CallFailed, SeatAbstained, VoteTallied)
)
"""The types of events that an overview follows from."""

SHOWN = 200
"""Characters of a position that are shown."""
KINDS = (("answer", "say", "states no short answer"), ("endorsement", "endorse", "endorses no proposal"))
"""The kinds of statements, with the verb of a position and the words for a seat without one."""


def overview(events: Sequence[Event]) -> dict[str, Any]:
    """The overview of a run as JSON: `votes`, `changes`, `panel` and `costs`.

    votes: each count with its ballots, see `tallies`. changes: who changed their mind, when and after what.
    panel: what the seats agree on, what they differ on, and what only one of them says, as sentences. costs:
    calls, tokens, USD and seconds by seat and phase.
    """
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    labels = [seat["seat"] for seat in started.seats] if started else []
    # A seat that was dropped, or never asked, differs from nobody.
    replied = {event.seat for event in events if isinstance(event, CallFinished) and event.absent is None}
    stated = statements(events, started.question if started else "")
    return {
        "votes": list(tallies(events, stated)),
        "changes": list(_changes(stated, events)),
        "panel": _panel(stated, [label for label in labels if label in replied]),
        "costs": _costs(events),
    }


def _changes(stated: Sequence[Statement], events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """Yield one entry for every statement that differs from the one before it of the same seat and kind."""
    last: dict[tuple[str, str], Statement] = {}
    replies = [one for one in events if isinstance(one, CallFinished) and one.absent is None]
    numbers = [one.seq or 0 for one in replies]
    for one in stated:
        before = last.get((one.seat, one.kind))
        last[one.seat, one.kind] = one
        if before is None or before.group == one.group:
            continue
        yield {
            "seat": one.seat,
            "kind": one.kind,
            "before": before.position[:SHOWN],
            "now": one.position[:SHOWN],
            "round": one.round,
            "phase": one.phase,
            "after": _read_between(
                replies[bisect_right(numbers, before.at) : bisect_left(numbers, one.started)], one.seat
            ),
        }


def _read_between(replies: Sequence[CallFinished], seat: str) -> list[dict[str, Any]]:
    """The phases with replies of other seats among those between two statements of `seat`, in order."""
    phases: dict[tuple[int, str], set[str]] = {}
    for reply in replies:
        if reply.seat and reply.seat != seat:
            phases.setdefault((reply.round or 0, reply.phase or ""), set()).add(reply.seat)
    return [{"round": n, "phase": phase, "seats": sorted(seats)} for (n, phase), seats in phases.items()]


def _panel(stated: Sequence[Statement], labels: Sequence[str]) -> dict[str, list[str]]:
    """The last positions of the seats that replied as sentences: those that they share, and of only one."""
    found: dict[str, list[str]] = {"agree": [], "differ": [], "only": []}
    for kind, verb, none in KINDS:
        last = {one.seat: one for one in stated if one.kind == kind}
        groups: dict[str, list[str]] = {}
        for label in sorted(labels):
            if label in last:
                groups.setdefault(last[label].group, []).append(label)
        for position, seats in sorted(groups.items(), key=lambda group: -len(group[1])):
            words = f"{verb} {position[:SHOWN]}"
            if len(seats) == len(last) > 1:
                found["agree"].append(f"All {len(last)} {words}.")
            elif len(seats) > 1:
                found["differ"].append(f"{len(seats)} of {len(last)} {words}: {listed(seats)}.")
            elif len(last) > 1:
                found["only"].append(f"Only {seats[0]} {words.replace(verb, verb + 's', 1)}.")
        if len(last) > 1:
            found["differ"] += [f"{label} {none}." for label in sorted(labels) if label not in last]
    return found


def _costs(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Calls, tokens, USD (None: unknown) and seconds of each seat in each phase, phases in order."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    costs: dict[tuple[str, str], Cost] = {}
    for event in events:
        if not isinstance(event, CallStarted | CallFinished | CallFailed):
            continue
        at = (event.seat or "", event.phase or "")
        row = rows.setdefault(
            at, dict.fromkeys(("calls", "input_tokens", "output_tokens"), 0) | {"elapsed_s": 0.0}
        )
        costs.setdefault(at, Cost()).add(event)
        if isinstance(event, CallStarted):
            row["calls"] += 1
            continue
        row["elapsed_s"] = round(row["elapsed_s"] + event.elapsed_s, 3)
        if not (isinstance(event, CallFinished) and event.copied):
            row["input_tokens"] += event.input_tokens
            row["output_tokens"] += event.output_tokens
    phases = list(dict.fromkeys(phase for _, phase in rows))
    return [
        {"seat": seat, "phase": phase, **row, "cost_usd": costs[seat, phase].usd}
        for (seat, phase), row in sorted(rows.items(), key=lambda one: (phases.index(one[0][1]), one[0][0]))
    ]
