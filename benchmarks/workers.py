"""Workers of one PostgreSQL: throughput, fairness, limits, take-over after kill -9, two versions at once.

    .venv/bin/python -m benchmarks.workers [--runs 120] [--behind 200] [--old COMMIT] [--only PART …]

Servers and workers are processes, the host is another one on loopback, and PostgreSQL is one for this
benchmark, on a disk that it does not wait for. A run is a vote of three seats: three calls.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from math import floor
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from pnyx.config.load import load
from pnyx.config.schema import Settings
from pnyx.run.calls.turns import LATE_S, SharedTurns, StoredTurns, spacing_of
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner
from pnyx.store import Database
from pnyx.store.queue import Queue
from tests.support.postgres import PostgresServer
from tests.support.scripted import RemoteHost, spawn

ROOT = Path(__file__).parents[1]
CALLS = 3
LATENCY_S = {"limits": 0.2, "takeover": 2.0, "upgrade": 0.2}
"""Seconds before every reply of the host; 0 for the other parts."""
TOML = """
[storage]
url = "{url}"
[providers.lab]
kind = "openai"
base_url = "{host}"
concurrency = 256
{rate}
[models."lab:alpha"]
input_price = 1.0
output_price = 4.0
[panel]
seats = ["lab:alpha*3"]
[run]
protocol = "voting"
"""
LIMITS = """
[serve.keys.bound]
runs_at_once = 2
"""


class Site:
    """A database with its settings, the host, and workers."""

    def __init__(self, url: str, host: RemoteHost, folder: Path, rate: str = "", more: str = "") -> None:
        self.file, self.host = folder / "pnyx.toml", host
        self.file.write_text(TOML.format(url=url, host=host.openai, rate=rate) + more)
        self.env = os.environ | {"PNYX_CONFIG": str(self.file), "PYTHONUNBUFFERED": "1"}
        self._asked = len(host.log)

    @property
    def settings(self) -> Settings:
        return load(env=self.env)

    @property
    def requests(self) -> list[Any]:
        """The requests to the host since the site was made."""
        return self.host.log[self._asked :]

    @contextmanager
    def workers(self, count: int, concurrency: int = 16, source: Path | None = None) -> Iterator[Any]:
        """Workers that take runs. source: the folder `src` of another version."""
        env = self.env | ({"PYTHONPATH": str(source)} if source else {})
        command = [sys.executable, "-P", "-m", "pnyx", "worker", "--concurrency", str(concurrency)]
        started = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE) for _ in range(count)]
        try:
            for one in started:
                assert one.stderr is not None
                said = b""
                while b"taking runs from" not in (line := one.stderr.readline()):
                    said += line
                    if not line:
                        raise RuntimeError(f"a worker did not start: {said.decode()}")
                os.set_blocking(one.stderr.fileno(), False)
            yield started
        finally:
            for one in started:
                one.send_signal(signal.SIGTERM)
            for one in started:
                one.communicate()


@asynccontextmanager
async def opened(site: Site) -> AsyncIterator[tuple[Runner, Queue]]:
    async with Runner.open(site.settings) as runner:
        queue = await Queue.open(str(site.settings.storage.url))
        try:
            yield runner, queue
        finally:
            await queue.close()


async def put(runner: Runner, queue: Queue, owner: str, count: int) -> list[str]:
    """Queue `count` runs of an owner."""
    request = RunRequest(question=f"Should we, {owner}?")
    specs = [resolve(request, runner.settings, owner=owner) for _ in range(count)]
    ids = await asyncio.gather(*map(runner.enqueue, specs))
    await asyncio.gather(*(queue.defer(run_id, owner) for run_id in ids))
    return ids


async def over(runner: Runner, ids: Sequence[str], least: int | None = None, within: float = 300) -> float:
    """Wait until `least` of the runs, or all, have ended. Return the seconds that it took."""
    started_at = time.perf_counter()
    query = text("SELECT count(*) FROM runs WHERE id = ANY (:ids) AND status NOT IN ('running', 'paused')")

    def ended(connection: Connection) -> int:
        return int(connection.execute(query, {"ids": list(ids)}).scalar_one())

    while await runner.database.read(ended) < (len(ids) if least is None else least):
        if time.perf_counter() - started_at > within:
            raise RuntimeError("runs did not end in time")
        await asyncio.sleep(0.02)
    return time.perf_counter() - started_at


async def finished(runner: Runner) -> int:
    """Return how many calls have a reply in the journal."""
    query = text("SELECT count(*) FROM events WHERE type = 'call_finished'")
    return await runner.database.read(lambda c: int(c.execute(query).scalar_one()))


async def throughput(make: Callable[..., Site], runs: int) -> None:
    for count in (1, 2, 4):
        site, before = make(), os.times()
        async with opened(site) as (runner, queue):
            with site.workers(count):
                rate = runs / await over(runner, await put(runner, queue, "me", runs))
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        each = f"{cpu / runs * 1e3:.0f} ms of CPU a run in workers, their start included"
        print(f"runs a second, {count} workers      {rate:.1f}; {each}")


async def fairness(make: Callable[..., Site], behind: int) -> None:
    site = make()
    async with opened(site) as (runner, queue):
        with site.workers(1, concurrency=4):
            alone = await over(runner, await put(runner, queue, "one", 1))
            started_at = time.perf_counter()
            many = await put(runner, queue, "many", behind)
            await over(runner, many, least=10)
            one = await over(runner, await put(runner, queue, "one", 1))
            await over(runner, many)
            every = time.perf_counter() - started_at
    print(f"one run alone, s                {alone:.2f}")
    print(f"the same behind another's {behind}   {one:.2f} (all of them: {every:.1f})")


async def rate(make: Callable[..., Site], count: int) -> None:
    site = make(rate="requests_per_minute = 600", more=LIMITS)
    async with opened(site) as (runner, queue):
        with site.workers(count):
            ids = await put(runner, queue, "me", 50)
            took = await over(runner, ids)
    times = sorted(request.time for request in site.requests)
    most = max(bisect_right(times, at + 5) - n for n, at in enumerate(times))
    allowed = floor((5 + LATE_S) / spacing_of(600)) + 1
    bound = f"at most {most} in 5 s ({allowed} allowed)"
    print(f"600 calls a minute, {count} workers   {len(times)} in {took:.1f} s, {bound}")


class Counted(StoredTurns):
    """Turns in the database, and how often it was asked for some."""

    asked = 0

    async def reserve(self, length: float) -> tuple[float, float]:
        self.asked += 1
        return await super().reserve(length)


async def turns(make: Callable[..., Site]) -> None:
    """Turns of two processes at 1,000 calls a second, without the calls."""
    url = str(make().settings.storage.url)
    databases = [await Database.open(url) for _ in range(2)]
    sources = [Counted(one, "host") for one in databases]
    shared = [SharedTurns(spacing_of(60_000), source) for source in sources]
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(shared[n % 2].take() for n in range(5000)))
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    for one in databases:
        await one.close()
    asked = sum(source.asked for source in sources)
    statements = f"{asked / took:.0f} statements a second, {cpu / 5:.2f} ms of CPU a turn"
    print(f"turns at 1,000 calls a second   {5000 / took:.0f} a second; {statements}")


async def limits(make: Callable[..., Site]) -> None:
    await turns(make)
    for workers in (2, 4):
        await rate(make, workers)
    site = make(more=LIMITS)
    at_once = 0
    count = text("SELECT count(*) FROM runs WHERE owner = 'bound' AND status = 'running' AND worker <> ''")
    async with opened(site) as (runner, queue):
        with site.workers(2):
            waiting = asyncio.create_task(over(runner, await put(runner, queue, "bound", 12)))
            while not waiting.done():
                now = await runner.database.read(lambda c: int(c.execute(count).scalar_one()))
                at_once = max(at_once, now)
                await asyncio.sleep(0.02)
    print(f"runs of a key at once           {at_once} (2 allowed)")


async def takeover(make: Callable[..., Site]) -> None:
    site = make()
    taken = text("SELECT count(*) FROM runs WHERE epoch > 2")
    async with opened(site) as (runner, queue):
        with site.workers(2) as (first, second):
            # Started now, since a start may take longer than the calls; it takes no run before.
            second.send_signal(signal.SIGSTOP)
            ids = await put(runner, queue, "me", 8)
            while len(site.requests) < 8 * CALLS:  # noqa: ASYNC110 (another process has the event)
                await asyncio.sleep(0.02)
            first.kill()
            second.send_signal(signal.SIGCONT)
            started_at = time.perf_counter()
            while await runner.database.read(lambda c: int(c.execute(taken).scalar_one())) < 8:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            took = time.perf_counter() - started_at
            await over(runner, ids)
            again = len(site.requests) - await finished(runner)
    print(f"taken over after kill -9, s     {took:.1f} (8 runs; {again} calls in flight asked again)")


def unpack(commit: str, folder: Path) -> None:
    """Write the code of a commit to `folder`/src."""
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


async def upgrade(make: Callable[..., Site], old: str, runs: int, folder: Path) -> None:
    """A worker of the version before starts on its own schema; this version then migrates under it."""
    unpack(old, folder)
    site = make()
    with site.workers(1, concurrency=4, source=folder / "src") as (before,):
        async with opened(site) as (runner, queue):
            ids = await put(runner, queue, "me", runs // 2)
            with site.workers(1, concurrency=4):
                ids += await put(runner, queue, "me", runs - len(ids))
                await over(runner, ids, least=runs * 3 // 4)
                before.send_signal(signal.SIGTERM)
                before.wait()
                assert before.stderr is not None
                said = (before.stderr.read() or b"").decode()
                did, left = said.count("· started"), said.count("cannot continue here")
                await over(runner, ids)
            query = text("SELECT status, count(*) FROM runs GROUP BY 1")
            ended = {row[0]: row[1] for row in await runner.database.read(lambda c: c.execute(query).all())}
            calls = await finished(runner)
    again = len(site.requests) - calls
    print(f"two versions at once            {ended}, {old[:7]} began {did} and left {left} to the other")
    print(f"                                {calls} calls, {again} asked again")


async def measure(parts: Sequence[str], args: argparse.Namespace, server: PostgresServer) -> None:
    for part in parts:
        with spawn(latency=LATENCY_S.get(part, 0.0)) as host, tempfile.TemporaryDirectory() as name:
            folder, databases = Path(name), list[Any]()

            def make(folder: Path = folder, databases: list[Any] = databases, **settings: str) -> Site:
                databases.append(server.database())
                return Site(databases[-1].__enter__(), host, folder, **settings)

            match part:
                case "throughput":
                    await throughput(make, args.runs)
                case "fairness":
                    await fairness(make, args.behind)
                case "limits":
                    await limits(make)
                case "takeover":
                    await takeover(make)
                case "upgrade":
                    await upgrade(make, args.old, 40, folder)
            for database in databases:
                database.__exit__(None, None, None)


PARTS = ("throughput", "fairness", "limits", "takeover", "upgrade")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=120)
    parser.add_argument("--behind", type=int, default=200)
    parser.add_argument("--old", default="HEAD^", help="commit of the version before, for the part `upgrade`")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    args = parser.parse_args()
    server = PostgresServer()
    server.start()
    try:
        asyncio.run(measure(args.only, args, server))
    finally:
        server.remove()


if __name__ == "__main__":
    main()
