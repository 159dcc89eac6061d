"""The time and memory of commands and routes on a home with many runs, one of 10,000 events among them.

    .venv/bin/python -m benchmarks.many_runs [--runs 100000] [--folder FOLDER] [--only WORD]

Each run has the rows that a real run of consensus left, with its own id, date and texts; one in --events has
all events of that run, the others none, which lists never read. Questions have 15 words, answers 120 and
dissents 40, drawn by Zipf's law from 20,000 words. FOLDER keeps the home for a second measurement. Each
row has wall time and CPU, the least of three processes, and both beyond those of `pnyx runs` on an empty
home.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shlex
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from pnyx.config.schema import Settings
from pnyx.core.events import CallFinished, CallStarted, Event
from pnyx.core.models import Payer
from pnyx.core.prose.search_terms import fold_words
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.run.request import RunRequest
from pnyx.run.resolve import resolve
from pnyx.run.run_rows import new_id
from pnyx.run.runner import Runner
from pnyx.store import Database
from pnyx.store.money.cost_sums import sum_up
from pnyx.store.records import runs as store
from pnyx.store.records.word_index import Words

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
COMMANDS = {
    "runs": "runs",
    "runs, 1,000 of them": "runs --limit 1000",
    "runs, paused": "runs --status paused",
    "runs, with a tag": "runs --tag work",
    "runs, pinned": "runs --pinned",
    "cost": "cost",
    "cost by day": "cost --by day",
    "cost by protocol, 30 days": "cost --by protocol --days 30",
    "cost by panel": "cost --by panel",
    "cost by run": "cost --by run",
    "cost, 1 day": "cost --days 1",
    "recall, a frequent word": "recall w5x",
    "recall, three frequent words": "recall 'w0x w1x w5x'",
    "recall, a phrase": "recall '\"w0x w1x\"'",
    "recall, a rare word": "recall w15000x",
    "recall, a word of no run": "recall 'w5x nowhere'",
    "status": "status {run}",
    "status, a prefix": "status {prefix}",
    "status of the long run": "status {long}",
    "tag": "tag {run} work",
}
ROUTES = {
    "/v1/runs": "/v1/runs?limit=50",
    "/v1/runs, with a tag": "/v1/runs?limit=50&tag=work",
    "/v1/runs, 1,000 of them": "/v1/runs?limit=1000",
    "/v1/runs, from the middle": "/v1/runs?limit=50&cursor={middle}",
    "/v1/runs, from the end": "/v1/runs?limit=50&cursor={end}",
    "/v1/costs": "/v1/costs?days=3660",
    "/v1/costs by run, 30 days": "/v1/costs?by=run&days=30",
    "/v1/recall": "/v1/recall?text=w0x+w1x+w5x",
    "/v1/runs/ID": "/v1/runs/{run}",
}


PROGRAM = """
import atexit, os, re

@atexit.register
def note_peak():
    status = open("/proc/self/status").read()
    open(peak, "w").write(re.search(r"VmHWM:\\s*(\\d+)", status)[1])

