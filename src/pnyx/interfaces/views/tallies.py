"""The counts of a run with the ballots behind them: who voted for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...core.answers.same.grouping import find_group
from ...core.events import CallFinished, Event, RunStarted, VoteTallied, closed_branches, is_abstention
from ...core.parsing.verdicts import Unreadable, read_approval
from .statements import ENDORSEMENTS, Statement, ballots, scope_of

__all__ = ["is_tied", "tallies", "votes_text", "winner_of"]


def votes_text(votes: float) -> str:
    """Return a sum of votes as text; one of weights has two decimals."""
    return f"{round(votes, 2):.12g}"


def winner_of(event: VoteTallied) -> str | None:
    """The winner of a count, None on a tie: whatever breaks it, the votes do not."""
    return None if is_tied(event.tally) else event.winner


def is_tied(tally: Mapping[str, float]) -> bool:
    """Whether no single name has the most votes."""
    most = max(tally.values(), default=0)
    return sum(votes == most for votes in tally.values()) != 1


def tallies(events: Sequence[Event], stated: Sequence[Statement]) -> Iterator[dict[str, Any]]:
    """Yield each count of the run: round, phase, rule, counts, winner (None on a tie), tied and ballots.

    ballots: one for each vote, with seat, `of` (the name voted for; null for none of them), text and ranking.
    """
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    question = started.question if started else ""
    counted = ballots(events)
    # Each scope has its own counts: what came in it since the last one, and what its seats stood for.
    replies: dict[str, list[CallFinished]] = {}
    stands = {scope: _Standing(found) for scope, found in _by_scope(stated).items()}
    for event in events:
        if isinstance(event, CallFinished):
            replies.setdefault(scope_of(event.key), []).append(event)
        if not isinstance(event, VoteTallied) or is_abstention(event) or closed_branches(event):
            continue
        scope = scope_of(event.key)
        since = replies.pop(scope, [])
        if event.rule == ENDORSEMENTS:
            cast = _endorsements(since, counted)
        elif event.rule == "approvals":
            cast = _approvals(since)
        else:
            cast = _answers(event, stands.get(scope), question)
        yield {
            "scope": scope,
            "round": event.round or 0,
            "phase": event.phase or "",
            "rule": event.rule,
            "counts": dict(event.tally),
            "winner": winner_of(event),
            "tied": is_tied(event.tally),
            "ballots": cast,
        }


def _endorsements(replies: Sequence[CallFinished], counted: Mapping[str, Any]) -> list[dict[str, Any]]:
    cast: dict[str, dict[str, Any]] = {}
    for reply in replies:
        if reply.phase != "voting" or not reply.seat:
            continue
        ballot = counted.get(reply.key)
        # A second reply of the seat repairs its first one.
        if ballot is None:
            cast.setdefault(reply.seat, _ballot(reply.seat, None, "no readable vote"))
        else:
            words = {"revise": "asks for a revision", "split": "sees a split"}.get(ballot.kind, "")
            text = ": ".join(filter(None, (words, ballot.text)))
            cast[reply.seat] = _ballot(reply.seat, ballot.label, text, ballot.ranking)
    return [cast[seat] for seat in sorted(cast)]


def _approvals(replies: Sequence[CallFinished]) -> list[dict[str, Any]]:
    cast: dict[str, dict[str, Any]] = {}
    for reply in replies:
        if reply.phase != "confirm" or not reply.seat or reply.absent is not None:
            continue
        with suppress(Unreadable):
            verdict = read_approval(reply.text, author=reply.seat)
            of = "APPROVE" if verdict.approved else "REJECT"
            cast[reply.seat] = _ballot(reply.seat, of, verdict.reason)
    return [cast[seat] for seat in sorted(cast)]


def _by_scope(stated: Sequence[Statement]) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for one in stated:
        if one.kind == "answer":
            found.setdefault(one.scope, []).append(one)
    return found


class _Standing:
    """The answers in one scope. count: how many there were so far. last: the last one of each seat."""

    def __init__(self, answers: Sequence[Statement]) -> None:
        self.answers = answers
        self.count = 0
        self.last: dict[str, Statement] = {}

    def advance(self, seq: int) -> None:
        """Take up the answers before the event `seq`."""
        while self.count < len(self.answers) and self.answers[self.count].at < seq:
            answer = self.answers[self.count]
            self.last[answer.seat] = answer
            self.count += 1


def _answers(event: VoteTallied, standing: _Standing | None, question: str) -> list[dict[str, Any]]:
    """The answers behind a count: every sample, or else the last answer of each seat before the count."""
    if standing is None:
        return []
    standing.advance(event.seq or 0)
    every = standing.count == sum(event.tally.values()) and len(standing.last) < standing.count
    chosen = standing.answers[: standing.count] if every else standing.last.values()
    groups = {name: (name,) for name in event.tally}
    return [
        _ballot(one.seat, find_group(one.position, groups, question), "")
        for one in sorted(chosen, key=lambda one: one.seat)
    ]


def _ballot(seat: str, of: str | None, text: str, ranking: Sequence[str] = ()) -> dict[str, Any]:
    return {"seat": seat, "of": of, "text": text, "ranking": list(ranking)}
