"""A process without memory costs no run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest

from pnyx.run import handle as handle_module
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply


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
