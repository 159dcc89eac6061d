"""Tools under faults: a process that is stopped while the code of a model runs."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.faults.site import Site
from tests.faults.test_server import resumed, serving, until
from tests.faults.trial import Trial, soon
from tests.support.checker import Verdict

ENDLESS = (("run_python", {"code": "while True:\n    pass"}),)
BACKENDS = ("monty", "bubblewrap")


def endless(trial: Trial, backend: str, seconds: int = 60) -> None:
    """Let the proposer run a program without an end. seconds: after which its sandbox ends it."""
    trial.host.on("alpha", call=1, tool_calls=ENDLESS)
    trial.tables = "[tools]\nenabled = true\n[tools.code_execution]\nenabled = true\n"
    trial.tables += f'backend = "{backend}"\ntimeout_s = {seconds}\n'
    trial.settle(call_deadline_s=120)


def programs(process_id: int) -> set[int]:
    """The processes below a process that have used half a second of processor time: not those of a probe."""
    found, below = set[int](), {process_id}
    parents = dict[int, tuple[int, int]]()
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    while more := {one for one, (parent, _) in parents.items() if parent in below} - below:
        below |= more
    for one in below - {process_id}:
        if parents.get(one, (0, 0))[1] > os.sysconf("SC_CLK_TCK") // 2:
            found |= below - {process_id}
    return found


def alive(ids: set[int]) -> set[int]:
    """Those of the processes that still run; an ended one that nobody has asked for does not."""
    found = set[int]()
    for one in ids:
        with suppress(OSError):
            if Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found.add(one)
    return found


def used_once(verdict: Verdict) -> None:
    """Check that the tool is recorded once, and that no call was sent twice."""
    tools = [event for event in verdict.run.events if event["type"] == "tool_called"]
    assert [(event["tool"], event["ok"]) for event in tools] == [("run_python", False)]
    assert (verdict.uncertain, verdict.run.status) == (0, "decided")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_a_signal_ends_the_program_of_a_tool_and_a_resume_runs_it_again(
    trial: Trial, backend: str, number: int
) -> None:
    endless(trial, backend)
    with trial.spawned("ask", "Why?") as process:
        soon(lambda: programs(process.pid))
        children = programs(process.pid)
        process.send_signal(number)
        done = trial.ended(process)
        soon(lambda: not alive(children))
    run = trial.check().run
    assert (done.code, f"pnyx resume {run.id}" in done.err) == (130, True)
    assert [event["type"] for event in run.events].count("tool_called") == 0
    endless(trial, backend, seconds=1)
    assert trial.pnyx("resume", run.id).code == 0
    used_once(trial.check("the program was ended; resumed"))


async def test_a_server_that_stops_ends_the_program_of_a_tool(trial: Trial) -> None:
    endless(trial, "monty")
    with serving(trial) as server:
        process = server.process
        async with server.client() as client:
            run = (await client.post("/v1/runs", json={"question": "Why?"})).json()["run_id"]
            await until(lambda: programs(process.pid))
            children = programs(process.pid)
            assert await asyncio.to_thread(server.end, signal.SIGTERM) < 60
    assert process.returncode == 0
    await until(lambda: not alive(children))
    endless(trial, "monty", seconds=1)
    assert await asyncio.to_thread(resumed, trial, run) == 0
    used_once(await asyncio.to_thread(trial.check, "the program was ended; resumed"))


async def test_a_worker_that_stops_ends_the_program_of_a_tool_and_another_runs_it_again(
    postgres_trial: Trial,
) -> None:
    endless(postgres_trial, "monty")
    with ExitStack() as stack:
        site = await asyncio.to_thread(Site, postgres_trial, stack)
        worker = await asyncio.to_thread(site.worker)
        run = await site.begin()
        await until(lambda: programs(worker.process.pid))
        children = programs(worker.process.pid)
        assert await asyncio.to_thread(worker.end) < 60
        await until(lambda: not alive(children))
        endless(postgres_trial, "monty", seconds=1)
        await asyncio.to_thread(site.worker)
        await site.over(run)
    used_once(await asyncio.to_thread(site.check, "the program was ended; another worker ran it again"))
