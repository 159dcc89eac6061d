"""A fault in a provider or tool of a third party costs its seat or its result, never the run."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import Mock

import pytest

import pnyx
from pnyx.core.tool_calls import ToolSpec
from pnyx.providers.adapter import adapt
from pnyx.providers.base import complete_call, counted_tokens
from pnyx.tools import Tool, Toolbox


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


FAULTS = (
    ValueError("odd"),
    KeyError("choices"),
    ConnectionResetError("peer"),
    RecursionError("deep"),
    StopAsyncIteration(),
    AssertionError(),
    OSError(5, "input/output error"),
    asyncio.CancelledError(),
    SystemExit(3),
    UnprintableError(),
    BaseExceptionGroup("several", [SystemExit(1)]),
)
REPLIES: tuple[Any, ...] = (None, b"bytes", {"text": "x"}, 7, Mock(spec=pnyx.Completion))


class Broken:
    """A whole provider whose method `where` raises `fault`, or whose replies are `reply`."""

    def __init__(self, where: str, fault: BaseException | None = None, reply: Any = None) -> None:
        self.where, self.fault, self.reply = where, fault, reply

    @property
    def is_open(self) -> bool:
        self._break("is_open")
        return self.where != "ensure_open"

    def _break(self, where: str) -> None:
        if where == self.where and self.fault is not None:
            raise self.fault

    async def ensure_open(self) -> None:
        self._break("ensure_open")

    async def searches(self, model: str) -> bool:
        self._break("searches")
        return False

    async def count_tokens(self, call: pnyx.Call) -> int:
        self._break("count_tokens")
        return 9

    async def complete(self, call: pnyx.Call, on_text: Callable[[str], None] | None = None) -> Any:
        self._break("complete")
        return (
            self.reply if self.where == "reply" else pnyx.Completion("Final answer: 4", pnyx.Usage(9, 0, 4))
        )

    async def close(self) -> None:
        pass


async def _run(broken: Broken, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> pnyx.Result:
    monkeypatch.setenv("PNYX_DATABASE", f"sqlite:///{tmp_path}/pnyx.db")
    monkeypatch.setattr("pnyx.run.calls.call.delay", lambda tries, error: 0.0)
    good = pnyx.FakeProvider(lambda call: "Final answer: 4")
    return await pnyx.ask(
        "What is 2 + 2?",
        panel=("good:a", "good:b", "bad:c"),
        protocol="voting",
        providers={"good": good, "bad": broken},
    )


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_a_provider_that_raises_anything_loses_only_its_seat(
    fault: BaseException, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await _run(Broken("complete", fault), tmp_path, monkeypatch)
    assert (done.final_answer, done.degraded) == ("4", True)
    assert [seat["model"] for seat in done.dropped] == ["bad:c"]
    assert "cancelled" in done.dropped[0]["reason"] or type(fault).__name__ in done.dropped[0]["reason"]


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: type(reply).__name__)
async def test_a_reply_of_another_type_loses_only_its_seat(
    reply: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await _run(Broken("reply", reply=reply), tmp_path, monkeypatch)
    assert (done.final_answer, done.degraded) == ("4", True)
    assert type(reply).__name__ in done.dropped[0]["reason"] or "Completion" in done.dropped[0]["reason"]


class Words:
    """Its method may be plain, take `on_text`, and return text or a whole completion."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole

    async def complete(self, call: pnyx.Call, on_text: Callable[[str], None] | None = None) -> Any:
        for word in ("It is 4.\n", "Final answer: 4"):
            if on_text is not None:
                on_text(word)
        text = "It is 4.\nFinal answer: 4"
        return pnyx.Completion(text) if self.whole else text


class WordsAndClose(Words):
    async def close(self) -> None:
        pass


