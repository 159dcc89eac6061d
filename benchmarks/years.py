"""What the clients of a server notice of a home of years, while it deletes old runs and is backed up.

    .venv/bin/python -m benchmarks.years [--runs 100000] [--folder FOLDER] [--seconds 40]

`benchmarks.homes` says what is in the home; FOLDER keeps it, and a copy of it is used. 20 clients use `pnyx
serve` at once: six ask a panel of three and wait for the decision, six ask and follow the events, eight read
short things in turn. There are three periods: nothing else; old runs are deleted (`[storage] retention`, a
month of runs); backups are made, one after the other. It prints the milliseconds of each kind of request in
each period, the largest write-ahead log, and the size of the database before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from asyncio.subprocess import DEVNULL
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

from benchmarks.homes import build
from benchmarks.serve import SETTINGS, Connection, spread
from tests.support.announced import address_and_key
from tests.support.scripted import RemoteHost, spawn

MINUTES = 11
"""Between two runs of the home."""
DAYS = 30
"""Of runs that are deleted."""
ASKING, FOLLOWING, READING = 6, 6, 8
PAUSE_S = 0.25
"""Seconds between two requests of a client."""
ASKED = {"question": "Why?", "protocol": "voting"}
VOTE = "a vote of three"
READS = ("/v1/runs?limit=50", "/v1/recall?text=w0x+w1x", "/v1/costs?days=30", "/health")


Client = Callable[[Connection, "Watch", str], Awaitable[None]]


class Watch:
    """What is measured in the period that has the name `period`."""

    def __init__(self, file: Path) -> None:
        self.file, self.period = file, ""
        self.taken: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.wal: dict[str, int] = defaultdict(int)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        start, period = time.perf_counter(), self.period
        yield
        self.taken[name][period].append((time.perf_counter() - start) * 1000)

    async def watch_log(self) -> None:
        wal = self.file.with_name(f"{self.file.name}-wal")
        while True:
            self.wal[self.period] = max(self.wal[self.period], wal.stat().st_size if wal.exists() else 0)
            await asyncio.sleep(0.05)


@contextmanager
def serving(folder: Path, retention: str) -> Iterator[tuple[str, str, threading.Event]]:
    """Start a server on the home in `folder`. Yields its address, a key, and whether it has deleted runs."""
    # Old runs are looked for at the start; without a retention, none are.
    (folder / "config.toml").write_text((folder / "lab.toml").read_text() + retention)
    names = {"PNYX_CONFIG": str(folder / "config.toml"), "PNYX_DATABASE": str(folder / "pnyx.db")}
    environment = {**os.environ, **names, "LAB_KEY": "sk-lab", "PYTHONPATH": str(Path(__file__).parents[1])}
    command, deleted = [sys.executable, "-m", "pnyx", "serve", "--port", "0"], threading.Event()
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:

        def read() -> None:
            for line in process.stderr or ():
                if b"[storage] retention" in line:
                    deleted.set()

        try:
            address, key = address_and_key(process.stderr)
            reader = threading.Thread(target=read)
            reader.start()
            yield address, key, deleted
        finally:
            process.terminate()
        reader.join()


async def ask(connection: Connection, watch: Watch, path: str) -> None:
    with watch.timed(f"{VOTE}, waited for"):
        await connection.ask("POST", "/v1/runs", {**ASKED, "wait": True})


async def follow(connection: Connection, watch: Watch, path: str) -> None:
    with watch.timed(f"{VOTE}, followed"):
        await connection.send("POST", "/v1/runs", {**ASKED, "stream": True})
        await connection.reader.readuntil(b"\r\n0\r\n\r\n")


async def read(connection: Connection, watch: Watch, path: str) -> None:
    kind = path.partition("?")[0]
    with watch.timed("/v1/runs/ID" if kind.startswith("/v1/runs/") else kind):
        await connection.ask("GET", path)


@asynccontextmanager
async def clients(url: str, key: str, run: str, watch: Watch) -> AsyncIterator[None]:
    """Clients that send requests for as long as the context is open."""

    async def use(client: Client) -> None:
        connection = await Connection.open(url, key)
        for path in itertools.cycle((*READS, f"/v1/runs/{run}")):
            await client(connection, watch, path)
            await asyncio.sleep(PAUSE_S)

    kinds: list[Client] = [*[ask] * ASKING, *[follow] * FOLLOWING, *[read] * READING]
    tasks = [asyncio.create_task(use(kind)) for kind in kinds]
    tasks.append(asyncio.create_task(watch.watch_log()))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(ended, asyncio.CancelledError):
                raise RuntimeError("a client ended early") from ended


async def back_up(folder: Path, seconds: float) -> list[float]:
    """Make backups for so many seconds, one at least. Return the seconds of each."""
    environment, taken = {**os.environ, "PNYX_DATABASE": str(folder / "pnyx.db")}, list[float]()
    begun = time.perf_counter()
    while not taken or time.perf_counter() - begun < seconds:
        start, file = time.perf_counter(), folder / f"backup{len(taken)}.db"
        command = [sys.executable, "-m", "pnyx", "backup", str(file)]
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, cwd=folder, stdout=DEVNULL, stderr=DEVNULL
        )
        assert await process.wait() == 0
        taken.append(time.perf_counter() - start)
    return taken


async def measure(folder: Path, runs: int, seconds: float, host: RemoteHost) -> None:
    watch = Watch(folder / "pnyx.db")
    (folder / "lab.toml").write_text(SETTINGS.format(url=host.openai))
    with closing(sqlite3.connect(watch.file)) as database:
        newest = "SELECT id FROM runs WHERE owner = 'local' ORDER BY created_at DESC"
        (run,) = database.execute(newest).fetchone()
    with serving(folder, "") as (url, key, _):
        watch.period = "nothing else"
        async with clients(url, key, run, watch):
            await asyncio.sleep(seconds)
            watch.period = "backups"
            backups = await back_up(folder, seconds)
    check_backups(folder)
    before, count = watch.file.stat().st_size, count_runs(watch.file)
    days = runs * MINUTES // 60 // 24 - DAYS
    watch.period = "deletion"
    start = time.perf_counter()
    with serving(folder, f'[storage]\nretention = "{days}d"\n') as (url, key, deleted):
        async with clients(url, key, run, watch):
            assert await asyncio.to_thread(deleted.wait, 900), "no run was deleted"
            took = time.perf_counter() - start
    after = watch.file.stat().st_size
    report(watch)
    print(f"\nbackups: {len(backups)}, {min(backups):.1f} to {max(backups):.1f} s each, all of them whole")
    asked = sum(len(taken["deletion"]) for name, taken in watch.taken.items() if name.startswith(VOTE))
    gone = count + asked - count_runs(watch.file)
    print(f"deletion of {DAYS} days: about {gone:,} of {count:,} runs in {took:.0f} s")
    print(f"database: {before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after")


def check_backups(folder: Path) -> None:
    for file in folder.glob("backup*.db"):
        with closing(sqlite3.connect(file)) as backup:
            assert backup.execute("PRAGMA quick_check").fetchone() == ("ok",)
        file.unlink()


def count_runs(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT count(*) FROM runs").fetchone()[0])


def report(watch: Watch) -> None:
    periods = list(watch.wal)
    print(f"| milliseconds | {' | '.join(periods)} |\n|---|{'---|' * len(periods)}")
    for name, taken in sorted(watch.taken.items()):
        cells = [f"{spread(taken[one])}, {len(taken[one])}" if len(taken[one]) > 1 else "" for one in periods]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"| largest write-ahead log, MB | {' | '.join(f'{watch.wal[one] / 1e6:.1f}' for one in periods)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where the home is kept; default: a temporary folder")
    parser.add_argument("--seconds", type=float, default=40.0, help="of each period")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, spawn(latency=0.3) as host:
        source = args.folder or Path(temporary) / "home"
        if not (source / "pnyx.db").exists():
            build(source, args.runs, every=20)
        folder = Path(temporary) / "copy"
        folder.mkdir()
        shutil.copy(source / "pnyx.db", folder)
        asyncio.run(measure(folder, args.runs, args.seconds, host))


if __name__ == "__main__":
    main()
