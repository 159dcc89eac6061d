"""Chat completions, with OpenAI's own client."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from pnyx.interfaces.http.apis.chat import Completion
from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import Request, ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, open_server


async def test_a_completion_has_the_answer_and_the_usage(
    client: Any, server: ServerHandle, lab: ScriptedHost
) -> None:
    completion = await client.chat.completions.create(
        model="pnyx/voting", messages=[{"role": "user", "content": "What is 6 times 7?"}], temperature=0.3
    )
    assert completion.choices[0].message.content
    assert "42" in completion.choices[0].message.content
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage
    billed = [request.usage for request in lab.log if request.usage]
    assert completion.usage.prompt_tokens == sum(one["input"] + one["cached"] for one in billed)
    assert completion.usage.completion_tokens == sum(one["output"] for one in billed)
    result = (completion.model_extra or {})["pnyx"]
    assert completion.id == f"chatcmpl-{result['run_id']}"
    async with server.client() as http:
        assert (await http.get(f"/v1/runs/{result['run_id']}")).json() == result


async def test_a_completion_can_be_streamed(client: Any) -> None:
    stream = await client.chat.completions.create(
        model="voting",
        messages=[{"role": "user", "content": "What is 6 times 7?"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "42" in text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens > 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"model": "single", "messages": [{"role": "user", "content": "Why?"}]}),
        ("/v1/responses", {"model": "single", "input": "Why?"}),
        (
            "/v1/messages",
            {"model": "single", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]},
        ),
        ("/v1/runs", {"question": "Why?", "protocol": "single"}),
    ],
)
async def test_lines_of_a_stream_end_as_those_of_the_other_apis(
    server: Any, path: str, body: dict[str, Any]
) -> None:
    async with server.client() as http:
        received = (await http.post(path, json={**body, "stream": True})).content
    assert b"\r" not in received
    assert received.count(b"\n\n") > 2
    assert received.endswith(b"\n\n")


async def test_a_stream_shows_the_steps_as_reasoning_before_the_answer(client: Any) -> None:
    stream = await client.chat.completions.create(
        model="pnyx/consensus:rounds=1", messages=[{"role": "user", "content": "Why?"}], stream=True
    )
    deltas = [chunk.choices[0].delta async for chunk in stream if chunk.choices]
    steps = [(delta.model_extra or {}).get("reasoning_content") for delta in deltas]
    lines = [step for step in steps if step]
    assert [line for line in lines if "challenge" in line]
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    last_step = max(n for n, step in enumerate(steps) if step)
    assert last_step < min(n for n, delta in enumerate(deltas) if delta.content)


async def test_a_system_message_instructs_and_earlier_turns_are_material(
    client: Any, lab: ScriptedHost
) -> None:
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return ANSWER

    lab.on("*", text=reply)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"up": "knot"}'}}
    await client.chat.completions.create(
        model="pnyx/single",
        messages=[
            {"role": "system", "content": "Answer for sailors."},
            {"role": "developer", "content": "In one line."},
            {"role": "user", "content": [{"type": "text", "text": "What is a knot?"}, picture]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "1.852 km/h"},
            {"role": "assistant", "content": "A mile an hour at sea."},
            {"role": "user", "content": [{"type": "text", "text": "And in km/h?"}]},
        ],
        extra_body={"pnyx": {"models": ["lab:beta"]}},
    )
    (request,) = seen
    system, *_, user = request.body["messages"]
    assert system["role"] == "system"
    for part in ("Answer for sailors.", "In one line."):
        assert part in system["content"]
        assert part not in user["content"]
    for part in ("What is a knot?", "look", "knot", "1.852 km/h", "A mile an hour at sea.", "left out here"):
        assert part in user["content"]
        assert part not in system["content"]
    assert user["content"].index("What is a knot?") < user["content"].index("And in km/h?")


async def test_after_the_result_of_a_tool_the_question_is_still_the_users(
    client: Any, server: ServerHandle
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    completion = await client.chat.completions.create(
        model="pnyx/single",
        messages=[
            {"role": "user", "content": "How long is it?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "12 m"},
        ],
        tools=[{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
        extra_body={"pnyx": {"models": ["lab:beta"]}},
    )
    assert (completion.model_extra or {})["pnyx"]["question"] == "How long is it?"


@pytest.mark.parametrize(
    ("limits", "text", "finish"),
    [
        ({"stop": ["\nFinal"]}, "It is six times seven.", "stop"),
        ({"stop": "seven"}, "It is six times ", "stop"),
        ({"stop": ["six times seven", "times"]}, "It is six ", "stop"),
        ({"max_tokens": 2}, "It is si", "length"),
        ({"max_completion_tokens": 2}, "It is si", "length"),
        ({"max_tokens": 4000, "stop": ["nowhere"]}, ANSWER, "stop"),
    ],
)
async def test_limits_act_on_the_answer(
    client: Any, limits: dict[str, object], text: str, finish: str
) -> None:
    for stream in (False, True):
        reply = await client.chat.completions.create(
            model="title-helper",
            messages=[{"role": "user", "content": f"What is 6 times 7? {stream}"}],
            stream=stream,
            extra_body={"pnyx": {"footer": False}},
            **limits,
        )
        if stream:
            choices = [chunk.choices[0] async for chunk in reply if chunk.choices]
            found = "".join(choice.delta.content or "" for choice in choices), choices[-1].finish_reason
        else:
            (choice,) = reply.choices
            found = choice.message.content or "", choice.finish_reason
        assert found == (text, finish)


async def test_the_footer_says_what_a_chat_cannot_show(client: Any, server: ServerHandle) -> None:
    async def text(**more: object) -> str:
        completion = await client.chat.completions.create(
            model="pnyx/voting", messages=[{"role": "user", "content": "Why?"}], extra_body={"pnyx": more}
        )
        assert completion.usage
        assert (completion.usage.model_extra or {})["cost"] > 0
        return completion.choices[0].message.content or ""

    shown, plain = await text(), await text(footer=False)
    assert shown.startswith(plain)
    footer = shown.removeprefix(plain)
    assert "3 of 3 seats agree, 3 of 3 models" in footer
    assert f"({server.url}/#/runs/" in footer
    assert "$" in footer


async def test_a_name_of_the_settings_is_a_model(client: Any, lab: ScriptedHost) -> None:
    assert (await client.models.retrieve("title-helper")).id == "title-helper"
    assert (await client.models.retrieve("pnyx/council:quick")).id == "pnyx/council:quick"
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve("gpt-9")
    with pytest.raises(openai.NotFoundError, match=r"'counsil:quick'; did you mean pnyx/council:quick[?]"):
        await client.models.retrieve("counsil:quick")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    await client.chat.completions.create(
        model="title-helper", messages=[{"role": "user", "content": "A title for this?"}]
    )
    assert [request.model for request in lab.log] == ["beta"]


async def test_a_text_completion(client: Any) -> None:
    whole = await client.completions.create(model="title-helper", prompt="What is 6 times 7?")
    stream = await client.completions.create(model="title-helper", prompt="And 6 times 7?", stream=True)
    assert whole.choices[0].text == "".join([chunk.choices[0].text async for chunk in stream]) == ANSWER
    assert whole.usage


async def test_there_are_no_embeddings(client: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="no embeddings"):
        await client.embeddings.create(model="x", input="y")


async def test_a_model_name_sets_preset_and_options(client: Any, server: ServerHandle) -> None:
    completion = await client.chat.completions.create(
        model="pnyx/consensus:quick,rounds=1", messages=[{"role": "user", "content": "Why?"}], seed=9
    )
    run = (completion.model_extra or {})["pnyx"]["run_id"]
    async with server.client() as http:
        started = (await http.get(f"/v1/runs/{run}/export")).json()["events"][0]
    assert started["options"]["rounds"] == 1
    assert started["seed"] == 9


@pytest.mark.parametrize(
    ("level", "effort"), [("minimal", "low"), ("none", "none"), ("medium", "medium"), ("xhigh", "high")]
)
def test_reasoning_effort_is_the_effort_of_the_seats(level: str, effort: str) -> None:
    completion = Completion.model_validate(
        {"model": "voting", "messages": [{"role": "user", "content": "Why?"}], "reasoning_effort": level}
    )
    assert completion.to_conversation().to_request({}).effort == effort


async def test_options_in_the_body_are_merged_with_those_in_the_model_name(
    client: Any, server: ServerHandle
) -> None:
    completion = await client.chat.completions.create(
        model="pnyx/consensus:rounds=1",
        messages=[{"role": "user", "content": "Why?"}],
        extra_body={"pnyx": {"options": {"challengers": 1}}},
    )
    run = (completion.model_extra or {})["pnyx"]["run_id"]
    async with server.client() as http:
        options = (await http.get(f"/v1/runs/{run}/export")).json()["events"][0]["options"]
    assert (options["rounds"], options["challengers"]) == (1, 1)


async def test_models_are_listed_in_openais_format(client: Any) -> None:
    names = [model.id async for model in await client.models.list()]
    assert "pnyx/council:quick" in names


async def test_a_disconnect_cancels_the_run_and_its_calls(lab: ScriptedHost) -> None:
    lab.latency = 30

    async def asking(client: Any, stream: bool) -> None:
        completion = await client.chat.completions.create(
            model="voting", messages=[{"role": "user", "content": f"Why? {stream}"}], stream=stream
        )
        async for _ in completion:
            pass

    async with open_server(grace_s=0.1) as server:
        async with openai.AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key=SERVER_KEY, max_retries=0
        ) as client:
            for turn, stream in enumerate((False, True)):
                waiting = asyncio.create_task(asking(client, stream))
                await lab.wait_for_requests(3 * turn + 1)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
        async with asyncio.timeout(60):
            while server.runner.active:  # noqa: ASYNC110 (there is no event to wait for)
                await asyncio.sleep(0.05)
        async with server.client() as http:
            found = [run["status"] for run in (await http.get("/v1/runs")).json()]
    assert found == ["cancelled", "cancelled"]


async def test_a_run_without_an_answer_is_an_error_status(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", status=400, message="not today")
    with pytest.raises(openai.InternalServerError) as caught:
        await client.chat.completions.create(model="voting", messages=[{"role": "user", "content": "Why?"}])
    assert caught.value.status_code == 502
    assert "run " in str(caught.value)


async def test_a_failure_in_a_stream_has_the_form_of_the_api(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", status=400, message="not today")
    stream = await client.chat.completions.create(
        model="voting", messages=[{"role": "user", "content": "Why?"}], stream=True
    )
    with pytest.raises(openai.APIError, match="not today") as caught:
        async for _ in stream:
            pass
    assert (caught.value.type, caught.value.code) == ("server_error", "no_quorum")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {
                "extra_body": {"pnyx": {"instructions": 5}},
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
            },
            openai.BadRequestError,
            "instructions must be text",
        ),
        ({"model": "gpt-9"}, openai.NotFoundError, "no model 'gpt-9'; send pnyx/consensus; GET /v1/models"),
        ({"model": "pnyx"}, openai.NotFoundError, "no model 'pnyx'; send pnyx/consensus; GET /v1/models"),
        ({"model": "Votng"}, openai.NotFoundError, "no model 'Votng'; did you mean pnyx/voting[?] GET"),
        ({"model": "voting:quik"}, openai.BadRequestError, "no preset 'quik'; did you mean quick[?] It has"),
        (
            {"messages": [{"role": "assistant", "content": "x"}]},
            openai.BadRequestError,
            "its role must be user",
        ),
        ({"messages": []}, openai.BadRequestError, "messages"),
        ({"messages": []}, openai.BadRequestError, "messages must have at least 1 entry, not 0"),
        (
            {"model": "x" * 401},
            openai.BadRequestError,
            "model must have at most 400 characters, not 401",
        ),
        ({"n": 2}, openai.BadRequestError, "n must be at most 1"),
        ({"tool_choice": "required"}, openai.BadRequestError, "tool_choice"),
        ({"response_format": {"type": "xml"}}, openai.BadRequestError, "response_format"),
        ({"logprobs": True}, openai.BadRequestError, "logprobs"),
        ({"temperature": 3}, openai.BadRequestError, "temperature must be at most 2"),
        ({"max_tokens": 0}, openai.BadRequestError, "max_tokens"),
        ({"extra_body": {"pnyx": {"base_url": "x"}}}, openai.BadRequestError, "unknown key 'base_url'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            openai.BadRequestError,
            "only http:// and https:// URLs",
        ),
    ],
)
async def test_unsupported_parameters_are_refused(
    client: Any,
    lab: ScriptedHost,
    change: dict[str, object],
    error: type[Exception],
    message: str,
) -> None:
    body = {"model": "voting", "messages": [{"role": "user", "content": "Why?"}], **change}
    with pytest.raises(error, match=message) as caught:
        await client.chat.completions.create(**body)
    assert isinstance(caught.value, openai.APIStatusError)
    assert caught.value.request_id
    if (
        caught.value.status_code == 400
        and "extra_body" not in change
        and change.get("model") != "voting:fast"
    ):
        assert caught.value.param == next(iter(change))
    assert lab.log == []


async def test_a_name_of_the_settings_can_be_without_the_footer(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    models = {"title-helper": {"protocol": "single", "panel": ["lab:beta"], "footer": False}}
    asked = {"model": "title-helper", "messages": [{"role": "user", "content": "A title?"}]}
    async with open_server(models=models) as server, server.client() as http:
        plain = await http.post("/v1/chat/completions", json=asked)
        wanted = await http.post("/v1/chat/completions", json={**asked, "pnyx": {"footer": True}})
    plain_text, shown = (one.json()["choices"][0]["message"]["content"] for one in (plain, wanted))
    assert plain_text == ANSWER
    assert shown.startswith(f"{ANSWER}\n\n---\n")


@pytest.mark.parametrize(
    ("answer", "has_footer"),
    [
        ('{"name": "Athens"}', False),
        ('[1, {"a": 2}]\n', False),
        ('```json\n{"name": "Athens"}\n```', False),
        ("42", True),
        ('It is {"name": "Athens"}', True),
        ('```json\n{"name": "Athens"}\n```\nas you asked', True),
    ],
)
async def test_an_answer_in_json_has_no_footer(
    client: Any, lab: ScriptedHost, answer: str, has_footer: bool
) -> None:
    lab.on("*", text=answer)
    completion = await client.chat.completions.create(
        model="title-helper", messages=[{"role": "user", "content": "A city, as JSON?"}]
    )
    assert ("\n---\n" in completion.choices[0].message.content) == has_footer
