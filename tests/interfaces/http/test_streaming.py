"""Waiting for a run over HTTP leaves nothing behind, however it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pnyx.interfaces.http import streaming


class Silent:
    """A request whose client neither speaks nor leaves."""

    async def receive(self) -> Any:
        await asyncio.sleep(60)


async def test_a_cancelled_wait_leaves_no_task_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unending(*args: Any, **more: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(streaming, "settled", unending)
    waiting = asyncio.create_task(streaming.outcome(None, "run", Silent()))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() == {asyncio.current_task()}
