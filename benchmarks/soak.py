"""A thousand concurrent debates on a host that fails one request in twenty: is any lost or paid twice?

    .venv/bin/python -m benchmarks.soak [--runs 1000] [--database URL]

The host is another process on loopback and records the charges. Faults are spread evenly over all requests:
429, 500, 503, a connection reset, a truncated answer.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.scripted import settings
from pnyx.core.events import CallFailed, CallFinished, CallStarted
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner
from pnyx.store.records import runs as store
from tests.support.scripted import RemoteHost, spawn

FAULTS: tuple[dict[str, object], ...] = (
    {"status": 429, "headers": {"Retry-After": "0"}},
    {"status": 500},
    {"status": 503},
    {"reset": True},
    {"cut_at": 150},
)
EVERY = 20
LATENCY_S = 1.0


def add_faults(host: RemoteHost, runs: int) -> None:
    """Let one request in `EVERY` of each model fail, with each fault in turn."""
    most = 8 * runs
    for model in ("alpha", "beta", "gamma"):
        for n, fault in enumerate(FAULTS):
            calls = list(range(EVERY * (n + 1), most, EVERY * len(FAULTS)))
            host.on(model, call=calls, **fault)


@asynccontextmanager
async def lag() -> AsyncIterator[list[float]]:
    """The lag of the event loop in seconds, sampled every 50 ms."""
    late: list[float] = []

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.05)
            late.append(time.perf_counter() - start - 0.05)

    task = asyncio.create_task(watch())
    try:
        yield late
    finally:
        task.cancel()


async def soak(url: str, host: RemoteHost, runs: int) -> bool:
    chosen = settings(host.openai, url, concurrency=1000)
    start = time.perf_counter()
    async with Runner.open(chosen) as runner, lag() as late:

        async def one(n: int) -> tuple[str, str]:
            handle = await runner.start(
                resolve(RunRequest(question=f"Should we take step {n}?", seed=n), chosen)
            )
            return handle.run_id, (await handle.result()).status

        ended = await asyncio.gather(*(one(n) for n in range(runs)))
        wall = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sound, sums = await audit(runner, [run_id for run_id, _ in ended])
    requests = host.log
    paid = Counter(r.sha256 for r in requests if r.usage is not None)
    twice = sum(n - 1 for n in paid.values() if n > 1)
    refused = sum(r.status != 200 for r in requests)
    statuses = Counter(status for _, status in ended)
    lost = runs - statuses["decided"] - statuses["consensus"]
    late.sort()
    print(f"runs                      {runs} in {wall:.0f} s: {dict(statuses)}")
    print(f"runs lost                 {lost}")
    print(f"requests                  {len(requests)}, of which {refused} refused")
    print(f"calls                     {sums['calls']}, retried {sums['failed']}")
    print(f"calls paid twice          {twice} of {sums['unknown']} whose answer was lost")
    print(f"ledger = journal, seq     {'sound' if sound else 'BROKEN'} in all runs")
    print(f"memory, MiB               {memory:.0f} at most")
    print(f"event loop late, ms       {late[len(late) // 2] * 1e3:.0f} median, {late[-1] * 1e3:.0f} at most")
    return lost == 0 and sound and twice <= sums["unknown"]


async def audit(runner: Runner, run_ids: list[str]) -> tuple[bool, Counter[str]]:
    """Whether the events of each run are complete and its account is their sum; and sums over all runs."""
    sound, sums = True, Counter[str]()
    for run_id in run_ids:
        log = await runner.database.read(lambda c, run_id=run_id: store.log(c, run_id))  # type: ignore[misc]
        account = await runner.database.read(
            lambda c, run_id=run_id: store.read_account(c, f"run:{run_id}")  # type: ignore[misc]
        )
        finished = [e for e in log if isinstance(e, CallFinished)]
        failed = [e for e in log if isinstance(e, CallFailed)]
        charged = sum(e.cost_usd or 0 for e in finished) + sum(e.charged_usd or 0 for e in failed)
        sums["calls"] += len(finished)
        sums["failed"] += len(failed)
        sums["unknown"] += sum(bool(e.charged_usd) for e in failed)
        sound &= [e.seq for e in log] == list(range(1, len(log) + 1))
        sound &= (account.spent_nusd, account.reserved_nusd) == (round(charged * 1e9), 0)
        sound &= sum(isinstance(e, CallStarted) for e in log) == len(finished) + len(failed)
    return sound, sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--database", help="default: a temporary SQLite file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, spawn(latency=LATENCY_S) as host:
        add_faults(host, args.runs)
        url = args.database or f"sqlite:///{Path(folder) / 'soak.db'}"
        sys.exit(0 if asyncio.run(soak(url, host, args.runs)) else 1)


if __name__ == "__main__":
    main()
