"""What is written when a run begins, and what is read of it when it goes on."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection

from .._version import __version__
from ..core.events import CallFinished, Event, RunStarted
from ..store import Database, ledger
from ..store import runs as store
from .budget import RunBudget, usd
from .limits import now
from .spec import Spec

__all__ = [
    "Resumable",
    "inherited_calls",
    "named_id",
    "new_id",
    "new_row",
    "resumable",
    "run_started",
    "spent_s",
    "take_up",
]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id() -> str:
    """For a run or a conversation: twelve letters and digits, random so that a short prefix is unique."""
    return _spelt(secrets.token_bytes(12))


def named_id(owner: str, name: str) -> str:
    """The id of the run that its owner calls `name`: the same each time, as unlike others as a random one."""
    return _spelt(sha256(f"{owner}/{name}".encode()).digest()[:12])


def _spelt(drawn: bytes) -> str:
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in drawn)


def new_row(run_id: str, spec: Spec, forked_from: str | None, worker: str | None) -> store.RunRow:
    """worker: the process that runs it; None: the first worker that takes it up."""
    return store.RunRow.new(
        run_id,
        spec.owner,
        now(),
        spec.protocol,
        spec.question,
        spec.to_json(),
        worker=worker,
        heartbeat_at=None if worker is None else time.time(),
        forked_from=forked_from,
    )


def run_started(spec: Spec, row: store.RunRow) -> RunStarted:
    return RunStarted(
        time=row.created_at,
        question=spec.question,
        protocol=spec.protocol,
        seats=spec.seated,
        options=spec.options,
        seed=spec.seed,
        budget_usd=spec.budget_usd,
        deadline_s=spec.deadline_s,
        version=__version__,
        forked_from=row.forked_from,
    )


class Resumable(NamedTuple):
    """past: its stored events. spec: as it is to go on. purse: with the accounts that get their caps anew."""

    row: store.RunRow
    past: Sequence[Event]
    spec: Spec
    budget: RunBudget


def resumable(
    connection: Connection, prefix: str, owner: str | None, changes: Mapping[str, Any]
) -> Resumable:
    """The run whose id begins with `prefix`. changes: to its spec. Raises `NotFound`, `UsageError`."""
    row = store.find(connection, prefix, owner)
    begun = Spec.from_json(row.check().spec, row.id)
    spec = replace(begun, **changes)
    caps = spec.caps
    if begun.batch_own and not spec.batch_own:
        # Whoever takes up one run of a batch has not the flags of the batch, and leaves its account as it is.
        account = ledger.read_account(connection, f"batch:{begun.batch}")
        caps.pop(account.scope, None)
        spec = replace(spec, batch_usd=usd(account.cap_nusd), batch_own=True)
    spec.check_amounts()  # also of a run that is over, and will not be begun
    return Resumable(row, store.log(connection, row.id), spec, RunBudget(row.id, caps))


def take_up(connection: Connection, run: Resumable, worker: str | None, so_far: Mapping[str, Any]) -> int:
    """Make `worker` the only writer of a run that goes on; its new epoch. Raises as `store.take` does.

    worker: None: the first worker that takes it up. so_far: the result that it had until now.
    """
    epoch = store.take(connection, run.row.id, worker, now(), time.time(), run.row)
    run.budget.open(connection, now())
    store.patch(connection, run.row.id, {"spec": {**run.row.spec, **run.spec.to_json()}, "result": so_far})
    return epoch


def spent_s(row: store.RunRow, past: Sequence[Event]) -> float:
    """Seconds that processes worked on a run; of one that was killed, those that its events tell."""
    times = [event.time for event in past if event.time]
    if not times:
        return 0.0
    if row.result is None:
        return _seconds(times[0], times[-1])
    # What was told when it was paused, or last taken up, and what has come since.
    return float(row.result.get("elapsed_s") or 0.0) + max(0.0, _seconds(row.updated_at, times[-1]))


def _seconds(first: str, last: str) -> float:
    return round((datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds(), 3)


async def inherited_calls(database: Database, forked_from: str | None) -> dict[str, CallFinished]:
    """Finished calls, by key, of the run that another is a fork of; most are of none."""
    past = [] if forked_from is None else await database.read(partial(store.log, run_id=forked_from))
    return {event.key: event for event in past if isinstance(event, CallFinished)}
