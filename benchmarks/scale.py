"""What a debate costs PostgreSQL, and how many calls a second one row of the ledger bears.

    .venv/bin/python -m benchmarks.scale [debates row simulation]

For design/scale.md. debates: statements, transactions, bytes and rows of debates of 12 calls on a real
server, one after another and many at once. row: transactions a second on a real server that all lock the same
row, or one of several, with a wait before COMMIT in place of a disk. simulation: loads and networks that one
machine does not have: processes that commit in groups, as `store.engine` does.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import random
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event, text

from benchmarks.engine import cpu, debate, reply_text
from benchmarks.scripted import settings
from pnyx.core.models import Usage
from pnyx.providers.base import Completion
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.run.runner import Runner
from tests.support.postgres import PostgresServer

TABLES = (
    "SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del, pg_total_relation_size(relid) AS bytes"
    " FROM pg_stat_user_tables"
)
ONE_AFTER_ANOTHER, AT_ONCE = 12, 48

# debates


@dataclass
class Used:
    """What debates used. cpu: seconds of this process, which is pnyx without the server. tables: name -> rows
    inserted, updated, updated in place, deleted, and bytes."""

    statements: int
    transactions: int
    wal_bytes: int
    seconds: float
    cpu: float
    tables: dict[str, Counter[str]]


async def use(url: str, at_once: int, debates: int) -> tuple[Used, int]:
    """What `debates` debates used, so many at once, and the number of their calls."""
    chosen = settings("http://127.0.0.1:9/v1", url)
    fake = FakeProvider(lambda call: Completion(reply_text(call), Usage(500, 0, 200, 0)))
    seen: Counter[str] = Counter()
    async with Runner.open(chosen, Providers(chosen, extra={"lab": fake})) as runner:
        engine: Any = runner.database._backend._engine  # type: ignore[attr-defined]
        event.listen(engine, "before_cursor_execute", lambda *_: seen.update(["statements"]))
        event.listen(engine, "commit", lambda *_: seen.update(["transactions"]))
        await debate(runner)
        await asyncio.sleep(1.5)  # the server publishes its statistics once a second
        before, lsn = await runner.database.read(state)
        seen.clear()
        start, used_before, calls = time.perf_counter(), cpu(), 0
        for _ in range(debates // at_once):
            ended = await asyncio.gather(*(debate(runner) for _ in range(at_once)))
            calls += sum(int(result.usage["calls"]) for result in ended)
        seconds, used_cpu, counted = time.perf_counter() - start, cpu() - used_before, Counter(seen)
        await asyncio.sleep(1.5)
        after, end = await runner.database.read(state)
    tables = {
        name: Counter({what: n - before.get(name, Counter())[what] for what, n in row.items()})
        for name, row in after.items()
    }
    used = Used(counted["statements"], counted["transactions"], end - lsn, seconds, used_cpu, tables)
    return used, calls


def state(connection: Any) -> tuple[dict[str, Counter[str]], int]:
    rows = connection.execute(text(TABLES)).mappings()
    tables = {row["relname"]: Counter({k: v for k, v in row.items() if k != "relname"}) for row in rows}
    lsn = connection.execute(text("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")).scalar()
    return tables, int(lsn)


def print_debates(server: PostgresServer) -> None:
    for at_once, debates in ((1, ONE_AFTER_ANOTHER), (AT_ONCE, AT_ONCE)):
        with server.database() as url:
            used, calls = asyncio.run(use(url, at_once, debates))
        size = sum(one["bytes"] for one in used.tables.values())
        print(f"\n{debates} debates of {calls / debates:.0f} calls, {at_once} at once")
        print(f"  statements a call    {used.statements / calls:8.1f}")
        print(f"  transactions a call  {used.transactions / calls:8.2f}")
        print(f"  CPU a call, ms       {used.cpu / calls * 1e3:8.1f}")
        print(f"  kB of log a debate   {used.wal_bytes / debates / 1000:8.1f}")
        print(f"  kB stored a debate   {size / debates / 1000:8.1f}")
        print(f"  {'rows a debate':16} inserted  updated  of these in place  deleted  kB")
        for name, row in sorted(used.tables.items(), key=lambda item: -item[1]["bytes"]):
            n = {k: v / debates for k, v in row.items()}
            if any(n.values()):
                print(
                    f"  {name:16} {n['n_tup_ins']:8.1f} {n['n_tup_upd']:8.1f} {n['n_tup_hot_upd']:18.1f}"
                    f" {n['n_tup_del']:8.1f} {n['bytes'] / 1000:7.1f}"
                )


# row


async def row_rate(dsn: str, connections: int, rows: int, disk_s: float, seconds: float = 3.0) -> float:
    """Transactions a second that each lock and update one of `rows` rows, and then wait `disk_s`."""
    import asyncpg  # type: ignore[import-untyped]

    pool = await asyncpg.create_pool(dsn, min_size=connections, max_size=connections)
    try:
        await pool.execute("CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL)")
        await pool.execute(
            "INSERT INTO hot SELECT g, 0 FROM generate_series(0, 255) g ON CONFLICT DO NOTHING"
        )
        until, done = time.perf_counter() + seconds, 0

        async def work(n: int) -> None:
            nonlocal done
            async with pool.acquire() as connection:
                while time.perf_counter() < until:
                    async with connection.transaction():
                        await connection.execute("SELECT n FROM hot WHERE id = $1 FOR UPDATE", n % rows)
                        await connection.execute("UPDATE hot SET n = n + 1 WHERE id = $1", n % rows)
                        await connection.execute("SELECT pg_sleep($1)", disk_s)
                    done += 1

        start = time.perf_counter()
        await asyncio.gather(*(work(n) for n in range(connections)))
        return done / (time.perf_counter() - start)
    finally:
        await pool.close()


async def under_snapshot(dsn: str, updates: int, held: bool) -> tuple[float, float]:
    """Milliseconds of an update of one row: of the first and of the last tenth of so many.

    held: while another transaction, such as that of a backup, holds a snapshot of before.
    """
    import asyncpg

    writer, reader = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    try:
        await writer.execute("CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL)")
        await writer.execute("INSERT INTO hot VALUES (0, 0)")
        if held:
            await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            await reader.fetch("SELECT * FROM hot")
        tenths = []
        for _ in range(10):
            start = time.perf_counter()
            for _ in range(updates // 10):
                await writer.execute("UPDATE hot SET n = n + 1 WHERE id = 0")
            tenths.append((time.perf_counter() - start) / (updates // 10) * 1e3)
        return tenths[0], tenths[-1]
    finally:
        await writer.close()
        await reader.close()


def print_row(server: PostgresServer) -> None:
    print("\nms of an update of one row: the first and the last tenth of 20,000")
    for held in (False, True):
        with server.database() as url:
            first, last = asyncio.run(under_snapshot(url.replace("+asyncpg", ""), 20_000, held))
        print(f"  {'while a snapshot is held' if held else 'alone':25} {first:6.2f} {last:6.2f}")
    print("\ntransactions a second that lock a row, with 2 ms before COMMIT")
    for connections, rows in ((1, 1), (16, 1), (16, 4), (16, 16)):
        with server.database() as url:
            rate = asyncio.run(row_rate(url.replace("+asyncpg", ""), connections, rows, 0.002))
        print(f"  {connections:2} connections, {rows:2} rows  {rate:6.0f}")


# simulation


@dataclass
class Model:
    """Processes that write to one database.

    rows: rows over which the hot account is spread; a process has one of them. statements: of a work while
    the row is locked, `trip_s` seconds each. commit_s: of a commit. group: the most works in a transaction.
    """

    processes: int
    rows: int
    commit_s: float
    statements: float
    trip_s: float
    group: int = 10_000
    works: deque[tuple[float, int]] = field(default_factory=deque)


def simulate(model: Model, rate: float, seconds: float = 30.0, seed: int = 1) -> list[float]:
    """Seconds from each write's arrival to its commit, if `rate` of them arrive a second.

    A process takes all writes that wait and asks for its row, which has one transaction after another.
    """
    rng = random.Random(seed)
    waiting: list[deque[float]] = [deque() for _ in range(model.processes)]
    busy = [False] * model.processes
    queues: list[deque[int]] = [deque() for _ in range(model.rows)]
    locked = [False] * model.rows
    groups: dict[int, list[float]] = {}
    latencies: list[float] = []
    agenda: list[tuple[float, int, str, int]] = [(rng.expovariate(rate), 0, "write", 0)]
    count = 0

    def begin(process: int) -> None:
        if waiting[process] and not busy[process]:
            busy[process] = True
            queue = waiting[process]
            groups[process] = [queue.popleft() for _ in range(min(len(queue), model.group))]
            queues[process % model.rows].append(process)

    def lock(row: int, now: float) -> None:
        nonlocal count
        if queues[row] and not locked[row]:
            locked[row] = True
            process = queues[row].popleft()
            held = len(groups[process]) * model.statements * model.trip_s + model.commit_s
            count += 1
            heapq.heappush(agenda, (now + held, count, "commit", process))

    while agenda:
        now, _, what, process = heapq.heappop(agenda)
        if what == "write":
            if now < seconds:
                count += 1
                heapq.heappush(agenda, (now + rng.expovariate(rate), count, "write", 0))
            process = rng.randrange(model.processes)
            waiting[process].append(now)
        else:
            latencies += [now - arrived for arrived in groups.pop(process)]
            busy[process] = locked[process % model.rows] = False
        begin(process)
        lock(process % model.rows, now)
        if now > 3 * seconds:
            break  # hopelessly overloaded
    latencies += [3 * seconds] * sum(map(len, waiting))
    return sorted(latencies)


def percentile(values: Sequence[float], share: float) -> float:
    return values[min(int(len(values) * share), len(values) - 1)]


def saturation(model: Model, wait_s: float = 0.5) -> float:
    """The writes a second up to which 99 of 100 are committed within `wait_s`, to 2 %."""
    low, high = 1.0, 1e5
    while high / low > 1.02:
        middle = (low * high) ** 0.5
        seconds = min(30.0, 20_000 / middle + 1)
        fits = percentile(simulate(model, middle, seconds), 0.99) <= wait_s
        low, high = (middle, high) if fits else (low, middle)
    return low


def print_simulation() -> None:
    print("\nwrites a second with 99 % committed within 0.5 s, by rows that bear the account of a day")
    print(
        "  statements under the lock, round trip, commit      " + "".join(f"{n:>8}" for n in (1, 4, 16, 64))
    )
    for statements, trip_s, commit_s in (
        *((10, 0.0001, 0.001), (10, 0.0003, 0.002), (10, 0.0005, 0.005)),
        *((6, 0.0003, 0.002), (4, 0.0003, 0.002), (1, 0.0003, 0.002), (1, 0.0005, 0.005)),
    ):
        rates = [saturation(Model(64, rows, commit_s, statements, trip_s)) for rows in (1, 4, 16, 64)]
        name = f"{statements}, {trip_s * 1e3:.1f} ms, {commit_s * 1e3:.0f} ms"
        print(f"  {name:50} " + "".join(f"{rate:8.0f}" for rate in rates))
    print("\nwait for a commit, 64 processes, 10 statements of 0.3 ms, commits of 2 ms: ms median, 99 %")
    for rate in (280, 700, 1400, 2800):
        cells = []
        for rows in (1, 4, 16, 64):
            waits = simulate(Model(64, rows, 0.002, 10, 0.0003), rate, 20.0)
            cells.append(f"{percentile(waits, 0.5) * 1e3:8.0f} {percentile(waits, 0.99) * 1e3:8.0f}")
        print(f"  {rate:5} writes a second  " + "  ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["debates", "row", "simulation", []], help="default: all")
    parts = parser.parse_args().parts or ["debates", "row", "simulation"]
    if {"debates", "row"} & set(parts):
        server = PostgresServer()
        try:
            server.start()
            if "debates" in parts:
                print_debates(server)
            if "row" in parts:
                print_row(server)
        finally:
            server.remove()
    if "simulation" in parts:
        print_simulation()


if __name__ == "__main__":
    main()
