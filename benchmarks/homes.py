"""Homes with many runs, which other benchmarks measure.

Each run has a row, a result, costs and the words that it is found by, as pnyx writes them; its spec is that
of a real run of consensus. One in so many has all events of that run, the others none, which lists never
read. Questions have 15 words, answers 120 and dissents 40, drawn by Zipf's law from 20,000 words: the first
ones are in nearly every run. Two more runs have 10,000 events each: of one the process is gone, the other is
finished.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection

from pnyx.config.schema import Settings
from pnyx.core.events import CallFinished, CallStarted, Event, RunFinished
from pnyx.core.models import Payer
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.run_rows import new_id
from pnyx.run.runner import Runner
from pnyx.store import Database, copying
from pnyx.store.money.cost_sums import sum_up
from pnyx.store.money.costs import add_cost_rows, cost_rows
from pnyx.store.records import runs as store
from pnyx.store.records.labels import LabelChange, change_labels

__all__ = ["SETTINGS", "build", "restore_into", "words"]

WORDS = [f"w{n}x" for n in range(20_000)]
WEIGHTS = list(accumulate(1 / (n + 10) for n in range(len(WORDS))))
RNG = random.Random(7)
MODELS = ("alpha", "beta", "gamma")
SETTINGS = """
[providers.lab]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
[panel]
seats = ["lab:alpha", "lab:beta", "lab:gamma"]
"""
LONG_EVENTS = 10_000
TOGETHER = 500
"""Runs that one transaction adds."""
SEATS = {f"Participant {c}": f"lab:{m}" for c, m in zip("ABC", MODELS, strict=True)}


class Pattern(NamedTuple):
    """A real run, which all others are like."""

    row: store.RunRow
    log: Sequence[Event]


def words(count: int) -> str:
    return " ".join(RNG.choices(WORDS, cum_weights=WEIGHTS, k=count))


def build(folder: Path, count: int, every: int) -> None:
    """Make a home with `count` runs on SQLite. every: one run in so many has its events."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(SETTINGS)
    file, start = folder / "pnyx.db", time.perf_counter()
    asyncio.run(_build(file, count, every))
    size, took = file.stat().st_size, time.perf_counter() - start
    print(f"built {count:,} runs in {took:.0f} s: {size / 1e6:,.0f} MB", flush=True)


def restore_into(url: str, file: Path) -> None:
    """Load the home in an SQLite file into the empty database at `url`."""
    start = time.perf_counter()

    async def restore() -> None:
        database = await Database.open(url)
        await copying.restore(database, file)
        await database.close()

    asyncio.run(restore())
    print(f"restored into the other database in {time.perf_counter() - start:.0f} s", flush=True)


async def _build(file: Path, count: int, every: int) -> None:
    pattern = await _real_run(file)
    database = await Database.open(file)
    await database.write(partial(_add_long, pattern=pattern))
    for start in range(0, count, TOGETHER):
        numbers = range(start, min(start + TOGETHER, count))
        await database.write(partial(_add, pattern=pattern, numbers=numbers, every=every))
    # What the first run of a day does.
    await database.write(lambda c: sum_up(c, datetime.now(UTC).date().isoformat()))
    await database.write(lambda c: c.exec_driver_sql("ANALYZE"))
    await database.close()


async def _real_run(file: Path) -> Pattern:
    settings = Settings.model_validate(
        {
            "providers": {"lab": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}},
            "models": {f"lab:{name}": {"input_price": 1.0, "output_price": 4.0} for name in MODELS},
            "panel": {"seats": [f"lab:{name}" for name in MODELS]},
            "storage": {"url": str(file)},
        }
    )
    replies = FakeProvider(lambda call: f"{words(120)}\nFinal answer: {words(1)}")
    async with Runner.open(settings, Providers(settings, extra={"lab": replies})) as runner:
        handle = await runner.start(resolve(RunRequest(question="Why?", protocol="consensus"), settings))
        result = await handle.result()
        row = await runner.database.read(lambda c: store.find(c, result.run_id))
        return Pattern(row, await runner.database.read(lambda c: store.log(c, row.id)))


def _add_long(connection: Connection, pattern: Pattern) -> None:
    """Two runs of 10,000 events: of one the process is gone, the other is finished."""
    last = next(one for one in pattern.log if isinstance(one, RunFinished))
    for result in (None, pattern.row.result):
        id = new_id()
        end = () if result is None else (replace(last, seq=None, result={**result, "run_id": id}),)
        status = "paused" if result is None else pattern.row.status
        row = replace(pattern.row, id=id, seq=0, epoch=1, status=status, result=result and end[0].result)
        store.create(connection, row)
        log = [*_many(pattern.log, LONG_EVENTS - len(end)), *end]
        store.append(connection, id, 1, log, payer=Payer("local", "consensus", "", SEATS))


def _many(log: Sequence[Event], count: int) -> Iterator[Event]:
    first, *calls = (one for one in log if one is log[0] or isinstance(one, CallStarted | CallFinished))
    yield replace(first, seq=None)
    for n in range(count - 1):
        turn, at = divmod(n, len(calls))
        # Rounds of ten times the calls of the real run.
        yield replace(calls[at], seq=None, key=f"/{turn}{calls[at].key}", round=1 + turn // 10)


def _add(connection: Connection, pattern: Pattern, numbers: range, every: int) -> None:
    """Add runs, one for each eleven minutes before now."""
    now, statuses = datetime.now(UTC), ("consensus", "majority", "deadlock", "paused")
    log = [replace(one, seq=None) for one in pattern.log]
    costs = cost_rows([("", Payer("", "consensus", "", SEATS), log, "")])
    for n in numbers:
        time = (now - timedelta(minutes=n * 11)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        row = _row(pattern, time, statuses[0 if n % 10 else n // 10 % 4], "ada" if n % 5 == 4 else "local")
        store.create(connection, row)
        if n % every == 0:
            store.append(connection, row.id, 1, log)
        of_run = {"run_id": row.id, "owner": row.owner, "day": time[:10], "panel": ("", "fast")[n % 7 == 0]}
        add_cost_rows(connection, [{**one, **of_run} for one in costs])
        if n % 100 == 0:
            change_labels(connection, row.id, LabelChange(add=("work",), pinned=n % 1000 == 0))


def _row(pattern: Pattern, time: str, status: str, owner: str) -> store.RunRow:
    id, question, dissent = new_id(), words(15), {"seat": "Participant A", "model": "lab:alpha"}
    changed: dict[str, Any] = {"run_id": id, "status": status, "question": question, "answer": words(120)}
    changed["dissent"] = [{**dissent, "text": words(40)}]
    return replace(
        pattern.row,
        id=id,
        owner=owner,
        epoch=1,
        seq=0,
        status=status,
        created_at=time,
        updated_at=time,
        question=question,
        result={**(pattern.row.result or {}), **changed},
    )
