"""What a run holds while it is under way."""

from __future__ import annotations

import gc
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
    gc.freeze()  # what other tests hold is not counted, nor looked at again, which would take seconds
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
