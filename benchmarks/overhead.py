"""The overhead of pnyx beyond the calls of models, measured against a scripted host on loopback.

    .venv/bin/python -m benchmarks.overhead [--calls 300] [--json]

Every figure is a ratio or a difference of measurements in the same run. On a shared machine, run it more than
once. The targets are those of the issue for the engine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from zlib import crc32

from pnyx.config.schema import Settings
from pnyx.core.events import CallStarted
from pnyx.core.models import Usage
from pnyx.providers.base import Call, Completion
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.run.handle import RunHandle
from pnyx.run.request import RunRequest
from pnyx.run.resolve import resolve
from pnyx.run.runner import Runner
from tests.support.scripted import spawn

WORDS = "The claim holds for {n} of the cases, and the evidence of case {m} is what decides the matter here. "


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def settings(url: str, database: str, concurrency: int = 512) -> Settings:
    lab = {"kind": "openai", "base_url": url, "concurrency": concurrency}
    names = ("alpha", "beta", "gamma")
    return Settings.model_validate(
        {
            "providers": {"lab": lab},
            "models": {f"lab:{n}": {"input_price": 1.0, "output_price": 4.0} for n in names},
            "panel": {"seats": tuple(f"lab:{n}" for n in names)},
            "storage": {"url": database},
        }
    )


def reply_text(call: Call) -> str:
    """About 200 words that differ from prompt to prompt, so that no challenge is a repetition."""
    n = crc32(call.messages[-1].text.encode())
    return "".join(WORDS.format(n=f"{n}x{i}", m=f"{n * i}y") for i in range(10))


async def finished_debate(runner: Runner, rounds: int = 3) -> RunHandle:
    """A finished debate."""
    handle = await runner.start(resolve(RunRequest(question="Should we?", rounds=rounds), runner.settings))
    await handle.result()
    return handle


async def debate(runner: Runner, rounds: int = 3) -> tuple[float, list[Any]]:
    """Seconds of one debate, and its events."""
    start = time.perf_counter()
    handle = await finished_debate(runner, rounds)
    wall = time.perf_counter() - start
    return wall, [event async for event in handle.events()]


async def engine_time(folder: Path) -> float:
    """Seconds of three rounds if models answer immediately (median of 15)."""
    chosen = settings("http://127.0.0.1:9/v1", str(folder / "engine.db"))
    fake = FakeProvider(lambda call: Completion(reply_text(call), Usage(500, 0, 200, 0)))
    async with Runner.open(chosen, Providers(chosen, extra={"lab": fake})) as runner:
        await debate(runner)
        return statistics.median([(await debate(runner))[0] for _ in range(15)])


async def critical_path(folder: Path, latency: float) -> tuple[float, float]:
    """(wall / critical path of a debate of 3 rounds, prompt tokens of round 3 / those of round 2)."""
    with spawn(latency=latency) as host:
        async with Runner.open(settings(host.openai, str(folder / "path.db"))) as runner:
            await debate(runner, 1)  # do not measure connections and imports
            wall, events = await debate(runner)
    rounds = max(e.round or 0 for e in events if isinstance(e, CallStarted))
    prompts = {
        n: sum(len(e.prompt) for e in events if isinstance(e, CallStarted) and e.round == n) for n in (2, 3)
    }
    return wall / (3 * rounds * latency), prompts[3] / prompts[2]


async def per_call(folder: Path, calls: int, at_once: int) -> tuple[float, float]:
    """(CPU ms of a bare pydantic-ai direct call, additional CPU ms of a call in a debate).

    Both with `at_once` concurrent calls; medians of five, alternating.
    """
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    with spawn() as host:
        model = OpenAIChatModel("alpha", provider=OpenAIProvider(base_url=host.openai, api_key="none"))
        prompt = [ModelRequest.user_text_prompt(WORDS * 20)]

        async def bare() -> int:
            for _ in range(calls // at_once):
                await model_request(model, prompt)
            return calls // at_once

        async def debates() -> int:
            done = 0
            while done < calls // at_once:
                done += (await (await finished_debate(runner)).result()).usage["calls"]
            return done

        async with Runner.open(settings(host.openai, str(folder / f"calls{at_once}.db"))) as runner:
            await model_request(model, prompt)
            await debate(runner)
            times = [await timed(work, at_once) for _ in range(5) for work in (bare, debates)]
    plain = statistics.median(times[::2])
    return plain, statistics.median(times[1::2]) - plain


async def timed(work: Callable[[], Awaitable[int]], at_once: int) -> float:
    """CPU ms per call, with `work` running `at_once` times concurrently."""
    gc.collect()
    start = cpu()
    calls = sum(await asyncio.gather(*(work() for _ in range(at_once))))
    return (cpu() - start) / calls * 1e3


def peak_mib() -> float:
    """The peak memory of this process in MiB. `ru_maxrss` would include that of its parent at the fork."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory_of_100_runs(folder: Path) -> float:
    """Peak MiB of 100 concurrent debates, without the memory of the imports; in a new process."""
    program = f"""
import asyncio, sys
from benchmarks.overhead import debate, peak_mib, settings
from pnyx.run.runner import Runner
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
async def main():
    async with Runner.open(settings(sys.argv[1], {str(folder / "many.db")!r})) as runner:
        await debate(runner, 1)
        before = peak_mib()
        await asyncio.gather(*(debate(runner) for _ in range(100)))
        print(peak_mib() - before)
asyncio.run(main())
"""
    with spawn(latency=0.2) as host:
        done = subprocess.run(
            [sys.executable, "-c", program, host.openai], capture_output=True, text=True, check=True
        )
    return float(done.stdout)


