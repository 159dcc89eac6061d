"""The time and memory of commands and routes on a home with many runs, two of 10,000 events among them.

    .venv/bin/python -m benchmarks.many_runs [--runs 100000] [--folder FOLDER] [--database URL] [--only WORD]

`benchmarks.homes` says what is in the home. FOLDER keeps it for a second measurement. URL is a database of
PostgreSQL: an empty one is filled from the home first. Each row has wall time and CPU, the least of three
processes, both beyond those of `pnyx runs` on an empty home, the peak of memory, and whether it is above the
goal, which is for what a person reads: not for exports and lists of 10,000 runs. That of a route has wall
time, and CPU of a server and its client in one process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from benchmarks.homes import SETTINGS, build, restore_into
from pnyx.interfaces.records.cursor import cursor_after
from pnyx.store import Database
from pnyx.store.records import runs as store
from tests.support.assistants import HELLO

COMMANDS = {
    "runs": "runs",
    "runs, 1,000 of them": "runs --limit 1000",
    "runs --json, 1,000 of them": "runs --json --limit 1000",
    "runs, 10,000 of them": "runs --limit 10000",
    "runs --json, 10,000 of them": "runs --limit 10000 --json",
    "runs, paused": "runs --status paused",
    "runs, running": "runs --status running",
    "runs, waiting": "runs --status waiting",
    "runs, with a tag": "runs --tag work",
    "runs, with a tag and a status": "runs --tag work --status deadlock",
    "runs, pinned": "runs --pinned",
    "runs, with those of evaluations": "runs --evaluations --limit 1000",
    "cost": "cost",
    "cost by day": "cost --by day",
    "cost by provider, 30 days": "cost --by provider --days 30",
    "cost by protocol": "cost --by protocol",
    "cost by panel": "cost --by panel",
    "cost by key": "cost --by key",
    "cost --json": "cost --json",
    "cost by run": "cost --by run",
    "cost by run --json, all of them": "cost --by run --json",
    "cost, 1 day": "cost --days 1",
    "recall, a frequent word": "recall w5x",
    "recall, three frequent words": "recall 'w0x w1x w5x'",
    "recall, a phrase": "recall '\"w0x w1x\"'",
    "recall, a phrase of no run": "recall '\"w0x w0x w0x w0x\"'",
    "recall, a rare phrase": "recall '\"w0x w900x\"'",
    "recall, a word of some": "recall w900x",
    "recall, a rare word": "recall w15000x",
    "recall, a word of no run": "recall 'w5x nowhere'",
    "recall, a word in another script": "recall 日本",
    "recall, some of the words": "recall 'w0x w15000x nowhere'",
    "recall, 1,000 of them": "recall --limit 1000 w5x",
    "recall --json, 1,000 of them": "recall --limit 1000 --json w5x",
    "recall, 1,000 with three words": "recall --limit 1000 'w0x w1x w5x'",
    "recall, 10,000 of them": "recall --limit 10000 w5x",
    "status": "status {run}",
    "status, a prefix": "status {prefix}",
    "status of the long run": "status {long}",
    "status --json of the long run": "status --json {long}",
    "show": "show {run}",
    "show of the long run": "show {long}",
    "show of the finished long run": "show {finished}",
    "show --verbose of the long run": "show -v {long}",
    "show --all of the long run": "show --all {long}",
    "show --json of the long run": "show --json {long}",
    "export --format json of the long run": "export {long} --format json",
    "export --format md of the long run": "export {long} --format md",
    "export --format html of the long run": "export {long} --format html",
    "feedback": "feedback {run} --result success",
    "tag": "tag {run} work",
    "share": "share {run}",
    "calibration": "calibration",
    "panel": "panel list",
    "worker status": "worker status",
    "prune --dry-run": "prune --older-than 90d --dry-run",
    "doctor": "doctor",
    "doctor --full": "doctor --full",
}
MAY_FAIL = ("doctor", "doctor --full", "feedback", "worker status")
"""Commands that exit with another status here: no host answers, no seat has voted, no worker runs."""
ALL = ("10,000", "all of them", "--all", "show --json", "export", "doctor")
"""In the names of commands that print more than 1,000 runs or all of a long one, or read the whole file."""
LONG = "/v1/runs/{long}"
ROUTES = {
    "/v1/runs": "/v1/runs?limit=50",
    "/v1/runs, with a tag": "/v1/runs?limit=50&tag=work",
    "/v1/runs, paused": "/v1/runs?limit=50&status=paused",
    "/v1/runs, of a protocol": "/v1/runs?limit=50&protocol=consensus",
    "/v1/runs, of a protocol that none has": "/v1/runs?limit=50&protocol=voting",
    "/v1/runs, 1,000 of them": "/v1/runs?limit=1000",
    "/v1/runs, from the middle": "/v1/runs?limit=50&cursor={middle}",
    "/v1/runs, from the end": "/v1/runs?limit=50&cursor={end}",
    "/v1/costs": "/v1/costs?days=3660",
    "/v1/costs by run, 30 days": "/v1/costs?by=run&days=30",
    "/v1/costs by run": "/v1/costs?by=run&days=3660",
    "/v1/recall": "/v1/recall?text=w0x+w1x+w5x",
    "/v1/recall, 100 of them": "/v1/recall?text=w5x&limit=100",
    "/v1/recall, 1,000 of them": "/v1/recall?text=w5x&limit=1000",
    "/v1/recall, a phrase of no run": "/v1/recall?text=%22w0x+w0x+w0x+w0x%22",
    "/v1/runs/ID": "/v1/runs/{run}",
    "/v1/runs/ID of the long run": LONG,
    "/v1/runs/ID/events of the long run, 100": LONG + "/events?limit=100",
    "/v1/runs/ID/overview of the long run": LONG + "/overview",
    "/v1/runs/ID/export of the long run, md": LONG + "/export?format=md",
    "/v1/runs/ID/export of the long run, json": LONG + "/export?format=json",
}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "runs over MCP": ("runs", {"limit": 50}),
    "recall over MCP": ("recall", {"text": "w0x w1x w5x"}),
    "show over MCP": ("show", {"run_id": "{run}"}),
    "show of the long run over MCP": ("show", {"run_id": "{long}"}),
    "transcript of the long run over MCP": ("show", {"run_id": "{long}", "transcript": True}),
}


GOAL_S, GOAL_MB = 0.3, 150
"""CPU beyond the start, and peak of memory, of every listing, cost, status, recall and `show`."""
NUMBERS = count(2)
"""Of requests over MCP, of which no two of a session have the same."""
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


def environment(folder: Path, url: str) -> dict[str, str]:
    """url: of the database; empty for none."""
    files = {"PNYX_CONFIG": str(folder / "config.toml")}
    folders = {"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    env = {**os.environ, **files, **folders, **({"PNYX_DATABASE": url} if url else {})}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # which would add the time of compiling what only some import
    return env


def run_command(args: list[str], env: dict[str, str], may_fail: bool) -> tuple[float, float, float]:
    """Wall and CPU seconds and MiB of a `pnyx` process."""
    start = time.perf_counter()
    with tempfile.NamedTemporaryFile("r") as peak:
        out = os.open(os.devnull, os.O_WRONLY)
        actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
        program = [sys.executable, "-c", PROGRAM, *args]
        pid = os.posix_spawn(sys.executable, program, {**env, "PEAK": peak.name}, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        os.close(out)
        if status and not may_fail:
            raise SystemExit(f"pnyx {shlex.join(args)} failed: {os.waitstatus_to_exitcode(status)}")
        memory = int(peak.read()) / 1024
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, memory


def least(args: list[str], env: dict[str, str], may_fail: bool = False) -> tuple[float, ...]:
    found = [run_command(args, env, may_fail) for _ in range(3)]
    return tuple(map(min, zip(*found, strict=True)))


def goal_of(cpu: float, memory: float) -> str:
    """Whether a command is within the goal. cpu: beyond the start. memory: MiB, in MB in the goal."""
    within = cpu < GOAL_S and memory * 1024**2 < GOAL_MB * 1e6
    return "" if within else f"above {GOAL_S} s or {GOAL_MB} MB"


def measure(folder: Path, url: str, only: str) -> None:
    with tempfile.TemporaryDirectory() as empty:
        (Path(empty) / "config.toml").write_text(SETTINGS)
        start, cpu_start, memory = least(["runs"], environment(Path(empty), ""))
    head = f"| `pnyx runs` on an empty home | {start:.2f} s | {cpu_start:.2f} s | | | {memory:.0f} MiB | |"
    print(head, flush=True)
    env = environment(folder, url)
    names = asyncio.run(find_names(url))
    for name, command in COMMANDS.items():
        if only in name:
            args = shlex.split(command.format(**names))
            wall, cpu, memory = least(args, env, may_fail=name in MAY_FAIL)
            over = cpu - cpu_start
            above = f"{wall - start:+.2f} s | {over:+.2f} s | {memory:.0f} MiB"
            goal = "" if any(word in name for word in ALL) else goal_of(over, memory)
            print(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {above} | {goal} |", flush=True)
    os.environ.update(env)
    asyncio.run(measure_routes(names, only))


async def find_names(url: str) -> dict[str, str]:
    """What commands and routes name: ids of runs, and places in their list."""
    database = await Database.open(url)

    def find(connection: Connection, query: str, **values: int) -> list[Any]:
        return list(connection.execute(text(query), values))

    read = database.read
    oldest = "SELECT id FROM runs WHERE owner = 'local' ORDER BY created_at LIMIT 1"
    long = "SELECT id, status FROM runs WHERE seq > 9999 ORDER BY status DESC LIMIT 2"
    listed = "SELECT created_at, id FROM runs ORDER BY created_at DESC, id LIMIT 1 OFFSET :at"
    ((run,),) = await read(partial(find, query=oldest))
    (unfinished, _), (finished, _) = await read(partial(find, query=long))
    ((runs,),) = await read(partial(find, query="SELECT count(*) FROM runs"))
    names = {"run": run, "prefix": run[:8], "long": unfinished, "finished": finished}
    for name, at in (("middle", runs // 2), ("end", max(runs - 60, 0))):
        ((created_at, id),) = await read(partial(find, query=listed, at=at))
        names[name] = cursor_after(store.RunRow.new(id, "local", created_at, "", "", {}))
    await database.close()
    return names


async def measure_routes(names: dict[str, str], only: str) -> None:
    from tests.support.serving import open_server  # which needs the settings

    async with open_server() as server, server.client() as client:
        for name, path in ROUTES.items():
            if only in name:
                await measure_requests(name, partial(client.get, path.format(**names)))
        headers = {"Accept": "application/json, text/event-stream"}
        begun = await client.post("/mcp", json=HELLO, headers=headers)
        headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        for name, call in TOOLS.items():
            if only in name:
                arguments = {k: v.format(**names) if isinstance(v, str) else v for k, v in call[1].items()}
                params = {"name": call[0], "arguments": arguments}
                send = partial(call_tool, client, headers, params)
                await measure_requests(name, send)
        if only in "pages":
            await measure_pages(client)


async def call_tool(client: Any, headers: dict[str, str], params: dict[str, Any]) -> Any:
    body = {"jsonrpc": "2.0", "id": next(NUMBERS), "method": "tools/call", "params": params}
    return await client.post("/mcp", json=body, headers=headers)


async def measure_requests(name: str, send: Callable[[], Awaitable[Any]]) -> None:
    times, used = [], []
    for _ in range(3):
        start, cpu = time.perf_counter(), time.process_time()
        answer = await send()
        times.append((time.perf_counter() - start) * 1e3)
        used.append((time.process_time() - cpu) * 1e3)
        assert answer.status_code == 200, answer.text
        assert '"isError":true' not in answer.text, answer.text
    size = f"{len(answer.content) / 1024:.0f} KiB"
    print(f"| {name} | {min(times):.0f} ms | {min(used):.0f} ms | {size} |", flush=True)


async def measure_pages(client: Any) -> None:
    start, path, pages, found = time.perf_counter(), "/v1/runs?limit=1000", 0, 0
    while path and pages < 20:
        answer = await client.get(path)
        found, pages = found + len(answer.json()), pages + 1
        path = answer.links.get("next", {}).get("url", "")
    each = (time.perf_counter() - start) / pages * 1e3
    print(f"| {pages} pages of 1,000 runs, one after the other: {found:,} runs | {each:.0f} ms each | | |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=20, help="one run in so many has its events")
    parser.add_argument("--folder", type=Path, help="where the home is kept; default: a temporary folder")
    parser.add_argument("--database", help="measure on this database of PostgreSQL")
    parser.add_argument("--only", default="", help="only commands and routes with this word in their name")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        file = folder / "pnyx.db"
        if not file.exists():
            build(folder, args.runs, args.events)
        if args.database and asyncio.run(is_empty(args.database)):
            restore_into(args.database, file)
        measure(folder, args.database or str(file), args.only)


async def is_empty(url: str) -> bool:
    database = await Database.open(url)
    found: bool = await database.read(lambda c: not store.listing(c, limit=1))
    await database.close()
    return found


if __name__ == "__main__":
    main()