class Unstreamed:
    async def complete(self, call: pnyx.Call) -> str:
        return "It is 4.\nFinal answer: 4"


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        *((kind(whole), 2) for kind in (Words, WordsAndClose) for whole in (True, False)),
        (Unstreamed(), 1),
    ],
)
async def test_text_is_a_reply_with_and_without_pieces_and_close(provider: Any, expected: int) -> None:
    pieces: list[str] = []
    call = pnyx.Call("any", (pnyx.Message("user", "What is 2 + 2?"),), max_tokens=100)
    reply = await complete_call(adapt(provider), call, pieces.append)
    assert ("".join(pieces), len(pieces)) == (reply.text, expected)


async def test_a_method_that_is_not_async_says_so(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(Broken):
        def complete(self, call: pnyx.Call, on_text: Callable[[str], None] | None = None) -> Any:
            return "Final answer: 4"

    done = await _run(Plain("complete"), tmp_path, monkeypatch)
    assert (done.final_answer, done.degraded) == ("4", True)
    assert "complete() is not async" in done.dropped[0]["reason"]


async def test_an_exception_is_shown_with_its_line_in_the_source_of_the_provider(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless(Broken):
        async def complete(self, call: pnyx.Call, on_text: Callable[[str], None] | None = None) -> Any:
            return json.loads("no")  # the line of its author, not that in the library

    done = await _run(Careless("complete"), tmp_path, monkeypatch)
    line = inspect.getsourcelines(Careless)[1] + 2
    assert done.dropped[0]["reason"].endswith(f"char 0) (test_third_party_faults.py, line {line})")


async def test_a_provider_that_cancels_the_task_that_calls_it_loses_only_its_seat(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CancelsItself(Broken):
        async def complete(self, call: pnyx.Call, on_text: Callable[[str], None] | None = None) -> Any:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)

    done = await _run(CancelsItself("complete"), tmp_path, monkeypatch)
    assert (done.final_answer, done.degraded) == ("4", True)
    assert "cancelled" in done.dropped[0]["reason"]


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        *((where, fault) for where in ("ensure_open", "searches") for fault in FAULTS),
        ("is_open", ValueError("odd")),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_a_method_beside_the_call_that_raises_fails_no_run(
    where: str, fault: BaseException, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await _run(Broken(where, fault), tmp_path, monkeypatch)
    assert (done.final_answer, done.degraded) == ("4", False)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_a_count_that_raises_is_none(fault: BaseException) -> None:
    call = pnyx.Call("m", (pnyx.Message("user", "What is 2 + 2?"),), 100)
    assert await counted_tokens(Broken("count_tokens", fault), call) is None
    assert await counted_tokens(Broken("complete", fault), call) == 9


async def test_a_host_of_one_method_may_count_too() -> None:
    class Simple:
        async def complete(self, call: pnyx.Call) -> str:
            return "4"

        async def count_tokens(self, call: pnyx.Call) -> int:
            return len(call.prompt)

    call = pnyx.Call("m", (pnyx.Message("user", "What is 2 + 2?"),), 100)
    assert await counted_tokens(adapt(Simple()), call) == len(call.prompt)
    assert await counted_tokens(adapt(Words(whole=True)), call) is None


class BrokenTool:
    spec = ToolSpec("broken", "Fails.", {"type": "object", "properties": {}})

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    async def run(self, arguments: Mapping[str, Any]) -> str:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        result: str = self.outcome
        return result


@pytest.mark.parametrize("outcome", [*FAULTS, None, 7, b"x"], ids=lambda outcome: type(outcome).__name__)
async def test_a_tool_that_fails_in_any_way_gives_a_failed_result(outcome: Any) -> None:
    tool: Tool = BrokenTool(outcome)
    result = await Toolbox({"broken": tool}).run("broken", {})
    assert not result.ok
    assert "cancelled" in result.text or type(outcome).__name__ in result.text


async def test_the_cancellation_of_the_run_goes_through_a_tool() -> None:
    class Slow(BrokenTool):
        async def run(self, arguments: Mapping[str, Any]) -> str:
            await asyncio.sleep(60)
            return ""

    task = asyncio.create_task(Toolbox({"slow": Slow("")}).run("slow", {}))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
