"""A database, and runners on it that are stopped when the test ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pnyx.store import Database
from tests.support.panels import Host
from tests.support.processes import House


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[[Host], House]]:
    database = await Database.open(tmp_path / "pnyx.db")
    houses: list[House] = []

    def build(host: Host) -> House:
        houses.append(House(database, host))
        return houses[-1]

    yield build
    for house in houses:
        await house.stop()
        await house.runner._keeper.close()
    await database.close()
