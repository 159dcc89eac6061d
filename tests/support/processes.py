"""Runners for tests: consecutive processes on one database, with a host that replies by a rule."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest

from pnyx.config.schema import Settings
from pnyx.core.events import Event, RunFinished
from pnyx.protocols import get
from pnyx.providers.base import Call
from pnyx.run.calls.limits import Limits
from pnyx.run.handle import RunHandle
from pnyx.run.runner import Runner
from pnyx.run.spec import Spec
from pnyx.store import Database
from pnyx.store.money import ledger
from pnyx.store.records import runs as store
from tests.support.panels import Host, Hosts, seats

PANEL = seats("h:large", "h:mid", "h:small")


def fixed_reply(call: Call) -> str:
    """Return a text that depends only on model and prompt, so that no challenge is repeated."""
    mark = crc32(call.messages[-1].text.encode())
    return " ".join(f"{call.model}{mark}{word}" for word in ("objects", "because", "evidence"))


class Node:
    """A pnyx process: a runner on a database. `another_process` is one on the same database."""

    def __init__(self, database: Database, host: Host) -> None:
        self.database, self.host = database, host
        settings = Settings.model_validate(
            {"providers": {"h": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}}}
        )
        self.runner = Runner(settings, database, Hosts(h=host))  # type: ignore[arg-type]

    def another_process(self, host: Host) -> Node:
        return Node(self.database, host)

    async def start(self, **changes: Any) -> RunHandle:
        return await self.runner.start(spec(**changes))

    async def log(self, run_id: str) -> list[Event]:
        return await self.database.read(lambda c: store.log(c, run_id))

    async def row(self, run_id: str) -> store.RunRow:
        return await self.database.read(lambda c: store.find(c, run_id))

    async def stop(self) -> None:
        """End the process: nothing more is written, and the lease expires."""
        for handle in list(self.runner.local.values()):
            handle.kill()
            await handle.wait()


async def die(node: Node, handle: RunHandle) -> None:
    """Wait until the process of the run has died, and expire its lease."""
    with pytest.raises(BaseException):  # noqa: B017, PT011 (the process ends)
        await handle.result()
    expired = {"worker": "elsewhere:1:1", "heartbeat_at": 0.0}
    await node.database.write(lambda c: store.patch(c, handle.run_id, expired))


def spec(**changes: Any) -> Spec:
    limits = Limits(changes.pop("call_deadline_s", 30.0), 200, changes.pop("retries", 0))
    options = get(changes.get("protocol", "consensus")).resolve_options(changes.pop("options", {}))
    fields: dict[str, Any] = {"question": "Should we?", "protocol": "consensus", "seats": PANEL, **changes}
    return Spec(limits=limits, options=options, **fields)


def well_formed(log: list[Event], finished: bool = True) -> None:
    assert [e.seq for e in log] == list(range(1, len(log) + 1))
    assert sum(isinstance(e, RunFinished) for e in log) == (1 if finished else 0)


async def account_of(node: Node, run_id: str) -> ledger.Account:
    return await node.database.read(lambda c: ledger.read_account(c, f"run:{run_id}"))


CONTRACT = [
    *("run_id", "status", "protocol", "question", "answer", "final_answer", "confidence", "confidence_rule"),
    *("rigor", "agreement", "consensus_reached", "dissent", "rounds", "converged", "stop_reason"),
    *("seats", "dropped", "degraded", "usage", "elapsed_s", "detail"),
]
