"""A model that repeats one character for a long time does not stop a server."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.support.panels import Host
from tests.support.processes import Node

LENGTH = 20_000
PIECES = ["<", "</", "[", "{", "(", '"', "`", "1", " ", "\n", "a", "é", "a\n", "|", "*", "$", "\\", "“"]


@pytest.mark.parametrize("piece", PIECES)
async def test_a_run_of_long_replies_takes_little_time(make: Callable[[Host], Node], piece: str) -> None:
    """It was 4 s for `<`."""
    node = make(Host(lambda call: (piece * LENGTH)[:LENGTH]))
    await (await make(Host(lambda call: "7")).start(protocol="voting")).result()  # fills caches
    start = time.process_time()
    await (await node.start(protocol="voting")).result()
    assert time.process_time() - start < 2
