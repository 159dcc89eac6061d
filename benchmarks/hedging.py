"""The gain from hedging if one model has a long tail: the same debates with it and without.

    .venv/bin/python -m benchmarks.hedging [--debates 60]

One seat's model answers in 50 ms, but takes 1 s (20 times its median) for one call in fifty; the others
always take 50 ms. The same calls are slow in both runs. The times are those of sleeps, so they are the same
on any machine.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.engine import reply_text
from benchmarks.scripted import settings
from pnyx.config.schema import Settings
from pnyx.core.events import CallStarted
from pnyx.core.models import Usage
from pnyx.providers.base import Call, Completion
from pnyx.providers.registry import Providers
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner

MEDIAN_S, TAIL_S, TAIL = 0.05, 1.0, 0.02


class SlowTailHost:
    """A host with one slow-tailed model, with the same random numbers in each run."""

    def __init__(self) -> None:
        self._rng = random.Random(7)
        self.sent = 0

    async def complete(self, call: Call) -> Completion:
        self.sent += 1
        slow = call.model == "alpha" and self._rng.random() < TAIL
        await asyncio.sleep(TAIL_S if slow else MEDIAN_S)
        return Completion(reply_text(call), Usage(500, 0, 200, 0))


async def debates(folder: Path, count: int, hedge: bool) -> tuple[list[float], int, int]:
    """(seconds of each debate, requests sent, requests that are the first of their call)."""
    plain = settings("http://127.0.0.1:9/v1", str(folder / f"{hedge}.db"))
    chosen: Settings = plain.model_copy(update={"run": plain.run.model_copy(update={"hedge": hedge})})
    host, walls, calls = SlowTailHost(), [], 0
    async with Runner.open(chosen, Providers(chosen, extra={"lab": host})) as runner:
        for n in range(count + 10):
            start = time.perf_counter()
            handle = await runner.start(resolve(RunRequest(question="Should we?", rounds=2, seed=n), chosen))
            await handle.result()
            if n >= 10:  # before, there is no percentile yet
                walls.append(time.perf_counter() - start)
            calls += sum([isinstance(e, CallStarted) and e.attempt == 1 async for e in handle.events()])
    return walls, host.sent, calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--debates", type=int, default=60)
    count = parser.parse_args().debates
    with tempfile.TemporaryDirectory() as folder:
        naive, _, _ = asyncio.run(debates(Path(folder), count, False))
        hedged, sent, calls = asyncio.run(debates(Path(folder), count, True))
    print(f"debates                      {count}, 8 calls each; critical path without a tail 0.3 s")
    for name, walls in (("without hedging", naive), ("with hedging", hedged)):
        worst = sorted(walls)[int(0.95 * len(walls))]
        print(f"{name:28} mean {statistics.mean(walls):.3f} s   95th percentile {worst:.3f} s")
    print(f"mean with / without          {statistics.mean(hedged) / statistics.mean(naive):.2f}")
    print(f"extra requests               {(sent - calls) / calls:.1%} (at most 5 %)")


if __name__ == "__main__":
    main()
