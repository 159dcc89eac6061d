"""A conversation that no model of the panel takes: the client may shorten it, as with a model of its own."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from tests.support.scripted import ScriptedHost

TOO_LONG = "This model's maximum context length is 40 tokens. However, your messages resulted in 400 tokens."
SAID = "prompt is too long: run "
QUESTION = "Why is six times seven forty-two? " * 20
TURN = {"role": "user", "content": QUESTION}


async def test_openais_clients_get_the_code_of_a_context_that_is_exceeded(
    client: Any, lab: ScriptedHost
) -> None:
    lab.on("*", status=400, message=TOO_LONG)
    with pytest.raises(openai.BadRequestError, match=SAID) as chat:
        await client.chat.completions.create(model="voting", messages=[TURN])
    with pytest.raises(openai.BadRequestError, match=SAID) as responses:
        await client.responses.create(model="voting", input=[TURN])
    for caught, param in ((chat, "messages"), (responses, "input")):
        assert (caught.value.code, caught.value.param) == ("context_length_exceeded", param)


async def test_a_stream_ends_with_that_code(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", status=400, message=TOO_LONG)
    stream = await client.chat.completions.create(model="voting", messages=[TURN], stream=True)
    with pytest.raises(openai.APIError, match=SAID) as caught:
        async for _ in stream:
            pass
    assert (caught.value.type, caught.value.code) == ("invalid_request_error", "context_length_exceeded")


async def test_anthropics_clients_get_the_words_of_a_prompt_that_is_too_long(
    claude: Any, lab: ScriptedHost
) -> None:
    lab.on("*", status=400, message=TOO_LONG)
    with pytest.raises(anthropic.BadRequestError, match=SAID) as caught:
        await claude.messages.create(model="voting", max_tokens=500, messages=[TURN])
    assert caught.value.response.json()["error"]["type"] == "invalid_request_error"


async def test_a_run_that_failed_for_another_reason_too_is_no_fault_of_the_conversation(
    client: Any, lab: ScriptedHost
) -> None:
    lab.on("*", status=400, message=TOO_LONG)
    lab.on("beta", status=403, message="not today")
    with pytest.raises(openai.InternalServerError) as caught:
        await client.chat.completions.create(model="voting", messages=[TURN])
    assert caught.value.status_code == 502
