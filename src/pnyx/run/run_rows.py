"""The rows and events that are written when a run starts, and read when it is resumed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection

from .._version import __version__
from ..config.schema import Settings
from ..core.events import CallFinished, CallStarted, Event, RunStarted
from ..store import Database
from ..store.documents.contents import add_contents
from ..store.documents.unpacking import read_contents
from ..store.money import ledger
from ..store.money.cost_sums import sum_up
from ..store.records import leases
from ..store.records import runs as store
from .journal import Inherited
from .leases.runs_at_once import check_runs_at_once
from .options.key_limits import with_key_caps
from .options.resolve import shared_caps
from .spec import Spec
from .spending.budget import RunBudget, usd

__all__ = [
    "Resumable",
    "create_run",
    "find_resumable",
    "id_for_name",
    "inherited_calls",
    "new_id",
    "new_row",
    "prior_elapsed_s",
    "run_started",
    "take_over",
]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id() -> str:
    """Return an id for a run or a conversation: twelve random letters and digits."""
    return _encode(secrets.token_bytes(12))


def id_for_name(owner: str, name: str) -> str:
    """Return the id of the run that its owner names `name`: a hash, as unique as a random id."""
    return _encode(sha256(f"{owner}/{name}".encode()).digest()[:12])


def _encode(data: bytes) -> str:
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in data)


def new_row(run_id: str, spec: Spec, forked_from: str | None, worker: str | None, now: str) -> store.RunRow:
    """Return the row of a new run. worker: the process that runs it; None: the first worker that takes it.

    now: the time by the database's clock.
    """
    return store.RunRow.new(
        run_id,
        spec.owner,
        now,
        spec.protocol,
        spec.question,
        spec.to_json(),
        worker=worker,
        forked_from=forked_from,
    )


def create_run(connection: Connection, row: store.RunRow, spec: Spec, limits: Settings | None = None) -> None:
    """Store a new run with the contents of its files. Raises `Taken`.

    limits: the settings if it starts now, within its key's runs at once; then it raises `OverLimit` too.
    """
    if limits is not None:
        check_runs_at_once(connection, limits, spec.owner, alone=True)
    sum_up(connection, row.created_at[:10])
    store.create(connection, row)
    add_contents(connection, row.id, spec.contents)


def run_started(spec: Spec, row: store.RunRow) -> RunStarted:
    """Return the first event of a run."""
    return RunStarted(
        time=row.created_at,
        question=spec.question,
        protocol=spec.protocol,
        seats=spec.seat_rows,
        options=spec.options,
        seed=spec.seed,
        budget_usd=spec.budget_usd,
        deadline_s=spec.deadline_s,
        version=__version__,
        forked_from=row.forked_from,
        files=spec.file_rows,
    )


class Resumable(NamedTuple):
    """A run to resume. past: its stored events. spec: the changed one. budget: of its accounts."""

    row: store.RunRow
    past: Sequence[Event]
    spec: Spec
    budget: RunBudget


def find_resumable(
    connection: Connection, prefix: str, owner: str | None, changes: Mapping[str, Any], settings: Settings
) -> Resumable:
    """Return the run whose id starts with `prefix`. changes: to its spec. settings: for the caps of now.

    Raises `NotFound`, `UsageError`.
    """
    row = store.find(connection, prefix, owner)
    stored = _read_spec(connection, row)
    spec = with_key_caps(connection, settings, replace(stored, **changes, **shared_caps(settings)))
    caps = spec.caps
    if stored.batch_own and not spec.batch_own:
        # A resume of one run of a batch does not have the flags of the batch, and keeps its cap.
        account = ledger.read_account(connection, f"batch:{stored.batch}")
        caps.pop(account.scope, None)
        spec = replace(spec, batch_usd=usd(account.cap_nusd), batch_own=True)
    spec.check_amounts()  # also for a finished run, which is not started again
    return Resumable(row, store.log(connection, row.id), spec, RunBudget(row.id, caps))


def _read_spec(connection: Connection, row: store.RunRow) -> Spec:
    """Return the spec of a run with the contents of its files. Raises `Unreadable`."""
    document = row.check().spec
    spec = Spec.from_json(document, row.id)
    if not spec.files:
        return spec
    wanted = [one.content for one in spec.files]
    return Spec.from_json(document, row.id, read_contents(connection, wanted))


def take_over(
    connection: Connection,
    run: Resumable,
    worker: str | None,
    result: Mapping[str, Any],
    now: str,
    *,
    by_owner: bool,
    limits: Settings | None = None,
    hold: Callable[[Connection, str], None] | None = None,
) -> int:
    """Make `worker` the only writer of a resumed run; return its new epoch. Raises what `leases.take` raises.

    worker: None: the first worker that takes it. result: its result until now, as JSON. now: the time by the
    database's clock. by_owner: whether its owner resumes it; False: a worker takes it. limits: as for
    `create_run`. hold: writes what it still needs of the caps that it shares.
    """
    if limits is not None:
        check_runs_at_once(connection, limits, run.row.owner, alone=True)
    epoch = leases.take(connection, run.row.id, worker, now, run.row, by_owner=by_owner)
    run.budget.open(connection, now)
    if hold is not None:
        hold(connection, now)
    store.patch(connection, run.row.id, {"spec": {**run.row.spec, **run.spec.to_json()}, "result": result})
    return epoch


def prior_elapsed_s(row: store.RunRow, past: Sequence[Event]) -> float:
    """Return the seconds that processes worked on a run; for a killed process, until its last event."""
    times = [event.time for event in past if event.time]
    if not times:
        return 0.0
    if row.result is None:
        return _seconds(times[0], times[-1])
    # The time until it was paused or last resumed, plus the time from then to the last event.
    return float(row.result.get("elapsed_s") or 0.0) + max(0.0, _seconds(row.updated_at, times[-1]))


def _seconds(first: str, last: str) -> float:
    return round((datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds(), 3)


async def inherited_calls(database: Database, forked_from: str | None) -> dict[str, Inherited]:
    """Return the finished calls, by key, of the run that another is a fork of; none if it is no fork."""
    past = [] if forked_from is None else await database.read(partial(store.log, run_id=forked_from))
    started = {event.key: event for event in past if isinstance(event, CallStarted)}
    return {
        event.key: Inherited(event, started.get(event.key))
        for event in past
        if isinstance(event, CallFinished)
    }
