"""What interfaces read from and add to the database: runs, costs, judgements, backups."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Connection

from ...config.load import database_url
from ...config.schema import Settings
from ...core.events import Event
from ...evaluate.owners import LEARNER, OWNER
from ...run.leases.lease import is_active
from ...run.spec import Spec
from ...run.spending.claim import known_factor
from ...store import Database, copying, storage
from ...store.altered import Altered, find_altered
from ...store.money import ledger
from ...store.money.cost_sums import CostSum, cost_sums
from ...store.money.costs import CallCosts, RunSum, costs_of, run_sums
from ...store.records import outcomes
from ...store.records import runs as store
from ...store.records.deletion import delete_run
from ...store.records.entries import FOLLOWED_CHARS, PAGE, WHOLE_PAGE, Page
from ...store.records.labels import LabelChange, change_labels
from ...store.records.pruning import Prunable, Pruned, Rule, prunable, prune_some
from ...store.space import give_back, give_back_meanwhile
from ..views.overview import READS
from ..views.queue import QueueState, read_queue
from ..views.records import (
    Record,
    RunPage,
    SearchResults,
    read_run,
    read_runs,
    read_state,
    read_summary,
    read_turns,
    search_runs,
)
from .keys import KeyRecords
from .overviews import Overviews
from .shares import ShareRecords

if TYPE_CHECKING:
    from ...reliability.feedback import JudgedRun

__all__ = ["RunRecords"]


class RunRecords:
    """Reads and annotates stored runs. Every method raises `StoreError` if the database fails.

    owner: only runs of this owner; None: of any owner. prefix: a run's id, or a unique prefix of it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._overviews = Overviews()
        self.keys, self.shares = KeyRecords(database), ShareRecords(database)

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, *, create: bool = False) -> AsyncIterator[Self]:
        """Open the records of the configured database for a short command; it is closed on exit.

        create, errors: as for `Database.open`.
        """
        database = await Database.open(database_url(settings), short=True, create=create)
        try:
            yield cls(database)
        finally:
            await database.close()

    @property
    def database_name(self) -> str:
        """The location of the database, without its password."""
        return self._database.name

    async def check(self, *, writes: bool = False) -> None:
        """Raise `StoreError` if the database does not answer, or cannot be written; see `Database.check`."""
        await self._database.check(writes=writes)

    async def damage(self) -> str:
        """The first fault in the file of an SQLite database, see `copying.damage`. Raises `StoreError`."""
        return await self._database.read(copying.damage)

    async def altered(self, most_s: float | None, report: Callable[[Altered], None]) -> Altered:
        """What a disk has altered within rows, see `store.altered`. Raises `StoreError`."""
        return await find_altered(self._database, most_s, report)

    async def find(self, prefix: str, owner: str | None = None) -> store.RunRow:
        """The row of a run. Raises `NotFound`."""
        return await self._database.read(partial(store.find, prefix=prefix, owner=owner))

    async def read(
        self, prefix: str, owner: str | None = None, *, prompts: bool = True, newest: int | None = None
    ) -> Record:
        """A run with all its events, see `views.records.read_run`. Raises `NotFound`."""
        work = partial(read_run, prefix=prefix, owner=owner, prompts=prompts, newest=newest)
        return await self._database.read(work)

    async def state(self, prefix: str, owner: str | None = None, *, only: Sequence[str] = ()) -> Record:
        """A run without its events, except for those of the types in `only`. Raises `NotFound`."""
        return await self._database.read(partial(read_state, prefix=prefix, owner=owner, only=only))

    async def overview(self, prefix: str, owner: str | None = None) -> dict[str, Any]:
        """The debate of a run at a glance, see `views.overview`. Raises `NotFound`, `Unreadable`."""
        row = await self.find(prefix, owner)
        log = partial(store.log, run_id=row.check().id, prompts=False, only=READS)
        return await self._overviews.of(row, lambda: self._database.read(log))

    async def page(self, run_id: str, after: int, limit: int, *, prompts: bool = True) -> Page:
        """At most `limit` stored events of a run with a `seq` above `after`."""
        work = partial(store.log, run_id=run_id, after=after, limit=limit, prompts=prompts)
        return await self._database.read(work)

    async def pages(self, row: store.RunRow) -> AsyncIterator[list[Event]]:
        """The events that a run had when its row was read, in pages of about 4 MB of text."""
        after = 0
        while after < row.seq and (page := await self.page(row.id, after, WHOLE_PAGE)):
            yield [event for event in page if (event.seq or 0) <= row.seq]
            after = page[-1].seq or row.seq

    async def queue_state(self) -> QueueState:
        """What waits for workers, what they run, and what is held back; of every owner."""
        return await self._database.read(read_queue)

    async def summary(self, prefix: str, owner: str | None = None) -> Record:
        """A run without its events, as lists have it. Raises `NotFound`."""
        return await self._database.read(partial(read_summary, prefix=prefix, owner=owner))

    async def list_runs(
        self,
        status: str | None = None,
        limit: int = 20,
        *,
        owner: str | None = None,
        without: str | None = None,
        tag: str | None = None,
        pinned: bool = False,
        protocol: str | None = None,
        since: str = "",
        after: tuple[str, str] | None = None,
    ) -> RunPage:
        """Runs, newest first, see `views.records.read_runs`. without: an owner whose runs are left out.

        tag, pinned: only runs with these labels. since: only those from this time or day on. after: as in
        `store.listing`.
        """
        work = partial(read_runs, status=status, limit=limit, after=after, tag=tag, pinned=pinned)
        work = partial(work, protocol=protocol, since=since)
        return await self._database.read(partial(work, owner=owner, except_owner=without))

    async def run_rows(self, owner: str, limit: int, after: tuple[str, str] | None = None) -> store.Rows:
        """The rows of an owner's runs, newest first. after: as in `store.listing`."""
        return await self._database.read(partial(store.listing, limit=limit, owner=owner, after=after))

    async def run_ids(self, owner: str, prefix: str, limit: int) -> Sequence[str]:
        """The ids of an owner's runs that start with `prefix`, newest first."""
        return await self._database.read(partial(store.ids, owner=owner, prefix=prefix, limit=limit))

    async def recall(
        self, text: str, limit: int, *, without: str | None = None, **more: Any
    ) -> SearchResults:
        """Runs that contain the words of `text`, best first. Raises `UsageError` if it has no word.

        more: `owner` and `place`, as for `views.records.search_runs`.
        """
        work = partial(search_runs, text=text, limit=limit, except_owner=without, **more)
        return await self._database.read(work)

    async def turns(self, prefix: str, owner: str | None = None, **page: Any) -> RunPage:
        """The runs of a conversation, oldest first; see `views.records.read_turns`. Raises `NotFound`."""
        return await self._database.read(partial(read_turns, prefix=prefix, owner=owner, **page))

    async def begin_conversation(self, run_id: str) -> str:
        """Make a run the first turn of a conversation, and return the id of the conversation."""
        return await self._database.write(partial(store.begin_conversation, run_id=run_id))

    async def label(self, prefix: str, change: LabelChange, owner: str | None = None) -> store.RunRow:
        """Change the title, the tags or the pin of a run, and return it. Raises `NotFound`, `UsageError`."""

        def work(connection: Connection) -> store.RunRow:
            row = store.find(connection, prefix, owner)
            change_labels(connection, row.id, change)
            return row

        return await self._database.write(work)

    async def delete(self, prefix: str, owner: str | None = None) -> store.RunRow:
        """Delete a run for good, and return its row; costs and outcome stay. Raises `NotFound`, `Running`."""
        work = partial(delete_run, prefix=prefix, owner=owner, is_active=is_active)
        row = await self._database.write(work)
        await give_back_meanwhile(self._database)
        return row

    async def prunable(self, rule: Rule) -> Prunable:
        """What a rule for old runs would delete."""
        return await self._database.read(partial(prunable, rule=rule, is_active=is_active))

    async def prune_some(self, rule: Rule, limit: int, after: tuple[str, str] | None = None) -> Pruned:
        """Delete some of the old runs; see `store.records.pruning.prune_some`."""
        work = partial(prune_some, rule=rule, limit=limit, is_active=is_active, after=after)
        return await self._database.write(work)

    async def give_back_space(self, *, rewrite: bool) -> int:
        """Shrink an SQLite file after runs were deleted; see `store.space`. Return the bytes that it lost."""
        return await asyncio.to_thread(give_back, Path(self._database.name), rewrite=rewrite)

    async def withdraw_feedback(self, prefix: str, owner: str | None = None) -> store.RunRow:
        """Delete the feedback on a run, if there is any, and return the run. Raises `NotFound`."""

        def withdraw(connection: Connection) -> store.RunRow:
            row = store.find(connection, prefix, owner)
            outcomes.forget(connection, row.id)
            return row

        return await self._database.write(withdraw)

    async def news(self, run_id: str, after: int, *, prompts: bool = True) -> tuple[store.RunRow, Page]:
        """A run's row, and its next events with a `seq` above `after`, at most `PAGE` of them."""

        def read(connection: Connection) -> tuple[store.RunRow, Page]:
            # Read the row first: an event stored in between is in the next read, so none is missed.
            row = store.find(connection, run_id)
            return row, store.log(connection, run_id, after, PAGE, prompts, most_chars=FOLLOWED_CHARS)

        return await self._database.read(read)

    async def feedback(
        self, prefix: str, verdict: str, truth: str | None = None, owner: str | None = None
    ) -> tuple[store.RunRow, JudgedRun]:
        """Record whether a decision was right, replacing earlier feedback. Return the run and the judgement.

        verdict: success, partial or failure. truth: the right answer, if it is short and known. Raises
        `NotFound`, and `UsageError` for a run without a decision and for the reasons that `judge` has.
        """
        # Start-up time: most commands judge nothing.
        from ..views.feedback import record_feedback

        work = partial(record_feedback, prefix=prefix, verdict=verdict, truth=truth, owner=owner)
        return await self._database.write(work)

    async def judgements(self, owner: str, with_questions: bool = False) -> list[JudgedRun]:
        """The judged decisions of an owner. with_questions: read which of them ask the same."""
        work = partial(outcomes.history, owner=owner, with_questions=with_questions)
        return await self._database.read(work)

    async def record_outcomes(self, judged_runs: Mapping[str, JudgedRun]) -> None:
        """Record an evaluation's outcomes, by run id. Each question counts once, by its latest run."""

        def record(connection: Connection) -> None:
            for run_id, judged in judged_runs.items():
                outcomes.record(connection, run_id, LEARNER, self.now(), judged)
            outcomes.forget_earlier(connection, OWNER, judged_runs.keys())

        await self._database.write(record)

    def now(self) -> str:
        """Return the time by the database's clock, see `Database.now`."""
        return self._database.now()

    async def spending(self, since: str, owner: str | None = None) -> list[CostSum]:
        """Sums of what calls cost since a day, "YYYY-MM-DD"; "" for all days."""
        work = partial(cost_sums, since=since, owner=owner, today=self.now()[:10])
        return await self._database.read(work, snapshot=True)

    async def run_spending(self, since: str, owner: str | None = None, *, most: int | None) -> list[RunSum]:
        """The same by run, the dearest first. most: only so many runs."""
        return await self._database.read(partial(run_sums, since=since, owner=owner, most=most))

    async def costs_of(self, run_id: str) -> list[CallCosts]:
        """What the calls of one run cost, by day and model."""
        return await self._database.read(partial(costs_of, run_id=run_id))

    async def cost_factor(self, spec: Spec) -> float | None:
        """The cost of earlier runs as a share of what was expected of them; None without any.

        Of runs of the same protocol, options and panel; if there are none, of the same models, or of all.
        """
        return await self._database.read(partial(known_factor, spec=spec))

    async def account(self, scope: str) -> ledger.Account:
        """The amounts spent and reserved in a ledger scope, such as "batch:NAME" or "day:2026-11-23"."""
        return await self._database.read(partial(ledger.read_account, scope=scope))

    async def stored_bytes(self, owner: str) -> int:
        """The bytes that the runs of an owner take."""
        return await self._database.read(partial(storage.stored_bytes, owner=owner))

    @property
    def is_shared(self) -> bool:
        """Whether processes on other machines may use the database."""
        return self._database.is_server

    async def backup(self, file: Path) -> Mapping[str, int]:
        """Copy the database to the new file `file`. Return the rows by table. Raises `UsageError`."""
        return await copying.backup(self._database, file)

    async def restore(self, file: Path, *, with_keys: bool = False) -> Mapping[str, int]:
        """Load a backup into this database, which must be empty. Return the rows by table.

        with_keys: put the server's API keys and the links to runs of the backup in force too.

        Raises `UsageError`.
        """
        return await copying.restore(self._database, file, with_keys=with_keys)
