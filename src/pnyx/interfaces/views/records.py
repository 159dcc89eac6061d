"""Stored runs for the interfaces: each with its result object and its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from ...core.decision import STATUSES, Status
from ...core.events import Event
from ...core.prose.search_terms import Snippet
from ...errors import Unreadable
from ...run.leases.lease import is_held, is_waiting
from ...run.result import Result, Summary
from ...run.run_rows import prior_elapsed_s
from ...store.money.costs import TOKENS, costs_of
from ...store.records import runs as store
from ...store.records.labels import NO_LABELS, Labels, read_labels
from ...store.records.search import Place, search

__all__ = [
    "Record",
    "RunPage",
    "SearchResults",
    "read_run",
    "read_runs",
    "read_state",
    "read_summary",
    "read_turns",
    "search_runs",
]

LONG = 500
"""Events from which the result of a run that is not over does not follow from all of them."""
TOGETHER = 2000
"""Events of several runs of a list that are read at once."""
RECENT = 50
"""Events of a type that the result of such a run follows from."""
STORED: Mapping[str, Sequence[tuple[str, bool | None]]] = {
    "waiting": (("running", None),),
    "running": (("running", True),),
    "paused": (("running", True), ("paused", None)),
}
"""Shown status -> stored statuses, each with whether a process has the run (None: either).

A run whose process is gone is stored as running. It is paused, or waiting if the process was a worker."""


@dataclass(frozen=True, slots=True)
class Record:
    """A stored run. result: computed from the events if the run has none yet. labels: what people call it.

    events: all or some, in order; those that were left out are missing in their `seq`.
    """

    row: store.RunRow
    result: Result
    events: tuple[Event, ...] = ()
    labels: Labels = NO_LABELS

    @property
    def document(self) -> dict[str, Any]:
        """The result object. `stop_reason` is null while the run is running or waiting."""
        document = self.result.to_json()
        return document | {"stop_reason": None} if self.result.status in ("running", "waiting") else document

    @property
    def labelled(self) -> dict[str, Any]:
        """The result object with `title`, `tags` and `pinned`."""
        return self.document | self.labels.to_json()

    @property
    def printed(self) -> dict[str, Any]:
        """The result object, with its labels if it has any, as every interface shows it."""
        return self.document if self.labels == NO_LABELS else self.labelled

    @property
    def listed(self) -> dict[str, Any]:
        """The same with `created_at`, as lists have it."""
        return self.printed | {"created_at": self.row.created_at}


class RunPage(list[Record]):
    """Runs of a list, in order. has_more: whether others follow."""

    has_more = False


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Runs that match a search, best first, each with the matching snippet.

    every: whether the runs contain all the words; if no run does, they contain some of them. next: where the
    next page begins, if there is one.
    """

    hits: tuple[tuple[Record, Snippet], ...]
    every: bool
    next: Place | None

    def to_json(self) -> list[dict[str, Any]]:
        """Result objects, each with `snippet`, `created_at` and `all_words`."""
        return [
            record.document
            | {"created_at": record.row.created_at, "all_words": self.every}
            | {"snippet": "".join(piece for piece, _ in snippet)}
            for record, snippet in self.hits
        ]


def read_run(
    connection: Connection,
    prefix: str,
    owner: str | None = None,
    prompts: bool = True,
    newest: int | None = None,
) -> Record:
    """The run whose id starts with `prefix`, with all its events. owner: the owner it must have.

    prompts: False leaves those out, which most readers do not need, and which may be most of a run. newest:
    of a run with more events, only so many, and the first one. Raises `NotFound`, `Unreadable`.
    """
    row = store.find(connection, prefix, owner).check()
    if newest is None or row.seq <= newest:
        events = tuple(store.log(connection, row.id, prompts=prompts))
        result = _result(row, events)
    else:
        first = store.log(connection, row.id, limit=1, prompts=prompts)
        last = store.log(connection, row.id, after=1, prompts=prompts, newest=newest)
        events, result = (*first, *last), _result_of(connection, row)
    return Record(row, result, events, _labels(connection, [row])[0])


def read_state(
    connection: Connection, prefix: str, owner: str | None = None, only: Sequence[str] = ()
) -> Record:
    """The same without its events, except for those of the types in `only`.

    Raises `NotFound`, `Unreadable`.
    """
    row = store.find(connection, prefix, owner).check()
    events = tuple(store.log(connection, row.id, prompts=False, only=only)) if only else ()
    return Record(row, _result_of(connection, row), events, _labels(connection, [row])[0])


