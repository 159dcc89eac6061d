"""Calls survive the form of each API and the way back, whole and in a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sse_starlette import ServerSentEvent

from pnyx.core.answers.code.calls import short_calls, written_calls
from pnyx.core.tool_calls import ToolCall
from pnyx.interfaces.http.apis import chat, messages, response_items
from pnyx.interfaces.http.apis.answer import Answer
from pnyx.interfaces.http.apis.conversation import Conversation
from pnyx.interfaces.http.apis.exchange import Step
from pnyx.interfaces.http.apis.parts import call_text
from pnyx.interfaces.http.apis.tools import Tools, custom, function
from pnyx.run.result import Result
from tests.support.properties import examples

TEXTS = st.text(max_size=900) | st.sampled_from(["", "\u2028\n", '"]}', "ü" * 500, "\U0001f600\\n"])
ARGUMENTS = st.dictionaries(st.text(max_size=5), TEXTS | st.integers() | st.lists(st.booleans(), max_size=2))
CALLS = st.lists(
    st.tuples(st.just("look"), ARGUMENTS)
    | st.tuples(st.just("patch"), st.fixed_dictionaries({"input": TEXTS})),
    min_size=1,
    max_size=3,
)
FUNCTIONS = st.lists(st.tuples(st.just("look"), ARGUMENTS), min_size=1, max_size=3)
OFFERED = Tools((function({"name": "look"}, "tools[0]"), custom({"name": "patch"}, "tools[1]")))
USAGE = dict.fromkeys(("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd"), 0)
Calls = Sequence[tuple[str, Mapping[str, Any]]]
few = examples(25)


def answer_with(calls: Calls, prose: str = "First this.") -> Answer:
    listed = [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]
    written = written_calls([ToolCall("", name, arguments) for name, arguments in calls])
    result = Result(
        run_id="r1",
        protocol="voting",
        question="Q",
        answer=written,
        usage=USAGE,
        detail={"tool_calls": listed, "prose": prose},
    )
    answer = Answer.of(result, Conversation(model="voting", turns=(), tools=OFFERED), "")
    assert answer.finish == "tool_calls"
    return answer


def is_same(found: Calls, calls: Calls) -> bool:
    """Whether both are the same calls in the same order, as JSON."""
    one, two = ([[name, dict(arguments)] for name, arguments in some] for some in (found, calls))
    return json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)


async def _steps(answer: Answer) -> AsyncIterator[Step | Answer]:
    yield Step("Round 1")
    yield answer


def sent(stream: AsyncIterator[ServerSentEvent]) -> list[Any]:
    """The objects of a stream, as a client reads them."""

    async def read() -> list[str]:
        return [str(event.data) async for event in stream]

    return [json.loads(data) for data in asyncio.run(read()) if data != "[DONE]"]


def of_chat(entries: Sequence[Mapping[str, Any]]) -> Calls:
    found = []
    for entry in entries:
        if entry["type"] == "custom":
            found.append((entry["custom"]["name"], {"input": entry["custom"]["input"]}))
        else:
            found.append((entry["function"]["name"], json.loads(entry["function"]["arguments"])))
    return found


@few
@given(CALLS)
def test_chat_completions(calls: Calls) -> None:
    answer = answer_with(calls)
    message = chat._CHAT.whole(answer)["message"]
    assert is_same(of_chat(message["tool_calls"]), calls)
    merged: dict[int, dict[str, Any]] = {}
    for chunk in sent(chat._chunks(_steps(answer), {}, chat._CHAT, counts=True)):
        for choice in chunk["choices"]:
            for delta in choice["delta"].get("tool_calls", ()):
                entry = merged.setdefault(delta["index"], delta)
                for kind, field in (("function", "arguments"), ("custom", "input")):
                    if kind in delta and entry is not delta:
                        entry[kind][field] += delta[kind][field]
    assert is_same(of_chat(list(merged.values())), calls)
    # The client sends the message back, and seats read every call.
    names: dict[str, str] = {}
    turn = chat.Message(**message).to_turn(names)
    assert len(names) == len(calls)
    for name, arguments in calls:
        assert call_text(name, arguments["input"] if name == "patch" else arguments) in turn.text


@few
@given(CALLS)
def test_responses(calls: Calls) -> None:
    def read(items: Sequence[Mapping[str, Any]]) -> Calls:
        return [
            (item["name"], json.loads(item["arguments"]))
            if item["type"] == "function_call"
            else (item["name"], {"input": item["input"]})
            for item in items
            if item["type"] in ("function_call", "custom_tool_call")
        ]

    answer, head = answer_with(calls), {"id": "resp_r1"}
    body = response_items.body_of(head, answer)
    assert is_same(read(body["output"]), calls)
    events = sent(response_items.events(_steps(answer), head, iter(range(9999))))
    assert is_same(read(events[-1]["response"]["output"]), calls)
    assert is_same(read([e["item"] for e in events if e["type"] == "response.output_item.done"]), calls)
    written: dict[str, str] = {}
    for event in events:
        if event["type"].endswith(("arguments.delta", "input.delta")):
            written[event["item_id"]] = written.get(event["item_id"], "") + event["delta"]
    texts = [item.get("arguments", item.get("input")) for item in body["output"] if item["type"] != "message"]
    assert [written.get(item["id"], "") for item in body["output"] if item["type"] != "message"] == texts
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


@few
@given(FUNCTIONS)
def test_messages(calls: Calls) -> None:
    answer = answer_with(calls)
    content = messages._body({}, answer)["content"]
    assert is_same([(b["name"], b["input"]) for b in content if b["type"] == "tool_use"], calls)
    blocks: dict[int, dict[str, Any]] = {}
    for event in sent(messages._events(_steps(answer), {"id": "msg_r1"})):
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            blocks[event["index"]] = {**event["content_block"], "input": ""}
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            blocks[event["index"]]["input"] += event["delta"]["partial_json"]
    assert is_same([(b["name"], json.loads(b["input"])) for b in blocks.values()], calls)
    names: dict[str, str] = {}
    (turn,) = messages._Message(role="assistant", content=content).to_turns(names)
    assert len(names) == len(calls)
    for name, arguments in calls:
        assert call_text(name, arguments) in turn.text


@few
@given(CALLS)
def test_the_answer_of_the_result_is_the_same_calls(calls: Calls) -> None:
    answer = answer_with(calls)
    assert short_calls(answer.result.answer) == short_calls(
        json.dumps({"tool_calls": answer.result.detail["tool_calls"]})
    )
