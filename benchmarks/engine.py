"""The overhead of pnyx: what a debate takes beyond the replies of its models, and that of other projects.

    .venv/bin/python -m benchmarks.engine [spans calls many] [--tries 5] [--runs 200 1000] [--json]

The host is scripted, on loopback; every figure is a ratio, or was measured in turn with the others. On a
shared machine read those of CPU, and run it more than once. Linux only.

spans: debates in a fresh process, one after another, over HTTP: the first and the later ones. "by CPU" is the
ratio on an idle machine, where nothing but the client's own CPU comes between replies and requests.
calls: CPU of a call, with replies that arrive at once: of a bare script, of pnyx's provider alone, of the
debate without a journal, of all, and of the command `pnyx batch`, which looks for garbage more seldom than
Python does by default; with long questions; and of a transaction with nothing in it.
many: debates at once in one process: memory, CPU, and whether any is lost. Faults of hosts: benchmarks.soak.
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
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import accumulate, count
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.scripted import Span, WatchedHost, settings, spans, words
from pnyx.config.schema import Settings
from pnyx.core.models import Usage
from pnyx.core.steps import Abstain, Ask, Enter, Reply, Tally, Use
from pnyx.core.tool_calls import ToolResult
from pnyx.providers.base import Call, Completion, Message, Provider
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.run.calls.messages import messages
from pnyx.run.drive import Where, drive
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner
from pnyx.store import Database
from tests.support.scripted import spawn

LATENCY_S = 0.3
SIZES = (1_000, 22_000, 200_000, 800_000)
"""Characters of long questions."""
QUESTION = "Should we?"
OURS = """
import asyncio, json, sys
import pnyx
from benchmarks.scripted import settings
async def main():
    async with pnyx.open_runner(settings(sys.argv[1], sys.argv[4])) as runner:
        for _ in range(int(sys.argv[2])):
            await pnyx.ask("Should we?", runner=runner, **json.loads(sys.argv[3]))
