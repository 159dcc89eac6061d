"""A server in this process, and a panel that says one thing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text="It is so.\nFinal answer: 42")
    async with open_server() as server:
        yield server