def read_summary(connection: Connection, prefix: str, owner: str | None = None) -> Record:
    """The same without its events, as lists have it. Raises `NotFound`."""
    return _records(connection, [store.find(connection, prefix, owner)])[0]


def _labels(connection: Connection, rows: Sequence[store.RunRow]) -> list[Labels]:
    found = read_labels(connection, [row.id for row in rows])
    return [found.get(row.id, NO_LABELS) for row in rows]


def _records(connection: Connection, rows: Sequence[store.RunRow]) -> list[Record]:
    """The records of these rows, without their events."""
    labels, logs = _labels(connection, rows), _logs(connection, rows)
    return [
        Record(row, _listed(connection, row, logs.get(row.id)), (), one)
        for row, one in zip(rows, labels, strict=True)
    ]


def _logs(connection: Connection, rows: Sequence[store.RunRow]) -> Mapping[str, Sequence[Event]]:
    """The events of those of the runs whose result follows from all of them: not of each by itself."""
    found: dict[str, Sequence[Event]] = {}
    group, count = list[str](), 0
    of_events = [row for row in rows if row.problem is None and not _settled(row) and row.seq <= LONG]
    for n, row in enumerate(of_events, 1):
        group, count = [*group, row.id], count + row.seq
        if count >= TOGETHER or n == len(of_events):
            with suppress(Unreadable):  # a run that cannot be read is found when they are read one by one
                found.update(store.logs(connection, group))
            group, count = [], 0
    return found


def read_runs(
    connection: Connection,
    status: str | None = None,
    limit: int = 20,
    after: tuple[str, str] | None = None,
    **filters: Any,
) -> RunPage:
    """Runs, newest first, without their events: at most `limit`, and about `store.LIST_CHARS` of text.

    status: as it is shown. after: only those listed after the run of this `created_at` and id. filters:
    others of `store.run_filters.Filters`.
    """
    rows: list[store.RunRow] = []
    ends: list[str] = []
    for stored, has_worker in STORED.get(status or "", ((status, None),)):
        most, place, found = limit + 1, after, list[store.RunRow]()
        while True:
            listed = store.listing(
                connection, status=stored, limit=most, after=place, has_worker=has_worker, **filters
            )
            found += [row for row in listed if status in (None, _status(row))]
            if len(found) > limit or (len(listed) < most and not listed.has_more):
                break
            if listed.has_more and found:
                ends.append(found[-1].id)
                break
            place = listed[-1].created_at, listed[-1].id
            most *= 2  # some of the listed rows are shown with another status
        rows += found
    # Newest first; those of the same moment by their ids, as the pages of a list are.
    rows.sort(key=lambda row: row.id)
    rows.sort(key=lambda row: row.created_at, reverse=True)
    ids = [row.id for row in rows]
    # What follows the end of one list may come before rows of another.
    end = min((ids.index(id) + 1 for id in ends), default=len(rows))
    page = RunPage(_records(connection, rows[: min(end, limit)]))
    page.has_more = bool(ends) or len(rows) > limit
    return page


def read_turns(
    connection: Connection,
    prefix: str,
    owner: str | None = None,
    limit: int | None = None,
    after: tuple[str, str] | None = None,
) -> RunPage:
    """The runs of a conversation, without their events. prefix: of its id or of the id of one of its runs.

    limit, after: as in `store.conversation`. Raises `NotFound`.
    """
    rows = store.conversation(connection, prefix, owner, limit, after)
    page = RunPage(_records(connection, rows))
    page.has_more = rows.has_more
    return page


def search_runs(
    connection: Connection,
    text: str,
    limit: int,
    owner: str | None = None,
    except_owner: str | None = None,
    place: Place | None = None,
) -> SearchResults:
    """The runs that contain the words of `text`, without their events. Raises `UsageError` if it has no word.

    owner, except_owner: as for `read_runs`. place: the `next` of the page before.
    """
    hits = search(connection, text, limit, owner, except_owner, place)
    found = _records(connection, [hit.row for hit in hits])
    return SearchResults(tuple(zip(found, (hit.snippet for hit in hits), strict=True)), hits.every, hits.next)


