"""Requests as other programs send them: the answer has the API's own types, or the error names the field."""

from __future__ import annotations

from typing import Any

from anthropic.types import Message
from openai.types import Completion
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle

CHAT, RESPONSES, MESSAGES, TEXT = "chat/completions", "responses", "messages", "completions"
TYPES: dict[str, Any] = {CHAT: ChatCompletion, RESPONSES: Response, MESSAGES: Message, TEXT: Completion}
ASKED = {"role": "user", "content": "6 x 7 pears?"}
PLAIN: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [ASKED]},
    RESPONSES: {"input": "6 x 7 pears?"},
    MESSAGES: {"messages": [ASKED], "max_tokens": 300},
    TEXT: {"prompt": "6 x 7 pears?"},
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"type": "function", "function": {"name": "look", "parameters": SCHEMA, "strict": True}}
LOOK = {"name": "look", "input_schema": SCHEMA}
FLAT = {"type": "function", "name": "look", "parameters": SCHEMA}
CALLED = [{"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{"}} for n in (1, 2)]
USED = [{"type": "tool_use", "id": f"t{n}", "name": "look", "input": {"city": "x"}} for n in (1, 2)]
ITEMS = [{"type": "function_call", "call_id": f"c{n}", "name": "look", "arguments": "{}"} for n in (1, 2)]
NOTHING = dict.fromkeys(
    [
        "temperature",
        "top_p",
        "n",
        "stop",
        "max_tokens",
        "max_completion_tokens",
        "tools",
        "tool_choice",
        "response_format",
        "stream",
        "stream_options",
        "logprobs",
        "top_logprobs",
        "seed",
        "user",
        "metadata",
        "reasoning_effort",
        "modalities",
        "audio",
        "prediction",
        "store",
        "service_tier",
        "logit_bias",
        "presence_penalty",
        "frequency_penalty",
        "functions",
        "function_call",
        "web_search_options",
    ]
)
BAD_FORMAT = {"type": "json_schema", "json_schema": {"schema": {"$ref": "#/x"}}}
PEARS = {"type": "text", "text": "Pears: 42"}


def said(*parts: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(parts)}


WHY = {"type": "text", "text": "Why?"}


ANSWERED: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"messages": [{"role": "developer", "content": "Be terse."}, {**ASKED, "name": "ada"}]}),
    (
        CHAT,
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": None, "tool_calls": CALLED},
                {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "x"}]},
                {"role": "tool", "tool_call_id": "c1", "content": "y"},
            ],
            "tools": [FUNCTION],
        },
    ),
    (CHAT, {"messages": [ASKED, {"role": "assistant", "content": None, "refusal": "No."}, ASKED]}),
    (CHAT, {"messages": [ASKED, said({"type": "refusal", "refusal": "No."}, role="assistant"), ASKED]}),
    (CHAT, {"messages": [said({**WHY, "cache_control": {"type": "ephemeral"}})]}),
    (CHAT, NOTHING),
    (CHAT, {"logit_bias": {"50256": -100}, "presence_penalty": 2, "frequency_penalty": -2.0}),
    (CHAT, {"prediction": {"type": "content", "content": "x"}, "modalities": ["text"], "user": "u"}),
    (CHAT, {"metadata": {"a": "b"}, "store": True, "service_tier": "flex", "safety_identifier": "s"}),
    (CHAT, {"web_search_options": {}, "verbosity": "low", "prompt_cache_key": "k", "top_k": 40}),
    (CHAT, {"reasoning_effort": "minimal", "seed": 7, "max_completion_tokens": 300, "stop": []}),
    (CHAT, {"tools": [FUNCTION], "parallel_tool_calls": False, "tool_choice": "none"}),
    (
        RESPONSES,
        {"input": [{"role": "developer", "content": "x"}, said({"type": "input_text", "text": "?"})]},
    ),
    (
        RESPONSES,
        {
            "input": [
                ASKED,
                {"type": "reasoning", "id": "rs_1", "summary": []},
                *ITEMS,
                {"type": "function_call_output", "call_id": "c1", "output": "x"},
                {"type": "function_call_output", "call_id": "c2", "output": []},
            ],
            "tools": [FLAT],
        },
    ),
    (RESPONSES, {"input": [ASKED, {"type": "item_reference", "id": "msg_1"}, ASKED]}),
    (RESPONSES, {"store": False, "include": ["reasoning.encrypted_content"], "truncation": "auto"}),
    (RESPONSES, {"reasoning": {"effort": "xhigh", "summary": "auto"}, "text": {"verbosity": "low"}}),
    (RESPONSES, {"metadata": {"a": "b"}, "service_tier": "priority", "top_logprobs": 0, "user": "u"}),
    (MESSAGES, {"system": [{**WHY, "cache_control": {"type": "ephemeral", "ttl": "1h"}}], "top_k": 5}),
    (MESSAGES, {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4000}),
    (MESSAGES, {"thinking": {"type": "adaptive"}, "metadata": {"user_id": None}, "service_tier": "auto"}),
    (
        MESSAGES,
        {
            "messages": [
                ASKED,
                said({"type": "thinking", "thinking": "x", "signature": "s"}, *USED, role="assistant"),
                said(
                    {"type": "tool_result", "tool_use_id": "t1"},
                    {"type": "tool_result", "tool_use_id": "t2", "is_error": True, "content": [PEARS]},
                ),
            ],
            "tools": [LOOK],
        },
    ),
    (MESSAGES, {"context_management": {"edits": []}, "output_config": {"effort": "max"}}),
    (TEXT, {"prompt": ["6 x 7 pears?"], "best_of": 1, "echo": False, "logprobs": None, "user": "u"}),
]


