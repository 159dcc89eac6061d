"""The Responses API, with OpenAI's own client."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import Request, ScriptedHost
from tests.support.serving import ServerHandle

PLAIN = {"pnyx": {"footer": False, "models": ["lab:beta"]}}


async def test_a_response_has_the_answer_and_can_be_read_again(client: Any) -> None:
    response = await client.responses.create(
        model="pnyx/single", input="What is 6 times 7?", instructions="Be brief.", extra_body=PLAIN
    )
    assert (response.status, response.output_text) == ("completed", ANSWER)
    assert response.usage
    assert response.usage.total_tokens > 0
    again = await client.responses.retrieve(response.id)
    assert (again.status, again.output_text, again.usage) == ("completed", ANSWER, response.usage)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve("resp_nothing")


async def test_a_response_is_deleted_by_its_owner_only(client: Any, server: ServerHandle) -> None:
    client, other = [client.with_options(api_key=await server.key(name)) for name in ("ada", "bob")]
    response = await client.responses.create(model="pnyx/single", input="Why?", extra_body=PLAIN)
    with pytest.raises(openai.NotFoundError):
        await other.responses.delete(response.id)
    await client.responses.delete(response.id)
    for call in (client.responses.delete, client.responses.retrieve):
        with pytest.raises(openai.NotFoundError):
            await call(response.id)
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="pnyx/single", input="And?", previous_response_id=response.id)
    assert refused.value.code == "previous_response_not_found"


async def test_a_stream_has_steps_as_reasoning_and_ends_with_the_whole_response(
    client: Any,
) -> None:
    async with client.responses.stream(model="pnyx/voting", input="What is 6 times 7?") as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()
    assert [event.sequence_number for event in events if hasattr(event, "sequence_number")]
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert kinds.index("response.reasoning_summary_text.delta") < kinds.index("response.output_text.delta")
    written = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert written == final.output_text
    assert [item.type for item in final.output] == ["reasoning", "message"]


async def test_a_response_continues_an_earlier_one(client: Any, lab: ScriptedHost) -> None:
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return f"Reply {len(seen)}."

    lab.on("*", text=reply)
    last = None
    for question in ("What is a knot?", "And in km/h?", "And in m/s?"):
        last = await client.responses.create(
            model="pnyx/single",
            input=question,
            previous_response_id=last and last.id,
            extra_body=PLAIN,
        )
    for part in ("What is a knot?", "Reply 1.", "And in km/h?", "Reply 2.", "And in m/s?"):
        assert part in seen[2].text


async def test_items_of_a_conversation_are_read(client: Any, lab: ScriptedHost) -> None:
    seen: list[str] = []

    def reply(request: Request) -> str:
        seen.append(request.text)
        return ANSWER

    lab.on("*", text=reply)
    await client.responses.create(
        model="pnyx/single",
        input=[
            {"role": "developer", "content": "One line."},
            {"role": "user", "content": [{"type": "input_text", "text": "How long is it?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "12 m"},
        ],
        extra_body=PLAIN,
    )
    for part in ("One line.", "How long is it?", "look", "12 m"):
        assert part in seen[0]


async def test_a_limit_makes_a_response_incomplete(client: Any) -> None:
    response = await client.responses.create(
        model="pnyx/single", input="What is 6 times 7?", max_output_tokens=2, extra_body=PLAIN
    )
    assert response.status == "incomplete"
    assert response.incomplete_details
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.output_text == "It is si"


async def test_a_response_in_the_background_can_be_cancelled(
    client: Any, server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", text=ANSWER, hang=True)
    response = await client.responses.create(model="pnyx/voting", input="Why?", background=True)
    assert response.status == "in_progress"
    assert (await client.responses.retrieve(response.id)).status == "in_progress"
    assert (await client.responses.cancel(response.id)).status == "cancelled"


async def test_a_response_in_the_form_of_a_schema(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text='{"product": 42}')
    schema = {"type": "object", "properties": {"product": {"type": "integer"}}, "required": ["product"]}
    response = await client.responses.create(
        model="pnyx/single",
        input="6 x 7?",
        text={"format": {"type": "json_schema", "name": "product", "schema": schema}},
        extra_body={"pnyx": {"models": ["lab:beta"]}},
    )
    assert response.output_text == '{"product": 42}'


async def test_what_a_panel_cannot_do_is_refused_by_name(client: Any) -> None:
    schema = {"type": "json_schema", "name": "a", "schema": {"type": "object"}}
    for change, param in (
        ({"text": {"format": {**schema, "type": "xml"}}}, "text.format"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"input": [{"role": "nobody", "content": "?"}]}, "input"),
    ):
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(**{"model": "pnyx/single", "input": "Why?", **change})
        assert caught.value.param == param
