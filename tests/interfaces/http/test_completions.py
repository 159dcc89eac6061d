"""Chat completions as OpenAI's own client asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import openai
import pytest

from tests.support.scripted import Request, ScriptedHost
from tests.support.serving import OWN, Served, served

ANSWER = "It is six times seven.\nFinal answer: 42"


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[Served]:
    lab.on("*", text=ANSWER)
    async with served() as server:
        yield server


@pytest.fixture
async def client(server: Served) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=OWN, max_retries=0) as client:
        yield client


async def test_a_panel_answers_as_a_model_would_and_tells_its_usage(
    client: openai.AsyncOpenAI, server: Served, lab: ScriptedHost
) -> None:
    told = await client.chat.completions.create(
        model="pnyx/voting", messages=[{"role": "user", "content": "What is 6 times 7?"}], temperature=0.3
    )
    assert told.choices[0].message.content
    assert "42" in told.choices[0].message.content
    assert told.choices[0].finish_reason == "stop"
    assert told.usage
    billed = [request.usage for request in lab.log if request.usage]
    assert told.usage.prompt_tokens == sum(one["input"] + one["cached"] for one in billed)
    assert told.usage.completion_tokens == sum(one["output"] for one in billed)
    result = (told.model_extra or {})["pnyx"]
    assert told.id == f"chatcmpl-{result['run_id']}"
    async with server.client() as http:
        assert (await http.get(f"/v1/runs/{result['run_id']}")).json() == result


async def test_the_same_comes_as_a_stream(client: openai.AsyncOpenAI) -> None:
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


async def test_earlier_messages_are_shown_to_the_panel_as_data(
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


async def test_a_models_name_holds_preset_and_options(client: openai.AsyncOpenAI, server: Served) -> None:
    told = await client.chat.completions.create(
        model="pnyx/consensus:quick,rounds=1", messages=[{"role": "user", "content": "Why?"}], seed=9
    )
    run = (told.model_extra or {})["pnyx"]["run_id"]
    async with server.client() as http:
        started = (await http.get(f"/v1/runs/{run}/export")).json()["events"][0]
    assert started["options"]["rounds"] == 1
    assert started["seed"] == 9


async def test_options_beside_the_name_join_those_in_it(client: openai.AsyncOpenAI, server: Served) -> None:
    told = await client.chat.completions.create(
        model="pnyx/consensus:rounds=1",
        messages=[{"role": "user", "content": "Why?"}],
        extra_body={"pnyx": {"options": {"challengers": 1}}},
    )
    run = (told.model_extra or {})["pnyx"]["run_id"]
    async with server.client() as http:
        options = (await http.get(f"/v1/runs/{run}/export")).json()["events"][0]["options"]
    assert (options["rounds"], options["challengers"]) == (1, 1)


async def test_models_are_listed_as_openai_lists_them(client: openai.AsyncOpenAI) -> None:
    names = [model.id async for model in await client.models.list()]
    assert "pnyx/council:quick" in names


async def test_a_client_that_leaves_cancels_its_run_and_frees_the_models(
    server: Served, lab: ScriptedHost
) -> None:
    lab.latency = 30

    async def asking(client: openai.AsyncOpenAI, stream: bool) -> None:
        told = await client.chat.completions.create(
            model="voting", messages=[{"role": "user", "content": "Why?"}], stream=stream
        )
        async for _ in told:  # type: ignore[union-attr]
            pass

    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=OWN, max_retries=0) as client:
        for turn, stream in enumerate((False, True)):
            waiting = asyncio.create_task(asking(client, stream))
            await lab.asked(3 * turn + 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
    async with asyncio.timeout(20):
        while server.runner.active:  # noqa: ASYNC110 (a run tells nobody that it is over)
            await asyncio.sleep(0.05)
    async with server.client() as http:
        assert [run["status"] for run in (await http.get("/v1/runs")).json()] == ["cancelled", "cancelled"]


async def test_a_panel_that_cannot_answer_is_a_host_that_cannot(
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
async def test_what_a_panel_cannot_do_is_refused(
    client: openai.AsyncOpenAI,
    lab: ScriptedHost,
    change: dict[str, object],
    error: type[Exception],
    message: str,
) -> None:
    asked = {"model": "voting", "messages": [{"role": "user", "content": "Why?"}], **change}
    with pytest.raises(error, match=message):
        await client.chat.completions.create(**asked)  # type: ignore[call-overload]
    assert lab.log == []
