"""Every case of `cases/`: what is read, billed, retried and reported. docs/hosts.md lists the hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pnyx.core.events import CallFailed, CallFinished, CallStarted, SeatDropped
from pnyx.errors import ProviderError
from pnyx.store import Database
from tests.hosts.case import PRICE, Case, load
from tests.hosts.trial import ask, run
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

CASES = load()
# The protocol of these runs sends neither tools nor a schema.
IN_RUNS = [case for case in CASES if not case.ask.keys() & {"tools", "schema"}]


def each(cases: list[Case]) -> Callable[..., Any]:
    """Call a test with each case, one test for each file."""
    return rows("case", cases, [case.id for case in cases], groups=[case.file for case in cases])


@each(CASES)
async def test_the_provider_reads_or_tells(case: Case) -> None:
    async with ScriptedHost() as lab:
        result, streamed = await ask(lab, case)
    if case.kind:
        assert isinstance(result, ProviderError), result
        assert (result.kind, result.billed) == (case.kind, case.nusd is None), result
        assert str(lab.port) in str(result)
        assert not [words for words in case.says if words not in str(result)], result
        assert case.wait is None or result.retry_after == pytest.approx(case.wait)
        _check_request(lab, case)
        return
    if isinstance(result, ProviderError):
        raise result
    assert case.text is None or result.text == case.text
    assert result.reasoning == case.reasoning
    assert case.detail is None or result.finish_detail == case.detail
    assert result.finish_reason == case.finish
    assert [[call.name, call.arguments] for call in result.tool_calls] == list(case.tools)
    assert list(result.sources) == list(case.sources)
    if case.last_is_ours:
        assert (None if result.usage is None else PRICE.cost(result.usage)) == case.nusd, result.usage
    if case.stream and case.finish != "filter":
        assert streamed == result.text
    _check_request(lab, case)


@each(IN_RUNS)
async def test_a_run_bills_retries_and_tells(database: Database, case: Case) -> None:
    async with ScriptedHost() as lab:
        trial = await run(lab, database, case)
    assert len(lab.log) == case.sent, trial.failures
    assert trial.reserved == 0
    ours = trial.reservation if case.nusd is None else case.nusd
    assert trial.spent == ours + lab.bill({case.model: PRICE})
    _check_request(lab, case)
    failed, finished = trial.of(CallFailed), trial.of(CallFinished)
    assert not [words for words in case.silent if words in trial.failures]
    if case.kind:
        first = failed[0]
        assert (first.kind, first.final) == (case.kind, not ProviderError.KINDS[case.kind])
        assert not [words for words in case.says if words not in first.message], first.message
        assert [e.reason for e in trial.of(SeatDropped)] == ([first.message] if first.final else [])
        assert trial.result.status == ("failed" if first.final else "single")
        return
    if case.is_asked_again:
        (cut,) = failed
        if case.finish == "malformed":
            assert (cut.kind, cut.final) == ("malformed", False)
            assert (case.detail or "") in cut.message
            return
        assert (cut.kind, cut.final, cut.message.startswith("no answer")) == ("cut_off", False, True)
        assert [event.max_tokens for event in trial.of(CallStarted)] == [1000, 2000]
        return
    assert [failure.message for failure in failed] == []
    (reply,) = finished
    assert len(trial.of(CallStarted)) == 1
    assert case.text is None or reply.text == case.text
    assert reply.finish_reason == case.finish
    assert case.detail is None or reply.finish_detail == case.detail
    if case.finish == "filter":
        assert case.detail
        assert reply.absent == "refusal"
        assert case.detail in trial.result.detail["message"]
    assert trial.result.status == ("single" if _answers(case, reply) else "failed")
    if case.stream and reply.absent is None:
        assert trial.tokens == reply.text


def _answers(case: Case, reply: Any) -> bool:
    """Whether the reply is an answer: neither empty nor a refusal."""
    assert (reply.absent is not None) == (case.finish == "filter" or not reply.text.strip())
    return reply.absent is None


def _check_request(lab: ScriptedHost, case: Case) -> None:
    body = lab.log[-1].body
    body = {**body, **body.get("generationConfig", {})}
    assert not [name for name in case.lacks if name in body]
    assert {name: body.get(name) for name in case.has} == dict(case.has)
