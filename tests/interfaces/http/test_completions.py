"""Chat completions, with OpenAI's own client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import openai
import pytest

from pnyx.interfaces.http.completions import Completion
from tests.support.scripted import Request, ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, open_server

ANSWER = "It is six times seven.\nFinal answer: 42"


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text=ANSWER)
    async with open_server() as server:
        yield server


@pytest.fixture
async def client(server: ServerHandle) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=SERVER_KEY, max_retries=0) as client:
        yield client


async def test_a_completion_has_the_answer_and_the_usage(
    client: openai.AsyncOpenAI, server: ServerHandle, lab: ScriptedHost
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


async def test_a_completion_can_be_streamed(client: openai.AsyncOpenAI) -> None:
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


async def test_earlier_messages_are_material_for_the_panel(
    client: openai.AsyncOpenAI, lab: ScriptedHost
) -> None:
    seen: list[str] = []

    def reply(request: Request) -> str:
        seen.append(request.text)
        return ANSWER

    lab.on("*", text=reply)
    await client.chat.completions.create(
        model="pnyx/single",
        messages=[
            {"role": "system", "content": "Answer for sailors."},
            {"role": "user", "content": "What is a knot?"},
            {"role": "assistant", "content": "A mile an hour at sea."},
            {"role": "user", "content": [{"type": "text", "text": "And in km/h?"}]},
        ],
        extra_body={"pnyx": {"models": ["lab:beta"]}},
    )
    assert [request.model for request in lab.log] == ["beta"]
    for part in ("Answer for sailors.", "What is a knot?", "A mile an hour at sea.", "And in km/h?"):
        assert part in seen[0]


async def test_a_model_name_sets_preset_and_options(client: openai.AsyncOpenAI, server: ServerHandle) -> None:
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
    assert completion.to_request().effort == effort


async def test_options_in_the_body_are_merged_with_those_in_the_model_name(
    client: openai.AsyncOpenAI, server: ServerHandle
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


async def test_models_are_listed_in_openais_format(client: openai.AsyncOpenAI) -> None:
    names = [model.id async for model in await client.models.list()]
    assert "pnyx/council:quick" in names


async def test_a_disconnect_cancels_the_run_and_its_calls(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.latency = 30

    async def asking(client: openai.AsyncOpenAI, stream: bool) -> None:
        completion = await client.chat.completions.create(
            model="voting", messages=[{"role": "user", "content": "Why?"}], stream=stream
        )
        async for _ in completion:  # type: ignore[union-attr]
            pass

    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=SERVER_KEY, max_retries=0) as client:
        for turn, stream in enumerate((False, True)):
            waiting = asyncio.create_task(asking(client, stream))
            await lab.wait_for_requests(3 * turn + 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
    async with asyncio.timeout(20):
        while server.runner.active:  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0.05)
    async with server.client() as http:
        assert [run["status"] for run in (await http.get("/v1/runs")).json()] == ["cancelled", "cancelled"]


async def test_a_run_without_an_answer_is_an_error_status(
    client: openai.AsyncOpenAI, lab: ScriptedHost
) -> None:
    lab.on("*", status=400, message="not today")
    with pytest.raises(openai.InternalServerError) as caught:
        await client.chat.completions.create(model="voting", messages=[{"role": "user", "content": "Why?"}])
    assert caught.value.status_code == 502
    assert "run " in str(caught.value)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"model": "gpt-9"}, openai.NotFoundError, "no protocol 'gpt-9'"),
        ({"model": "voting:fast"}, openai.BadRequestError, "no preset 'fast'"),
        (
            {"messages": [{"role": "assistant", "content": "x"}]},
            openai.BadRequestError,
            "its role must be user",
        ),
        ({"messages": []}, openai.UnprocessableEntityError, "messages"),
        ({"messages": []}, openai.UnprocessableEntityError, "messages must have at least 1 entry, not 0"),
        (
            {"model": "x" * 401},
            openai.UnprocessableEntityError,
            "model must have at most 400 characters, not 401",
        ),
        ({"n": 2}, openai.UnprocessableEntityError, "n must be at most 1"),
        (
            {"tools": [{"type": "function", "function": {"name": "f"}}]},
            openai.UnprocessableEntityError,
            "tools",
        ),
        ({"extra_body": {"pnyx": {"base_url": "x"}}}, openai.BadRequestError, "unknown key 'base_url'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            openai.BadRequestError,
            "only text content is accepted",
        ),
    ],
)
async def test_unsupported_parameters_are_refused(
    client: openai.AsyncOpenAI,
    lab: ScriptedHost,
    change: dict[str, object],
    error: type[Exception],
    message: str,
) -> None:
    body = {"model": "voting", "messages": [{"role": "user", "content": "Why?"}], **change}
    with pytest.raises(error, match=message):
        await client.chat.completions.create(**body)  # type: ignore[call-overload]
    assert lab.log == []
