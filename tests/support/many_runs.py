"""`python -m tests.support.many_runs N`: run N questions at once, and print how each ended."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

import pnyx
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.runner import Runner


async def _run_all(count: int) -> Counter[str]:
    async with Runner.open(open_settings()) as runner:
        results = await asyncio.gather(*(pnyx.ask("Why?", rounds=1, runner=runner) for _ in range(count)))
    return Counter(f"{result.status} {result.stop_reason}" for result in results)


if __name__ == "__main__":
    for outcome, times in asyncio.run(_run_all(int(sys.argv[1]))).items():
        print(times, outcome)
