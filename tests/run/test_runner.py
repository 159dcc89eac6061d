"""Runs as interfaces use them: start, watch, dropped seats, quorum, abstentions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from pnyx.core.events import CallFailed, CallStarted, Event, RunFinished, RunStarted, Token
from pnyx.core.protocol import Protocol
from pnyx.errors import Diverged, NotFound, ProviderError, UsageError
from pnyx.interfaces.views.outcome import headline, stop_message
from pnyx.protocols import get
from pnyx.providers.base import Call, Completion
from pnyx.run.result import Result, exit_code
from pnyx.store.records import runs as store
from pnyx.tools import Toolbox
from tests.support.panels import Host
from tests.support.processes import PANEL, Node, fixed_reply, well_formed
from tests.support.stored import as_json

CONTRACT = [
    *("run_id", "status", "protocol", "question", "answer", "final_answer", "confidence", "confidence_rule"),
    *("rigor", "agreement", "consensus_reached", "dissent", "rounds", "converged", "stop_reason"),
    *("seats", "dropped", "degraded", "usage", "elapsed_s", "detail"),
]

CONTRACT = [
    *("run_id", "status", "protocol", "question", "answer", "final_answer", "confidence", "confidence_rule"),
    *("rigor", "agreement", "consensus_reached", "dissent", "rounds", "converged", "stop_reason"),
    *("seats", "dropped", "degraded", "usage", "elapsed_s", "detail"),
]


async def test_a_run_is_recorded_completely_and_its_result_has_the_public_shape(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 2})
    watched = [event async for event in handle.events()]
    result = await handle.result()
    log = await node.log(handle.run_id)
    well_formed(log)
    assert watched == log
    assert isinstance(log[0], RunStarted)
    document = result.to_json()
    assert list(document) == CONTRACT
    assert document["usage"]["calls"] == len(node.host.sent) == 8
    assert document["status"] == "decided"
    assert Result.from_json(document).to_json() == document
    assert exit_code(result) == 0
    row = await node.database.read(lambda c: store.find(c, handle.run_id[:5]))
    assert (row.status, row.result) == ("decided", document)


async def test_tokens_are_shown_and_never_stored(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1})
    watched = [event async for event in handle.events(tokens=True)]
    assert any(isinstance(e, Token) and e.seat for e in watched)
    assert not any(isinstance(e, Token) for e in await node.log(handle.run_id))


async def test_no_token_comes_after_its_reply(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1})
    read = node.database.read

    async def late(work: Callable[[Connection], Any]) -> Any:
        await handle.wait()  # everything is written before the log is read
        return await read(work)

    monkeypatch.setattr(node.database, "read", late)
    watched = [event async for event in handle.events(tokens=True)]
    monkeypatch.undo()
    assert watched == await node.log(handle.run_id)


async def test_a_watcher_can_reconnect_with_the_last_event_it_saw(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply, pause=0.01))
    handle = await node.start(options={"rounds": 2})
    first: list[Event] = []
    async for event in handle.events():
        first.append(event)
        if len(first) == 6:
            break
    rest = [event async for event in handle.events(after=first[-1].seq or 0)]
    assert [*first, *rest] == await node.log(handle.run_id)
    assert [e async for e in handle.events(after=rest[-1].seq or 0)] == []


async def test_a_run_whose_deadline_passes_while_calls_fail_says_why(make: Callable[[Host], Node]) -> None:
    for seconds in (0.5, 4.0, 24.0):  # on a busy machine none fails within the first
        busy = ProviderError("overloaded", "no capacity.", retry_after=seconds / 10)
        node = make(Host(lambda call, busy=busy: busy))  # type: ignore[misc]
        paused = await (await node.start(deadline_s=seconds, retries=20)).result()
        assert paused.stop_reason == "deadline"
        message = paused.detail["message"]
        if "after" in message:
            break
    assert message.startswith("The deadline of the run has passed, after no capacity. Resume")
    assert "no capacity" in stop_message(paused.to_json())
    assert "no capacity" not in stop_message(paused.to_json(), ["no capacity."])


async def test_a_seat_that_fails_its_retries_is_dropped_and_the_run_continues(
    make: Callable[[Host], Node],
) -> None:
    def rule(call: Call) -> str | Exception:
        return ProviderError("overloaded", "busy") if call.model == "small" else fixed_reply(call)

    node = make(Host(rule))
    handle = await node.start(options={"rounds": 2}, retries=1)
    result = await handle.result()
    assert result.degraded
    assert exit_code(result) == 5
    assert exit_code(result, require_consensus=True) == 3
    # The remaining seats agreed, so consensus was reached.
    agreed = replace(result, status="consensus", consensus_reached=True)
    assert exit_code(agreed, require_consensus=True) == 5
    assert [d["model"] for d in result.dropped] == ["h:small"]
    log = await node.log(handle.run_id)
    attempts = [e for e in log if isinstance(e, CallStarted) and e.model == "h:small"]
    assert [e.attempt for e in attempts] == [1, 2]
    assert sum(e.kind == "dropped" for e in log if isinstance(e, CallFailed)) == 1


async def test_below_quorum_the_run_fails_with_no_confidence(make: Callable[[Host], Node]) -> None:
    def rule(call: Call) -> str | Exception:
        return fixed_reply(call) if call.model == "large" else ProviderError("auth", "no key")

    node = make(Host(rule))
    result = await (await node.start()).result()
    assert (result.status, result.stop_reason) == ("failed", "no_quorum")
    assert exit_code(result) == 3
    assert result.confidence is None
    well_formed(await node.log(result.run_id))


@pytest.mark.parametrize("protocol", ["consensus", "deliberate", "moa"])
async def test_below_quorum_in_the_middle_the_run_fails_too(
    make: Callable[[Host], Node], protocol: str
) -> None:
    answered = set[str]()

    def rule(call: Call) -> str | Exception:
        if call.model != "large" and (protocol == "consensus" or call.model in answered):
            return ProviderError("auth", "no key")
        answered.add(call.model)
        return f"As it stands.\nFinal answer: {call.model}"

    node = make(Host(rule))
    result = await (await node.start(protocol=protocol)).result()
    assert (result.status, result.stop_reason) == ("failed", "no_quorum")


async def test_an_answer_cut_at_the_token_limit_is_marked_as_truncated(make: Callable[[Host], Node]) -> None:
    class Cut(Host):
        async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
            return replace(await super().complete(call, on_text), finish_reason="length")

    node = make(Cut(lambda call: "The answer is 4, becau"))
    result = await (await node.start(options={"rounds": 1})).result()
    assert result.detail["truncated"] is True
    assert "cut off" in headline(result.to_json())


@pytest.mark.parametrize("nothing", ["", " \n\u200b", "I'm sorry, but I can't help with that."])
async def test_an_empty_reply_or_a_refusal_is_an_abstention(
    make: Callable[[Host], Node], nothing: str
) -> None:
    node = make(Host(lambda call: nothing if call.model == "small" else fixed_reply(call)))
    result = await (await node.start(options={"rounds": 1})).result()
    assert result.status == "decided"
    # To refuse in words is an answer. A seat that gave none is missing from the run, which is degraded.
    missing = (
        ()
        if nothing.strip(" \n\u200b")
        else ({"seat": "Participant C", "model": "h:small", "reason": "empty reply"},)
    )
    assert (result.dropped, result.degraded) == (missing, bool(missing))
    assert [d.model for d in result.dissent] == ["h:mid"]


async def test_without_any_reply_there_is_no_quorum(make: Callable[[Host], Node]) -> None:
    result = await (await make(Host(lambda call: "")).start()).result()
    assert (exit_code(result), result.confidence) == (3, None)


async def test_ids_take_a_unique_prefix(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    with pytest.raises(NotFound, match="pnyx runs"):
        await node.runner.resume("zzzz")
    with pytest.raises(NotFound):
        await node.runner.resume("")


async def test_a_blank_question_and_a_panel_below_quorum_are_refused(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    with pytest.raises(UsageError, match="no question"):
        await node.start(question=" \n")
    for name in ("question", "owner", "conversation", "batch"):
        with pytest.raises(UsageError, match=f"the {name} is not text"):
            await node.start(**{name: "a\0b"})
    with pytest.raises(UsageError, match="needs 2 seats, the panel has 1"):
        await node.start(seats=PANEL[:1])


async def test_a_bug_in_a_protocol_fails_the_run_with_its_message(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(brief: Any, panel: Any) -> Any:
        raise ZeroDivisionError("oops")

    page = get("consensus")
    bad = Protocol("consensus", "", page.phases, broken, page.options)
    monkeypatch.setattr("pnyx.protocols.get", lambda name: bad)
    result = await (await make(Host(fixed_reply)).start()).result()
    assert (result.status, result.stop_reason, exit_code(result)) == ("failed", "error", 1)
    assert re.fullmatch(r"ZeroDivisionError: oops \(test_runner\.py, line \d+\)", result.detail["message"])


async def test_a_run_has_only_its_own_tools(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    node.runner.resources.toolbox = Toolbox({"read_file": object()})  # type: ignore[dict-item]
    handle = await node.start(options={"rounds": 1})
    assert dict(handle.context.toolbox.tools) == {}
    await handle.result()


async def test_a_run_that_diverges_is_paused_and_says_why_to_watchers_and_later_readers(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 2}, budget_usd=0.004)
    await handle.result()
    other = text('UPDATE events SET body = replace(body, \'"fingerprint": "\', \'"fingerprint": "0\')')
    await node.database.write(as_json)
    await node.database.write(lambda c: c.execute(other))
    for _ in range(2):
        resumed = await node.runner.resume(handle.run_id, budget_usd=1.0)
        last = [event async for event in resumed.events()][-1]
        assert isinstance(last, RunFinished)
        assert (last.seq, last.status, last.result["stop_reason"]) == (None, "paused", "diverged")
        assert f"pnyx resume {handle.run_id} --fork" in last.result["detail"]["message"]
        with pytest.raises(Diverged, match="--fork"):
            await resumed.result()
        row = await node.database.read(lambda c: store.find(c, handle.run_id))
        assert (row.status, row.worker, row.result) == ("paused", None, last.result)
    well_formed(await node.log(handle.run_id), finished=False)
