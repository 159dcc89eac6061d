"""A process without memory costs no run, and reads in time how much it has."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from pnyx.errors import ProviderError
from pnyx.providers.base import Call
from pnyx.run import handle as handle_module
from pnyx.run.headroom import Headroom, read_headroom
from pnyx.store.records import runs as store
from tests.support.garbage import garbage_of_pnyx
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply
from tests.support.rows import rows


async def test_a_run_without_memory_is_paused_and_goes_on_where_there_is_more(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was over for good, with "MemoryError" as its reason."""
    node = make(Host(fixed_reply))

    async def exhausted(*_: object) -> NoReturn:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(handle_module, "drive", exhausted)
        handle = await node.start()
        handle.requeue_on_stop = True
        result = await handle.result()
    assert (result.status, result.stop_reason) == ("paused", "interrupted")
    advice = f"no memory left; where there is more, continue it with: pnyx resume {result.run_id}"
    assert advice in result.detail["message"]
    row = await node.database.read(lambda connection: store.find(connection, result.run_id))
    assert row.status == "paused", "a worker that takes it again would lack memory again"
    assert not handle.requeue_on_stop
    done = await (await node.runner.resume(result.run_id)).result()
    assert done.status not in ("paused", "failed")


MACHINE = {"proc/meminfo": "MemTotal:   1000000 kB\nMemFree:   1 kB\nMemAvailable:   500000 kB\n"}
V2 = {
    "proc/self/cgroup": "0::/pods/one\n",
    "sys/fs/cgroup/pods/one/memory.max": "max\n",
    "sys/fs/cgroup/pods/one/memory.current": "5\n",
    "sys/fs/cgroup/pods/memory.max": "300000000\n",
    "sys/fs/cgroup/pods/memory.current": "280000000\n",
    "sys/fs/cgroup/pods/memory.stat": "file 9\ninactive_file 30000000\n",
}
V1 = {
    "proc/self/cgroup": "3:cpu:/\n2:hugetlb,memory:/docker/of-the-host\n0::/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "200000000\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "120000000\n",
    "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 20000000\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"proc/meminfo": "MemTotal: ? kB\n"}, None),
        (MACHINE, Headroom(512_000_000, 1_024_000_000)),
        (MACHINE | V2, Headroom(50_000_000, 300_000_000)),
        (MACHINE | V1, Headroom(100_000_000, 200_000_000)),
        (V2 | {"sys/fs/cgroup/pods/memory.max": "max\n"}, None),
    ],
)
def test_the_tightest_limit_of_machine_and_container_counts(
    tmp_path: Path, files: Mapping[str, str], expected: Headroom | None
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    found = [one for one in read_headroom(tmp_path) if one.of_memory]
    assert found == ([] if expected is None else [expected])


@rows(
    "left, limit, state",
    [
        (64_000_000, 8_000_000_000, (False, False)),
        (63_000_000, 8_000_000_000, (True, False)),
        (31_000_000, 8_000_000_000, (True, True)),
        (26_000_000, 200_000_000, (False, False)),
        (24_000_000, 200_000_000, (True, False)),
        (12_000_000, 200_000_000, (True, True)),
    ],
)
def test_a_small_container_may_be_used_for_seven_eighths(
    left: int, limit: int, state: tuple[bool, bool]
) -> None:
    assert (Headroom(left, limit).is_short, Headroom(left, limit).is_used_up) == state


def test_open_files_are_counted_until_the_limit_of_the_process() -> None:
    (before,) = (one for one in read_headroom() if not one.of_memory)
    with open(os.devnull), open(os.devnull):
        (within,) = (one for one in read_headroom() if not one.of_memory)
    assert (within.left, within.limit) == (before.left - 2, before.limit)
    assert Headroom(63, 4096, of_memory=False).is_short
    assert not Headroom(64, 4096, of_memory=False).is_short
    assert not Headroom(50, 100, of_memory=False).is_short
    assert Headroom(24, 100, of_memory=False).is_used_up


async def test_a_run_in_a_process_with_too_many_open_files_is_paused_and_goes_on_elsewhere(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was over for good: its seats were dropped, or it failed."""
    node = make(Host(fixed_reply))

    async def exhausted(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(handle_module, "drive", exhausted)
        handle = await node.start()
        result = await handle.result()
    assert (result.status, result.stop_reason, handle.starved) == ("paused", "interrupted", True)
    assert (
        f"too many open files (ulimit -n); continue it with: pnyx resume {result.run_id}"
        in (result.detail["message"])
    )
    done = await (await node.runner.resume(result.run_id)).result()
    assert done.status not in ("paused", "failed")


@pytest.mark.parametrize("protocol", ["consensus", "council", "voting"])
@pytest.mark.parametrize("watched", [False, True])
async def test_an_ended_run_is_freed_without_a_collection_of_garbage(
    make: Callable[[Host], Node], protocol: str, watched: bool
) -> None:
    """Each call was a cycle of 40 objects: four fifths of the time of collections, and memory until then."""

    def sometimes(call: Call) -> str | Exception:
        if len(node.host.sent) % 5 == 2:
            return ProviderError("overloaded", "busy", retry_after=0.0)
        return fixed_reply(call)

    async def run() -> int:
        handle = await node.start(protocol=protocol, retries=2)
        seen = [event async for event in handle.events(tokens=True)] if watched else []
        result = await handle.result()
        return int(result.usage["calls"]) + len(seen)

    node = make(Host(sometimes))
    await run()  # compiles statements, and fills caches
    with garbage_of_pnyx() as garbage:
        assert await run() > 4
    assert garbage == []