def _result_of(connection: Connection, row: store.RunRow, events: Sequence[Event] | None = None) -> Result:
    """The result of a run; that of one under way follows from its events, which are read if not given."""
    if _settled(row):
        return _result(row)
    if row.seq > LONG:
        return _outlined(connection, row)
    return _result(row, store.log(connection, row.id, prompts=False) if events is None else events)


def _listed(connection: Connection, row: store.RunRow, events: Sequence[Event] | None) -> Result:
    """The result of a run in a list. For a run that cannot be read: the data of its row, and the reason."""
    try:
        row.check()
        return _result_of(connection, row, events)
    except Unreadable as exc:
        return Result(
            run_id=row.id,
            status=row.status if row.status in STATUSES else "failed",
            stop_reason="unreadable",
            protocol=row.protocol,
            question=row.question,
            answer="",
            rounds=0,
            usage={**Summary().usage, "cost_usd": None},
            detail={"message": str(exc)},
        )


def _outlined(connection: Connection, row: store.RunRow) -> Result:
    """The result of a long run that is not over, from a few of its events and the sums of its costs.

    `rounds` and `answer` are those of its last phases. `dropped` has no seat that only abstained, and one
    whose calls failed only if its model has never answered.
    """
    first = store.log(connection, row.id, limit=1)
    dropped = store.log(connection, row.id, only=("seat_dropped",))
    failed = store.log(connection, row.id, only=("call_failed",), newest=RECENT)
    phases = store.log(connection, row.id, only=("phase_entered",), newest=RECENT)
    last = store.log(connection, row.id, row.seq - 1, prompts=False)
    spent = costs_of(connection, row.id)
    summary = _summed((*dropped, *failed, *phases))
    heard = {one.model for one in spent if one.output_tokens}
    summary.answered |= {seat for seat, one in summary.silent.items() if one["model"] in heard}
    usage = {name: sum(getattr(one, name) for one in spent) for name in ("calls", *TOKENS)}
    known = None if any(one.unpriced for one in spent) else round(sum(one.cost_usd for one in spent), 9)
    summary.usage.update(usage, cost_usd=known)
    return _summary_result(row, summary, prior_elapsed_s(row, [*first, *last]))


def _summed(events: Iterable[Event]) -> Summary:
    summary = Summary()
    for event in events:
        summary.add(event)
    return summary


def _status(row: store.RunRow) -> str:
    return row.status if _settled(row) else _state(row)[0]


def _settled(row: store.RunRow) -> bool:
    return row.result is not None and row.status == row.result.get("status")


def _result(row: store.RunRow, events: Sequence[Event] = ()) -> Result:
    if row.result is not None and _settled(row):
        return Result.from_json(row.result)
    return _summary_result(row, _summed(events), prior_elapsed_s(row, events))


def _summary_result(row: store.RunRow, summary: Summary, elapsed_s: float) -> Result:
    """The result of a run that is not over."""
    status, stop_reason, message = _state(row)
    return Result(
        run_id=row.id,
        status=status,
        stop_reason=stop_reason,
        protocol=row.protocol,
        question=row.question,
        answer=summary.answer or "",
        rounds=summary.rounds,
        seats=tuple(
            {"seat": seat.get("label", ""), "model": seat.get("model", ""), "role": seat.get("role") or None}
            for seat in row.spec.get("seats", ())
        ),
        dropped=summary.missing,
        degraded=summary.degraded,
        usage=dict(summary.usage),
        elapsed_s=elapsed_s,
        detail=({"message": message} if message else {}) | summary.cut_mark(summary.answer or ""),
    )


def waiting_message(row: store.RunRow) -> str:
    """Why a run waits, and what to do if a worker could not take it."""
    message = "in the queue for a `pnyx worker`"
    if row.held_back is None:
        return message
    return (
        f"{message}, and a worker could not take it: {row.held_back}. Another one that can will; to end it: "
        f"pnyx cancel {row.id}"
    )


def _state(row: store.RunRow) -> tuple[Status, str, str]:
    """The status, stop reason and message of an unfinished run."""
    if is_waiting(row):
        return "waiting", "", waiting_message(row)
    if is_held(row):
        return "running", "", ""
    if row.stop == "cancel":
        return (
            "paused",
            "interrupted",
            "its process is gone, and was not notified that it was cancelled",
        )
    return "paused", "interrupted", "its process is gone"
