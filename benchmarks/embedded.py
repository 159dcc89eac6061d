"""The speed of the embedded models on this machine: `python benchmarks/embedded.py [NAME …]`.

Prints a Markdown table with a row for each installed model, or for the named ones. Speeds are the best of
three calls, because other processes can only slow them down.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from pnyx.providers.base import Call, Message
from pnyx.providers.embedded.provider import EmbeddedProvider, open_embedded
from pnyx.providers.embedded.weights import installed

PROMPT_WORDS = 400
REPLY_TOKENS = 48
REPEATS = 3


async def main(names: list[str]) -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| model | MB | load s | memory MB | prompt tokens a second | generated tokens a second |")
    print("|---|---|---|---|---|---|")
    for name, path in installed().items():
        if names and name not in names:
            continue
        provider = open_embedded()
        loading = await seconds(provider, name) - await seconds(provider, name)
        read, written = 0.0, 0.0
        for number in range(REPEATS):
            read_now, written_now = await speeds(provider, name, number)
            read, written = max(read, read_now), max(written, written_now)
        size, memory = path.stat().st_size / 1e6, peak_memory()
        await provider.close()
        print(f"| {name} | {size:,.0f} | {loading:.1f} | {memory:,.0f} | {read:.0f} | {written:.0f} |")


async def seconds(provider: EmbeddedProvider, model: str) -> float:
    start = time.perf_counter()
    await provider.complete(Call(model, (Message("user", "Hi"),), 1))
    return time.perf_counter() - start


async def speeds(provider: EmbeddedProvider, model: str, number: int) -> tuple[float, float]:
    """Tokens per second: of a prompt that shares no prefix with earlier ones, and of its reply."""
    text = f"{number} " + " ".join(f"reason {n} speaks against it" for n in range(PROMPT_WORDS // 5))
    times: list[float] = []
    start = time.perf_counter()
    done = await provider.complete(
        Call(model, (Message("user", text),), REPLY_TOKENS, temperature=1.0, seed=number),
        lambda piece: times.append(time.perf_counter()),
    )
    assert done.usage is not None
    fresh = done.usage.input_tokens - done.usage.cached_tokens
    return fresh / (times[0] - start), (len(times) - 1) / (times[-1] - times[0])


def peak_memory() -> float:
    """The peak memory of the engines of this process together, in MB."""
    children = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    states = [Path(f"/proc/{pid}/status").read_text() for pid in children.split()]
    return sum(int(state.partition("VmHWM:")[2].split()[0]) for state in states) * 1024 / 1e6


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