async def test_a_request_of_another_program_is_answered_in_the_types_of_its_api(server: ServerHandle) -> None:
    async with server.client() as client:
        for api, change in ANSWERED:
            body = {"model": "title-helper", **PLAIN[api], **change}
            answer = await client.post(f"/v1/{api}", json=body)
            assert answer.status_code == 200, (change, answer.text)
            assert TYPES[api].model_validate(answer.json()).usage, change
            assert answer.headers["x-request-id"]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (CHAT, {"reasoning_effort": "huge"}, "reasoning_effort"),
    (CHAT, {"logit_bias": {"1": 101}}, "logit_bias[1]"),
    (CHAT, {"presence_penalty": 2.1}, "presence_penalty"),
    (CHAT, {"top_logprobs": 21}, "top_logprobs"),
    (CHAT, {"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
    (CHAT, {"messages": [ASKED, {"content": "x"}]}, "messages[1].role"),
    (CHAT, {"messages": [{"role": "user", "content": 4}]}, "messages[0].content"),
    (CHAT, {"messages": [{"role": "user", "content": "a\0b?"}]}, "messages"),
    (CHAT, {"messages": {"role": "user"}}, "messages"),
    (CHAT, {"max_output_tokens": 5}, "max_output_tokens"),
    (CHAT, {"instructions": "Be terse."}, "instructions"),
    (CHAT, {"response_format": BAD_FORMAT}, "response_format"),
    (RESPONSES, {"previous_response_id": "resp_none"}, "previous_response_id"),
    (RESPONSES, {"conversation": "conv_1"}, "conversation"),
    (RESPONSES, {"prompt": {"id": "pmpt_1"}}, "prompt"),
    (RESPONSES, {"stop": ["x"]}, "stop"),
    (RESPONSES, {"top_logprobs": 3}, "top_logprobs"),
    (RESPONSES, {"include": ["message.output_text.logprobs"]}, "include"),
    (RESPONSES, {"truncation": "maybe"}, "truncation"),
    (RESPONSES, {"reasoning": {"effort": 3}}, "reasoning.effort"),
    (RESPONSES, {"text": {"format": BAD_FORMAT}}, "text.format"),
    (RESPONSES, {"input": []}, "input"),
    (MESSAGES, {"thinking": {"type": "enabled", "budget_tokens": 100}}, "thinking.budget_tokens"),
    (MESSAGES, {"thinking": {"type": "on"}}, "thinking.type"),
    (MESSAGES, {"stop_sequences": [" \n"]}, "stop_sequences"),
    (MESSAGES, {"system": [{"type": "image", "source": {"type": "base64", "data": ""}}]}, "system"),
    (MESSAGES, {"output_config": {"effort": "huge"}}, "output_config.effort"),
    (MESSAGES, {"container": "c"}, "container"),
    (MESSAGES, {"stop": "x"}, "stop"),
    (TEXT, {"prompt": ["a?", "b?"]}, "prompt"),
    (TEXT, {"prompt": [1, 2]}, "prompt"),
]


async def test_what_would_be_lost_or_is_out_of_range_is_refused_by_its_place(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    async with server.client() as client:
        for api, change, param in REFUSED:
            body = {"model": "title-helper", **PLAIN[api], **change}
            answer = await client.post(f"/v1/{api}", json=body)
            error = answer.json()["error"]
            assert (answer.status_code, error["type"]) == (400, "invalid_request_error"), change
            assert "constrained" not in error["message"]
            # Anthropic's errors have no such field.
            named = error["message"].startswith(param) if api == MESSAGES else error["param"] == param
            assert named, (change, error)
    assert lab.log == []


PARTS: list[dict[str, Any]] = [
    {"type": "document", "source": {"type": "content", "content": [PEARS]}, "title": "Stock"},
    {"type": "document", "source": {"type": "content", "content": "Pears: 42"}},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Pears: 42"}},
    {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": "UGVhcnM6IDQy"}},
    {"type": "search_result", "source": "https://x.example", "title": "Stock", "content": [PEARS]},
]


async def test_documents_and_results_of_searches_reach_the_seats(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    async with server.client() as client:
        for part in PARTS:
            body = {"model": "title-helper", "max_tokens": 300, "messages": [said(part, WHY)]}
            answer = await client.post("/v1/messages", json=body)
            assert ANSWER in answer.json()["content"][0]["text"], part
            sent = lab.log[-1].text
            assert "Pears: 42" in sent
            assert part.get("title", "") in sent


async def test_servers_that_a_host_would_ask_are_left_out_with_a_warning(server: ServerHandle) -> None:
    servers = [{"type": "url", "url": "https://x.example/mcp", "name": "x"}]
    body = {"model": "title-helper", **PLAIN[MESSAGES], "mcp_servers": servers}
    async with server.client() as client:
        answer = await client.post("/v1/messages", json=body)
    assert "mcp_servers" in answer.headers["x-pnyx-warning"]
