"""What each seat stood for, and when: the short answers and the endorsements in its replies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ...core.answers.replies.extract import final_answer
from ...core.answers.same.grouping import find_group, group_answers
from ...core.events import CallFinished, CallStarted, Event, SeatAbstained, VoteTallied
from ...core.parsing.ballots import Ballot, read_ballot
from ...core.parsing.verdicts import Unreadable

__all__ = ["Statement", "ballots", "scope_of", "statements"]

ENDORSEMENTS = "endorsements"
"""The rule of the count of a council's ballots."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One position of a seat.

    kind: answer (its short answer) | endorsement (the proposal that it votes for). position: in its words.
    group: the name of the positions that mean the same. at, started: `seq` of the reply and of its request.
    """

    seat: str
    kind: str
    position: str
    group: str
    round: int
    phase: str
    scope: str
    at: int
    started: int


def scope_of(key: str) -> str:
    """The scope of a step's key: "/3/1.2/consensus" for "/3/1.2/consensus/4", and "" for "/4"."""
    parts = key.split("/")
    while len(parts) > 1 and not re.search("[a-z]", parts[-1], re.IGNORECASE):
        parts.pop()
    return "/".join(parts)


def statements(events: Sequence[Event], question: str) -> list[Statement]:
    """The positions of the seats, in order.

    Of the run itself or, if it only runs another protocol, of that one: parts of a question have questions of
    their own, and are left out. A challenge or review that repeats an answer states no position of its own
    unless it ends on one. A verdict that could not be read counts as nothing, whatever else it says.
    """
    counted = ballots(events)
    requests = {one.key: one for one in events if isinstance(one, CallStarted)}
    unread = {(one.seat, *_where(one)) for one in events if isinstance(one, SeatAbstained)}
    found: list[Statement] = []
    for event in events:
        if not isinstance(event, CallFinished) or event.absent is not None or not event.seat:
            continue
        where = _where(event)
        if (event.seat, *where) in unread:
            continue
        request = requests.get(event.key)
        when = (event.seq or 0, (request and request.seq) or 0)
        ballot = counted.get(event.key)
        if ballot is not None:
            if ballot.label:
                found.append(Statement(event.seat, "endorsement", ballot.label, ballot.label, *where, *when))
        elif not _may_answer(request) or event.finish_reason == "length":
            continue
        elif short := final_answer(event.text, question):
            found.append(Statement(event.seat, "answer", short, short, *where, *when))
    return _grouped(_of_one_question(found), question)


def _where(event: CallFinished | SeatAbstained) -> tuple[int, str, str]:
    """The round, the phase and the scope of an event."""
    return event.round or 0, event.phase or "", scope_of(event.key)


def _may_answer(request: CallStarted | None) -> bool:
    """Whether a request asks for an answer: one that asks for an object does if the object has one."""
    return request is None or not request.schema or '"answer"' in request.schema


def ballots(events: Sequence[Event]) -> dict[str, Ballot]:
    """The ballots of councils, by the key of the reply. A reply that is no ballot is left out."""
    candidates: dict[str, Mapping[str, float]] = {}
    for event in events:
        if isinstance(event, VoteTallied) and event.rule == ENDORSEMENTS:
            candidates[scope_of(event.key)] = event.tally
    found: dict[str, Ballot] = {}
    for event in events:
        if not isinstance(event, CallFinished) or event.phase != "voting" or not event.seat:
            continue
        labels = list(candidates.get(scope_of(event.key), ()))
        if labels and event.absent is None and event.finish_reason != "length":
            with suppress(Unreadable):
                found[event.key] = read_ballot(event.text, labels, author=event.seat)
    return found


def _of_one_question(found: Sequence[Statement]) -> list[Statement]:
    own = [one for one in found if not one.scope]
    scopes = {one.scope for one in found}
    return own if own or len(scopes) != 1 else list(found)


def _grouped(found: Sequence[Statement], question: str) -> list[Statement]:
    groups = group_answers([one.position for one in found if one.kind == "answer"], question)
    # A long run has the same few positions many times.
    answers = {one.position for one in found if one.kind == "answer"}
    names = {position: find_group(position, groups, question) or position for position in answers}
    return [replace(one, group=names[one.position]) if one.kind == "answer" else one for one in found]
