"""What a run holds while it is under way, and what is left of it at its end."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from pnyx.core.text import Prompt
from pnyx.protocols import names
from pnyx.providers.base import Call
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply

WIDEST = 4
"""The most calls that a step of any protocol makes at the same time, with a panel of three."""


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("protocol", names())
async def test_a_run_holds_no_prompt_of_an_earlier_step(make: Callable[[Host], Node], protocol: str) -> None:
    """Protocols keep replies of all rounds, whose prompts are several times as long as all replies."""
    held = list[int]()

    def reply(call: Call) -> str:
        held.append(sum(isinstance(one, Prompt) and bool(one.text) for one in gc.get_objects()))
        return fixed_reply(call)

    await (await make(Host(reply)).start(protocol=protocol)).result()
    assert max(held) <= WIDEST


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("streams", [False, True])
async def test_a_run_leaves_nothing_to_the_garbage_collector(
    make: Callable[[Host], Node], streams: bool
) -> None:
    """With 200 runs in a process, Python looks for cycles among old objects only long after their end."""
    node = make(Host(fixed_reply))
    await (await node.start()).result()  # what the first run loads
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        handle = await node.start()
        if streams:
            handle.stream_text()
        await handle.result()
        del handle
        await asyncio.sleep(0)  # the callbacks of its task
        gc.collect()
        left = Counter(type(one).__name__ for one in gc.garbage if type(one).__module__.startswith("pnyx"))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not left
