"""Waiting for a run leaves no task behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pnyx.interfaces.service import follow


async def test_a_cancelled_wait_leaves_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unending(*args: Any, **more: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(follow, "wait_for_result", unending)
    waiting = asyncio.create_task(follow.wait_unless_disconnected(None, "run", "ann", asyncio.sleep(60)))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() == {asyncio.current_task()}