asyncio.run(main())
"""
CONFIG = """
[providers.lab]
kind = "openai"
base_url = "{url}"
concurrency = 512
[panel]
seats = ["lab:alpha", "lab:beta", "lab:gamma"]
"""
REQUESTS: Mapping[str, tuple[dict[str, Any], int]] = {
    "pnyx, voting": ({"protocol": "voting"}, 4),
    "pnyx, consensus of one round": ({"rounds": 1}, 4),
    "pnyx, consensus of three rounds": ({"rounds": 3}, 12),
}
"""Name -> the request, and its number of calls."""
MANY = """
import asyncio, sys
from benchmarks.engine import many
asyncio.run(many(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def cpu(who: int = resource.RUSAGE_SELF) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def reply_text(call: Call) -> str:
    return words(call.messages[-1].text.encode())


# spans


def programs(url: str, folder: Path, debates: int) -> dict[str, tuple[list[str], int]]:
    """Name -> the command of a program that holds so many debates, and the calls of each."""
    ours = {
        name: ([sys.executable, "-c", OURS, url, str(debates), json.dumps(request)], calls)
        for name, (request, calls) in REQUESTS.items()
    }
    database = f"sqlite:///{folder / 'spans.db'}"
    others = peers.installed(peers.PYTHON)
    return {name: ([*command, database], calls) for name, (command, calls) in ours.items()} | {
        name: ([*command, url, str(debates)], peers.CALLS) for name, command in others.items()
    }


def measured_spans(tries: int, latency: float, debates: int = 4) -> dict[str, list[list[Span]]]:
    """Name of a program -> for each process of it, its debates."""
    found: dict[str, list[list[Span]]] = {}
    with WatchedHost(latency=latency) as host, tempfile.TemporaryDirectory() as name:
        for n in range(tries + 1):
            for program, (command, calls) in programs(host.openai, Path(name), debates).items():
                for file in Path(name).iterdir():
                    file.unlink()
                with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                    host.watch(process.pid)
                    _, errors = process.communicate()
                if process.returncode or len(host.served) != calls * debates:
                    raise SystemExit(f"{program}: {len(host.served)} requests\n{errors}")
                if n:  # the first round fills caches of files
                    found.setdefault(program, []).append(spans(host.served, calls))
    return found


def summary_of_spans(found: Mapping[str, list[list[Span]]]) -> dict[str, dict[str, float]]:
    calls = {name: calls for name, (_, calls) in REQUESTS.items()}
    return {
        name: {
            "first": median(one[0].ratio for one in processes),
            "first, by CPU": median(one[0].cpu_ratio for one in processes),
            "later": median(span.ratio for one in processes for span in one[1:]),
            "later, by CPU": median(span.cpu_ratio for one in processes for span in one[1:]),
            "CPU a call, ms": 1e3
            * median(
                (span.whole_cpu or 0) / calls.get(name, peers.CALLS)
                for one in processes
                for span in one[1:-1]
            ),
        }
        for name, processes in found.items()
    }


# calls


class Unrecorded:
    """Performs the steps of a protocol with a provider: no journal, no budget, no retries."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.calls = 0

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        self.calls += 1
        call = Call(ask.seat.name, messages(ask, []), max_tokens=ask.max_tokens or 1000, schema=ask.schema)
        return Reply(ask, (await self.provider.complete(call)).text)

    async def use(self, key: str, step: Use, where: Where) -> ToolResult:
        raise AssertionError("no tools")

    async def enter(self, key: str, step: Enter, where: Where) -> None: ...

    async def tally(self, key: str, step: Tally, where: Where) -> None: ...

    async def abstain(self, key: str, step: Abstain, where: Where) -> None: ...

    async def close(self, key: str, late: Sequence[int], where: Where) -> None: ...


async def per_call(folder: Path, calls: int, at_once: int, repeats: int = 5) -> dict[str, float]:
    """CPU ms of a call, `at_once` in parallel, by what sends it; medians, in turn."""
    from openai import AsyncOpenAI

    with spawn() as host:
        chosen = settings(host.openai, str(folder / f"calls{at_once}.db"))
        client = AsyncOpenAI(base_url=host.openai, api_key="none")
        prompt, wanted = words(b"") * 2, max(calls // at_once, 1)

        async def bare() -> int:
            for _ in range(wanted):
                await client.chat.completions.create(
                    model="alpha", messages=[{"role": "user", "content": prompt}], max_tokens=1000
                )
            return wanted

        async with Runner.open(chosen) as runner:
            provider = runner.providers.get("lab")
            call = Call("alpha", (Message("user", prompt),), max_tokens=1000)

            async def ours() -> int:
                for _ in range(wanted):
                    await provider.complete(call)
                return wanted

            async def unrecorded() -> int:
                handler = Unrecorded(provider)
                while handler.calls < wanted:
                    # Its own fences, so that its replies differ from those whose reading is remembered.
                    spec = resolve(RunRequest(question=QUESTION), chosen)
                    await drive(spec.protocol_def, spec.brief, spec.panel, handler, spec.resolve)
                return handler.calls

            async def whole() -> int:
                done = 0
                while done < wanted:
                    done += int((await debate(runner)).usage["calls"])
                return done

            work = {
                "bare openai SDK": bare,
                "pnyx's provider": ours,
                "a debate without a journal": unrecorded,
                "a debate": whole,
            }
            for one in work.values():
                await timed(one, min(at_once, 8))
            times = {name: list[float]() for name in (*work, "pnyx batch")}
            for n in range(repeats):
                for name, one in work.items():
                    times[name].append(await timed(one, at_once))
                times["pnyx batch"].append(
                    of_batch(host.openai, folder / f"batch{at_once}-{n}", calls, at_once)
                )
        await client.close()
    return {name: median(values) for name, values in times.items()}


async def timed(work: Callable[[], Awaitable[int]], at_once: int) -> float:
    """CPU ms of a call, with `work` running `at_once` times in parallel."""
    gc.collect()
    start = cpu()
    calls = sum(await asyncio.gather(*(work() for _ in range(at_once))))
    return (cpu() - start) / calls * 1e3


def of_batch(url: str, folder: Path, calls: int, at_once: int) -> float:
    """CPU ms of a call of `pnyx batch`: with more questions, beyond what it takes with fewer."""
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG.format(url=url))
    used = []
    for questions in (at_once, at_once + max(calls // 12, 2 * at_once)):
        place = folder / str(questions)
        place.mkdir()
        (place / "questions.jsonl").write_text("".join(f'"{QUESTION} {n}"\n' for n in range(questions)))
        command = [sys.executable, "-m", "pnyx", "batch", "questions.jsonl", "--out", "results.jsonl"]
        command += ["--rounds", "3", "--concurrency", str(at_once)]
        environment = os.environ | {"PNYX_CONFIG": "../config.toml", "PNYX_DATABASE": str(place / "runs.db")}
        start = cpu(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True)
        results = map(json.loads, (place / "results.jsonl").read_text().splitlines())
        used.append((cpu(resource.RUSAGE_CHILDREN) - start, sum(one["usage"]["calls"] for one in results)))
    (cpu_before, calls_before), (cpu_after, calls_after) = used
    return (cpu_after - cpu_before) / (calls_after - calls_before) * 1e3


async def debate(runner: Runner, question: str = QUESTION) -> Any:
    """The result of one debate of three rounds."""
    handle = await runner.start(resolve(RunRequest(question=question, rounds=3), runner.settings))
    return await handle.result()


async def without_waiting(folder: Path) -> float:
    """Milliseconds of a debate of three rounds whose models reply at once; the median of 15."""
    chosen = settings("http://127.0.0.1:9/v1", str(folder / "engine.db"))
    fake = FakeProvider(lambda call: Completion(reply_text(call), Usage(500, 0, 200, 0)))
    times = []
    async with Runner.open(chosen, Providers(chosen, extra={"lab": fake})) as runner:
        for _ in range(16):
            start = time.perf_counter()
            await debate(runner)
            times.append(time.perf_counter() - start)
    return median(times[1:]) * 1e3


async def of_long_questions(folder: Path, sizes: Sequence[int], repeats: int = 3) -> dict[str, float]:
    """CPU ms of a call of a debate, by the characters of its question; the least of `repeats`."""
    chosen = settings("http://127.0.0.1:9/v1", str(folder / "sizes.db"))
    # A short answer, which is compared with the question.
    fake = FakeProvider(
        lambda call: Completion(f"{reply_text(call)}\nFinal answer: 42", Usage(500, 0, 200, 0))
    )
    found = {}
    async with Runner.open(chosen, Providers(chosen, extra={"lab": fake})) as runner:
        await debate(runner)
        for size in sizes:
            parts = (words(bytes([n % 256, size % 256])) for n in count())
            question = QUESTION + next(text for text in accumulate(parts) if len(text) >= size)[:size]
            times = []
            for _ in range(repeats):
                start = cpu()
                calls = int((await debate(runner, question=question)).usage["calls"])
                times.append((cpu() - start) / calls * 1e3)
            found[f"{size:,}"] = min(times)
    return found


async def empty_write(folder: Path) -> float:
    """CPU ms of a transaction with nothing in it, which is alone; the least of six means."""
    database = await Database.open(folder / "empty.db")
    times = []
    for _ in range(6):
        start = cpu()
        for _ in range(100):
            await database.write(lambda connection: None)
        times.append((cpu() - start) / 100 * 1e3)
    await database.close()
    return min(times)


# many


def peak_kb() -> int:
    """The peak memory of this process in kB. `ru_maxrss` would include that of its parent at the fork."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


async def many(url: str, database: str, runs: int) -> None:
    """Print what `runs` debates at once take, as JSON."""
    chosen: Settings = settings(url, database, concurrency=min(4 * runs, 1000))
    async with Runner.open(chosen) as runner:
        await asyncio.gather(*(debate(runner) for _ in range(3)))  # imports, patterns, connections
        gc.collect()
        before, start, began = peak_kb(), cpu(), time.perf_counter()
        ended = await asyncio.gather(*(debate(runner) for _ in range(runs)))
        wall, used, memory = time.perf_counter() - began, cpu() - start, peak_kb() - before
    calls = sum(int(result.usage["calls"]) for result in ended)
    lost = sum(result.status not in ("decided", "consensus") for result in ended)
    figures = {"lost": lost, "calls": calls, "kB a run": memory / runs, "CPU a call, ms": used / calls * 1e3}
    print(json.dumps({**figures, "wall, s": wall}))


def measured_many(runs: int, latency: float) -> dict[str, float]:
    with spawn(latency=latency) as host, tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-c", MANY, host.openai, f"sqlite:///{Path(name) / 'many.db'}", str(runs)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        figures: dict[str, float] = json.loads(done.stdout)
        requests = len(host.log) - 3 * 12
    return {"debates": runs, **figures, "requests sent twice": requests - figures["calls"]}


# all


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    columns = list(next(iter(rows.values())))
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"  {name:>{max(len(name), 7)}}" for name in columns)]
    for name, row in rows.items():
        cells = "".join(f"  {row[column]:{max(len(column), 7)}.3f}" for column in columns)
        lines.append(f"{name:{width}}{cells}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["spans", "calls", "many", []], help="default: all")
    parser.add_argument("--tries", type=int, default=5, help="processes of each program")
    parser.add_argument("--latency", type=float, default=LATENCY_S, help="seconds of a scripted call")
    parser.add_argument("--calls", type=int, default=300, help="calls for the CPU of one")
    parser.add_argument("--runs", type=int, nargs="+", default=[200, 1000], help="debates at once")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    parts = args.parts or ["spans", "calls", "many"]
    found: dict[str, Any] = {}
    if "spans" in parts:
        found["span / critical path"] = summary_of_spans(measured_spans(args.tries, args.latency))
    with tempfile.TemporaryDirectory() as folder:
        if "calls" in parts:
            found["CPU of a call, ms"] = {
                f"{n} at once": asyncio.run(per_call(Path(folder), args.calls, n)) for n in (1, 8, 100)
            }
            engine = asyncio.run(without_waiting(Path(folder)))
            found["a debate of three rounds whose replies arrive at once, ms"] = {"pnyx": {"wall": engine}}
            sizes = asyncio.run(of_long_questions(Path(folder), SIZES))
            found["CPU of a call by the characters of its question, ms"] = {"pnyx": sizes}
            empty = asyncio.run(empty_write(Path(folder)))
            found["a transaction with nothing in it, ms"] = {"pnyx": {"CPU": empty}}
    if "many" in parts:
        found["debates of 12 calls at once"] = {
            f"{n} at once": measured_many(n, args.latency) for n in args.runs
        }
    if args.json:
        print(json.dumps(found, indent=1))
        return
    print("\n\n".join(f"{title}\n{table(rows)}" for title, rows in found.items()))


if __name__ == "__main__":
    main()