peak = os.environ.pop("PEAK")
from pnyx.interfaces.cli import main
main()
"""
"""`pnyx`, which notes its own peak of memory: that of the system counts the process that started it too."""


def words(count: int) -> str:
    return " ".join(RNG.choices(WORDS, cum_weights=WEIGHTS, k=count))


async def real_runs(file: Path) -> dict[str, Any]:
    """Store a run of consensus, and one of 10,000 events that its process has left; return a result."""
    settings = Settings.model_validate(
        {
            "providers": {"lab": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}},
            "models": {f"lab:{name}": {"input_price": 1.0, "output_price": 4.0} for name in MODELS},
            "panel": {"seats": [f"lab:{name}" for name in MODELS]},
            "storage": {"url": str(file)},
        }
    )
    replies = FakeProvider(lambda call: f"{words(120)}\nFinal answer: {words(1)}")
    providers = Providers(settings, extra={"lab": replies})
    async with Runner.open(settings, providers) as runner:
        handle = await runner.start(resolve(RunRequest(question="Why?", protocol="consensus"), settings))
        result = await handle.result()
        row = await runner.database.read(lambda c: store.find(c, result.run_id))
        log = await runner.database.read(lambda c: store.log(c, row.id))
        long = replace(row, id=new_id(), seq=0, epoch=1, status="paused", result=None)
        payer = Payer(
            "local",
            "consensus",
            "",
            {f"Participant {c}": f"lab:{m}" for c, m in zip("ABC", MODELS, strict=True)},
        )

        def write(connection: Any) -> None:
            store.create(connection, long)
            store.append(connection, long.id, 1, list(_many(log, 10_000)), payer=payer)

        await runner.database.write(write)
        return dict(row.result or {})


def _many(log: list[Event], count: int) -> Iterator[Event]:
    calls = [one for one in log if isinstance(one, CallStarted | CallFinished)]
    for n in range(count):
        event = calls[n % len(calls)]
        yield replace(event, seq=None, key=f"/{n // len(calls)}{event.key}")


async def begin_day(file: Path) -> None:
    """Do what the first run of a day does: sum up the days before."""
    database = await Database.open(file)
    await database.write(lambda c: sum_up(c, datetime.now(UTC).date().isoformat()))
    await database.close()


def fill(file: Path, count: int, every: int, result: dict[str, Any]) -> None:
    """Add runs, whose rows are those of the stored one with other ids, dates and texts."""
    with closing(sqlite3.connect(file)) as db:
        db.row_factory = sqlite3.Row
        old = dict(db.execute("SELECT * FROM runs WHERE status <> 'paused'").fetchone())
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = {name: [c[1] for c in db.execute(f"PRAGMA table_info({name})")] for name in names}
        copied = [
            n for n, columns in tables.items() if "run_id" in columns and n not in ("run_costs", "events")
        ]
        costs = [dict(row) for row in db.execute("SELECT * FROM run_costs WHERE run_id = ?", (old["id"],))]
        now = datetime.now(UTC)
        statuses = ("consensus", "majority", "deadlock", "paused")
        for n in range(count):
            run_id, question, answer = new_id(), words(15), words(120)
            time = (now - timedelta(minutes=n * 11)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            status = statuses[0 if n % 10 else n // 10 % 4]
            found = {**result, "run_id": run_id, "status": status, "question": question, "answer": answer}
            found["dissent"] = [{"seat": "Participant A", "model": "lab:alpha", "text": words(40)}]
            changed = {"id": run_id, "created_at": time, "updated_at": time, "status": status}
            changed |= {"owner": "ada" if n % 5 == 4 else "local"}
            _insert(db, "runs", {**old, **changed, "question": question, "result": json.dumps(found)})
            text = fold_words("\n— ".join([answer, found["dissent"][0]["text"]]))
            found_by = Words(fold_words(question), text)
            number = _insert(db, "recall_runs", {"run": run_id, "checksum": found_by.checksum()})
            _insert(db, "recall", {"rowid": number, **found_by._asdict()})
            for row in costs:
                panel = ("", "fast")[n % 7 == 0]
                _insert(
                    db,
                    "run_costs",
                    {**row, "run_id": run_id, "day": time[:10], "panel": panel, "owner": changed["owner"]},
                )
            for name in (*copied, *(("events",) if n % every == 0 else ())):
                columns = ", ".join(c for c in tables[name] if c != "run_id")
                query = (
                    f"INSERT INTO {name} (run_id, {columns}) SELECT ?, {columns} FROM {name} WHERE run_id = ?"
                )
                db.execute(query, (run_id, old["id"]))
            if n % 100 == 0:
                kinds = (("tag", "work"), *((("pinned", ""),) if n % 1000 == 0 else ()))
                for kind, value in kinds:
                    _insert(
                        db, "labels", {"run_id": run_id, "kind": kind, "value": value, "created_at": time}
                    )
        db.commit()


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> int | None:
    marks = ", ".join("?" * len(row))
    query = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
    return db.execute(query, tuple(row.values())).lastrowid


def build(folder: Path, count: int, every: int) -> None:
    (folder / "config.toml").write_text(SETTINGS)
    file = folder / "pnyx.db"
    start = time.perf_counter()
    fill(file, count, every, asyncio.run(real_runs(file)))
    asyncio.run(begin_day(file))
    size = file.stat().st_size
    print(f"built {count:,} runs in {time.perf_counter() - start:.0f} s: {size / 1e6:,.0f} MB", flush=True)


def environment(folder: Path) -> dict[str, str]:
    set_here = {"PNYX_CONFIG": str(folder / "config.toml")}
    if (folder / "pnyx.db").exists():
        set_here["PNYX_DATABASE"] = str(folder / "pnyx.db")
    return {**os.environ, "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), **set_here}


def run_command(args: list[str], env: dict[str, str]) -> tuple[float, float, float]:
    """Wall and CPU seconds and MiB of a `pnyx` process."""
    start = time.perf_counter()
    with tempfile.NamedTemporaryFile("r") as peak:
        out = os.open(os.devnull, os.O_WRONLY)
        actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
        program = [sys.executable, "-c", PROGRAM, *args]
        pid = os.posix_spawn(sys.executable, program, {**env, "PEAK": peak.name}, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        os.close(out)
        if status:
            raise SystemExit(f"pnyx {' '.join(args)} failed: {os.waitstatus_to_exitcode(status)}")
        memory = int(peak.read()) / 1024
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, memory


def least(args: list[str], env: dict[str, str]) -> tuple[float, ...]:
    found = [run_command(args, env) for _ in range(3)]
    return tuple(map(min, zip(*found, strict=True)))


def measure(folder: Path, only: str) -> None:
    with tempfile.TemporaryDirectory() as empty:
        (Path(empty) / "config.toml").write_text(SETTINGS)
        start, cpu_start, memory = least(["runs"], environment(Path(empty)))
    head = f"| `pnyx runs` on an empty home | {start:.2f} s | {cpu_start:.2f} s | | | {memory:.0f} MiB |"
    print(head, flush=True)
    with closing(sqlite3.connect(folder / "pnyx.db")) as db:
        (run,) = db.execute(
            "SELECT id FROM runs WHERE owner = 'local' ORDER BY created_at LIMIT 1"
        ).fetchone()
        (long,) = db.execute(
            "SELECT run_id FROM events GROUP BY run_id ORDER BY count(*) DESC LIMIT 1"
        ).fetchone()
    for name, command in COMMANDS.items():
        if only in name:
            filled = command.format(run=run, prefix=run[:8], long=long)
            wall, cpu, memory = least(shlex.split(filled), environment(folder))
            above = f"{wall - start:+.2f} s | {cpu - cpu_start:+.2f} s"
            print(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {above} | {memory:.0f} MiB |", flush=True)
    if not only or "/" in only:
        os.environ.update(environment(folder))
        asyncio.run(measure_routes(folder, run))


async def measure_routes(folder: Path, run: str) -> None:
    from tests.support.serving import open_server

    async with open_server() as server, server.client() as client:
        cursors = {}
        with closing(sqlite3.connect(folder / "pnyx.db")) as db:
            (count,) = db.execute("SELECT count(*) FROM runs").fetchone()
            for name, at in (("middle", count // 2), ("end", count - 60)):
                row = db.execute(
                    "SELECT created_at, id FROM runs ORDER BY created_at DESC, id LIMIT 1 OFFSET ?", (at,)
                )
                cursors[name] = _cursor(*row.fetchone())
        for name, path in ROUTES.items():
            times, used = [], []
            for _ in range(3):
                start, cpu = time.perf_counter(), time.process_time()
                answer = await client.get(path.format(run=run, **cursors))
                times.append((time.perf_counter() - start) * 1e3)
                used.append((time.process_time() - cpu) * 1e3)
                assert answer.status_code == 200, answer.text
            size = f"{len(answer.content) / 1024:.0f} KiB"
            print(f"| {name} | {min(times):.0f} ms | {min(used):.0f} ms | {size} |", flush=True)
        start, path, pages, found = time.perf_counter(), "/v1/runs?limit=1000", 0, 0
        while path and pages < 20:
            answer = await client.get(path)
            found, pages = found + len(answer.json()), pages + 1
            path = answer.links.get("next", {}).get("url", "")
        each = (time.perf_counter() - start) / pages * 1e3
        print(
            f"| {pages} pages of 1,000 runs, one after the other: {found:,} runs | {each:.0f} ms each | | |"
        )


def _cursor(created_at: str, run_id: str) -> str:
    from pnyx.interfaces.cursor import cursor_after

    return cursor_after(store.RunRow.new(run_id, "local", created_at, "", "", {}))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=20, help="one run in so many has its events")
    parser.add_argument("--folder", type=Path, help="where the home is kept; default: a temporary folder")
    parser.add_argument("--only", default="", help="only commands with this word in their name")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "pnyx.db").exists():
            build(folder, args.runs, args.events)
        measure(folder, args.only)


if __name__ == "__main__":
    main()
