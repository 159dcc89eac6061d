"""A host and a database for each test, and short waits between attempts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pnyx.run.calls import limits
from pnyx.store import Database
from tests.support.scripted import ScriptedHost


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BACKOFF_S", 0.01)


@pytest.fixture
async def lab() -> AsyncIterator[ScriptedHost]:
    """A scripted host on the loop of the test."""
    async with ScriptedHost() as host:
        yield host


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "pnyx.db")
    yield database
    await database.close()
