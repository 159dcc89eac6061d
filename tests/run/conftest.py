"""A database, and runners on it that stop when the test ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pnyx.store import Database
from tests.support.panels import Host
from tests.support.processes import Node


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[[Host], Node]]:
    database = await Database.open(tmp_path / "pnyx.db")
    nodes: list[Node] = []

    def build(host: Host) -> Node:
        nodes.append(Node(database, host))
        return nodes[-1]

    yield build
    for node in nodes:
        await node.stop()
        await node.runner.ownership.keeper.close()
    await database.close()
