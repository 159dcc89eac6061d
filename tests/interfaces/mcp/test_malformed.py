"""Lines that are no message get an error, with the id of their request where they have one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from pnyx.interfaces.mcp.connection import Connection
from pnyx.interfaces.mcp.malformed import refusal_of
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.service.run_service import RunService
from tests.interfaces.mcp.test_connection import READY, request
from tests.support.assistants import HELLO
from tests.support.scripted import ScriptedHost
from tests.support.waiting import until

LINES: dict[str, tuple[int, Any, str]] = {
    "hello": (PARSE_ERROR, None, "one line of JSON"),
    '{"jsonrpc": "2.0",': (PARSE_ERROR, None, "one line of JSON"),
    "[" * 100_000: (PARSE_ERROR, None, "nested too deeply"),
    "9" * 5000: (PARSE_ERROR, None, "digits"),
    '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]': (INVALID_REQUEST, None, "no batches"),
    "5": (INVALID_REQUEST, None, "a JSON object"),
    "{}": (INVALID_REQUEST, None, '"jsonrpc": "2.0"'),
    '{"id": 7, "method": "ping"}': (INVALID_REQUEST, 7, '"jsonrpc": "2.0"'),
    '{"jsonrpc": "1.0", "id": "a", "method": "ping"}': (INVALID_REQUEST, "a", '"jsonrpc": "2.0"'),
    '{"jsonrpc": "2.0", "id": 7}': (INVALID_REQUEST, 7, "has a method"),
    '{"jsonrpc": "2.0", "id": 7, "method": 5}': (INVALID_REQUEST, 7, "has a method"),
    '{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}': (INVALID_REQUEST, 7, "are an object"),
    '{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}': (INVALID_REQUEST, None, "surrogates"),
}
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists)
MESSAGES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("jsonrpc", "id", "method", "params", "result", "error"), JSON)
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:40])
def test_what_is_no_message_is_refused_with_the_id_of_its_request(line: str) -> None:
    code, id, message = LINES[line]
    refused = refusal_of(line)
    assert refused is not None
    assert (refused.error.code, refused.id) == (code, id)
    assert message in refused.error.message


@pytest.mark.parametrize("line", ["", " \t\r\n", '{"jsonrpc": "2.0", "id": 1, "result": 5}', '{"error": 1}'])
def test_no_response_is_refused(line: str) -> None:
    assert refusal_of(line) is None


@given(MESSAGES)
def test_every_refusal_is_a_message(document: Mapping[str, Any]) -> None:
    line = json.dumps(document)
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        if (refused := refusal_of(line)) is not None:
            sent = json.loads(refused.model_dump_json(by_alias=True, exclude_unset=True))
            assert sent["id"] in (None, document.get("id"))


async def test_a_request_that_is_sent_again_while_it_is_carried_out_is_answered_once(
    lab: ScriptedHost,
) -> None:
    answered = asyncio.Event()
    lab.on("*", until=answered.is_set, text="It is so.\nFinal answer: 42")
    ask = request(2, "tools/call", name="ask", arguments={"question": "Why?", "protocol": "voting"})
    sent: list[dict[str, Any]] = []

    async def send(line: str) -> None:
        sent.append(json.loads(line))

    async def lines() -> AsyncIterator[str]:
        for message in (HELLO, READY, ask, ask, request(3, "ping"), ask):
            yield json.dumps(message)
        await until(lambda: len(lab.log) == 3)
        answered.set()
        await until(lambda: len(sent) == 3)

    async with RunService.open(open_settings()) as service:
        await Connection(service, send).serve(lines())
        assert len(await service.list_runs(None, 10)) == 1
    assert sorted(message["id"] for message in sent) == [1, 2, 3]
    assert len({call.sha256 for call in lab.log}) == len(lab.log), "a call was asked twice"