def start_up(folder: Path) -> tuple[float, ...]:
    """CPU seconds of two scripts with 4 calls, of `pnyx ask -q` with 4 calls, and of `pnyx --help`.

    The scripts use bare pydantic-ai with its own transport, and pnyx's provider with pnyx's transport.
    """
    provider = """
import asyncio, sys
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.base import Call, Message
async def main():
    host = open_hosted("openai", base_url=sys.argv[1], api_key="none")
    for _ in range(4):
        await host.complete(Call("alpha", (Message("user", "Should we?"),), 100))
    await host.close()
asyncio.run(main())
"""
    bare = """
import asyncio, sys
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
async def main():
    model = OpenAIChatModel("alpha", provider=OpenAIProvider(base_url=sys.argv[1], api_key="none"))
    for _ in range(4):
        await model_request(model, [ModelRequest.user_text_prompt("Should we?")])
asyncio.run(main())
"""
    with spawn() as host:
        chosen = folder / "pnyx.toml"
        chosen.write_text(
            f'[providers.lab]\nkind = "openai"\nbase_url = "{host.openai}"\n'
            '[panel]\nseats = ["lab:alpha", "lab:beta", "lab:gamma"]\n'
        )
        environment = {
            **os.environ,
            "PNYX_CONFIG": str(chosen),
            "PNYX_DATABASE": str(folder / "start.db"),
            "OPENAI_API_KEY": "none",
        }
        # An installed pnyx has bytecode. With this variable, a working copy would be compiled at every start.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def cpu_seconds(*command: str) -> float:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        python, pnyx = sys.executable, str(Path(sys.executable).with_name("pnyx"))
        commands = (
            (python, "-c", bare, host.openai),
            (python, "-c", provider, host.openai),
            (pnyx, "ask", "Should we?", "--quick", "-q", "--json"),
            (pnyx, "--help"),
        )
        for command in commands:
            cpu_seconds(*command)
        times = [[cpu_seconds(*command) for command in commands] for _ in range(5)]
    return tuple(statistics.median(column) for column in zip(*times, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calls", type=int, default=300, help="calls for the CPU of one call; at least 100")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of a scripted call")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.calls < 100:
        parser.error("--calls must be at least 100: one for each concurrent debate")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = asyncio.run(engine_time(folder))
        path, growth = asyncio.run(critical_path(folder, args.latency))
        alone_ms, alone_more = asyncio.run(per_call(folder, args.calls, 1))
        eight_ms, eight_more = asyncio.run(per_call(folder, args.calls, 8))
        many_ms, many_more = asyncio.run(per_call(folder, args.calls, 100))
        bare_s, provider_s, ask_s, help_s = start_up(folder)
        memory = memory_of_100_runs(folder)
    figures = {
        "wall / critical path, 3 rounds": (path, 1.05),
        "engine time, 3 rounds, ms": (engine * 1e3, 30),
        "CPU of a bare direct call, 100 at once, ms": (many_ms, None),
        "more for a call in 100 debates at once": (many_more, 1),
        "CPU of a bare direct call, eight at once, ms": (eight_ms, None),
        "more for a call in eight debates at once": (eight_more, 1),
        "CPU of a bare direct call, one by one, ms": (alone_ms, None),
        "more for a call in one debate after another": (alone_more, 1),
        "100 runs at once, MiB above imports": (memory, 120),
        "CPU of pnyx ask / bare script with 4 calls": (ask_s / bare_s, 1.2),
        "CPU of pnyx ask / script with our provider": (ask_s / provider_s, None),
        "CPU of pnyx --help, s": (help_s, 0.1),
        "prompt of round 3 / of round 2": (growth, 1.1),
    }
    if args.json:
        print(json.dumps({name: value for name, (value, _) in figures.items()}, indent=1))
        return
    for name, (value, target) in figures.items():
        print(f"{name:46} {value:8.3f}" + (f"   target {target:g}" if target is not None else ""))


if __name__ == "__main__":
    main()
