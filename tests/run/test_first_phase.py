"""A run that stops in its first phase has the answers that have arrived, and not what only plans or sorts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pnyx import protocols
from pnyx.providers.base import Call, Completion
from pnyx.run.handle import RunHandle
from pnyx.run.result import Result
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply
from tests.support.waiting import until

PARALLEL = sorted({*protocols.names()} - {"auto", "consensus", "decompose", "single"})
"""The protocols whose first phase asks several seats. The others ask one, whose reply ends it."""


class Stuck(Host):
    """Replies to the calls that `answers` says, and never to the others."""

    def __init__(self, answers: Callable[[Call, int], bool]) -> None:
        super().__init__(fixed_reply)
        self.answers = answers
        self.texts: dict[str, str] = {}

    async def complete(self, call: Call, on_text: Any = None) -> Completion:
        if not self.answers(call, len(self.sent)):
            self.sent.append("")
            await asyncio.sleep(3600)
        completion = await super().complete(call, on_text)
        self.texts.setdefault(call.model, completion.text)
        return completion


async def stopped(handle: RunHandle, host: Host, answers: int, sent: int) -> Result:
    """The result of a run that is killed after so many answers of seats and requests to the host."""
    await until(lambda: len(handle.summary.answered) >= answers and len(host.sent) >= sent)
    handle.kill()
    return await handle.result()


@pytest.mark.parametrize("protocol", PARALLEL)
async def test_an_answer_that_has_arrived_is_the_best_one_so_far(
    make: Callable[[Host], Node], protocol: str
) -> None:
    host = Stuck(lambda call, n: call.model != "small")
    asked = 2 if protocol == "escalate" else 3
    paused = await stopped(await make(host).start(protocol=protocol), host, asked - 1, asked)
    assert paused.status == "paused"
    assert paused.answer in host.texts.values()
    assert paused.detail["message"] == "stopped at once"


async def test_a_plan_is_no_answer(make: Callable[[Host], Node]) -> None:
    host = Stuck(lambda call, n: n == 0)
    paused = await stopped(await make(host).start(protocol="decompose"), host, 0, 2)
    assert len(host.texts) == 1
    assert paused.answer == ""


async def test_answers_of_an_earlier_process_count_after_a_resume(make: Callable[[Host], Node]) -> None:
    first = Stuck(lambda call, n: call.model != "small")
    node = make(first)
    paused = await stopped(await node.start(protocol="voting"), first, 2, 3)
    again = Stuck(lambda call, n: False)
    handle = await node.another_process(again).runner.resume(paused.run_id)
    assert (await stopped(handle, again, 2, 1)).answer == paused.answer
