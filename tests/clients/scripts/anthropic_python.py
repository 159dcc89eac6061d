"""anthropic-python: messages, their stream, the count of tokens, models."""

from __future__ import annotations

import json
from typing import Any

import anthropic
from checks import ANSWER, CITY, KEY, PNG, URL, check, expect, lab, raises, run, texts_sent

MODEL = "pnyx/voting"
client: Any = anthropic.Anthropic(base_url=URL, api_key=KEY)


def ask(text: str, **more: Any) -> Any:
    one = more.pop("client", client)
    fields = {"model": MODEL, "max_tokens": 4000, "messages": [{"role": "user", "content": text}], **more}
    return one.messages.create(**fields)


@check("text")
def text() -> None:
    message = ask("What is 6 times 7?")
    expect(message.content[0].text.startswith(ANSWER) and message.stop_reason == "end_turn", message)
    expect(message.usage.input_tokens > 0 and message._request_id, message)
    token = anthropic.Anthropic(base_url=URL, auth_token=KEY)
    expect(ask("With a token?", client=token).content[0].text.startswith(ANSWER), "auth_token")


@check("stream")
def stream() -> None:
    messages = [{"role": "user", "content": "Streamed?"}]
    with client.messages.stream(model=MODEL, max_tokens=4000, messages=messages) as events:
        said = "".join(events.text_stream)
        message = events.get_final_message()
    expect(said.startswith(ANSWER) and message.content[-1].text == said, message)
    expect(message.usage.output_tokens > 0 and message.content[0].type == "thinking", message)
    # What an assistant thought comes back with the next turn.
    turns = [*messages, {"role": "assistant", "content": message.content}, {"role": "user", "content": "So?"}]
    expect(ask("", messages=turns).content[0].text.startswith(ANSWER), "next turn")


@check("system message")
def system() -> None:
    ask("What is a knot?", system="Answer for sailors.")
    parts = [{"type": "text", "text": "Answer for pilots.", "cache_control": {"type": "ephemeral"}}]
    ask("What is a mile?", system=parts)
    sent = texts_sent("system")
    expect("for sailors" in sent and "for pilots" in sent, sent)


@check("json_schema")
def json_schema() -> None:
    format = {"type": "json_schema", "schema": CITY}
    message = ask("A city?", output_config={"format": format})
    expect(json.loads(message.content[0].text).keys() == {"name", "people"}, message)


@check("stop and max tokens")
def limits() -> None:
    message = ask("Stop?", stop_sequences=["\nFinal"])
    expect((message.stop_reason, message.stop_sequence) == ("stop_sequence", "\nFinal"), message)
    expect(message.content[0].text == "It is six times seven.", message)
    message = ask("Short?", max_tokens=2)
    expect((message.content[0].text, message.stop_reason) == ("It is si", "max_tokens"), message)


@check("image in an old turn")
def image() -> str:
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    picture = [{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}]
    turns = [
        {"role": "user", "content": picture},
        {"role": "assistant", "content": "A dot."},
        {"role": "user", "content": "Which colour has it?"},
    ]
    expect(ask("", messages=turns).content[0].text.startswith(ANSWER), "old turn")
    asked = [{"role": "user", "content": picture}]
    raises(anthropic.BadRequestError, lambda: ask("", messages=asked), "reads images")
    return "a picture in the question itself is refused with 400"


@check("errors")
def errors() -> None:
    wrong = anthropic.Anthropic(base_url=URL, api_key="pnyx_wrong")
    raises(anthropic.AuthenticationError, lambda: ask("Who?", client=wrong), "authentication_error")
    raises(anthropic.NotFoundError, lambda: ask("Who?", model="claude-9"), "claude-9")
    error = raises(anthropic.APIStatusError, lambda: ask("Dear?", model="too-dear"), "billing_error")
    expect(error.status_code == 402 and error.request_id, error.body)
    raises(anthropic.BadRequestError, lambda: ask("Hot?", extra_body={"temperature": 3}), "temperature")


@check("a failed run is not retried")
def failure() -> None:
    lab.on(status=400, message="not today")
    raises(anthropic.APIStatusError, lambda: ask("Failing?", model="title-helper"))
    expect(len(lab.calls()) == 1, len(lab.calls()))


@check("a retry after a timeout joins its run")
def timeout() -> None:
    lab.on(text=ANSWER, delay=0.9)
    impatient = anthropic.Anthropic(base_url=URL, api_key=KEY, timeout=0.5, max_retries=5)
    message = ask("Slow?", client=impatient, model="title-helper")
    expect(message.content[0].text.startswith(ANSWER), message)
    expect(len(lab.calls()) == 1, len(lab.calls()))


@check("count of tokens")
def count() -> None:
    asked = {"model": MODEL, "messages": [{"role": "user", "content": "How many tokens are these?"}]}
    few = client.messages.count_tokens(**asked).input_tokens
    tool = {"name": "look", "description": "looks up " * 50, "input_schema": {"type": "object"}}
    many = client.messages.count_tokens(**asked, system="Be brief. " * 20, tools=[tool]).input_tokens
    expect(0 < few < many, (few, many))


@check("list of models")
def models() -> None:
    names = [model.id for model in client.models.list()]
    expect("claude-sonnet-4-5" in names and MODEL in names, names)
    expect(client.models.retrieve("claude-sonnet-4-5").display_name, names)
    expect(ask("By another name?", model="claude-sonnet-4-5").content[0].text.startswith(ANSWER), "text")


@check("an answer after 65 s without a stream", slow=True)
def long() -> None:
    lab.on(text=ANSWER, delay=65)
    message = ask("Long?", model="title-helper")
    expect(message.content[0].text.startswith(ANSWER), message)
    expect(len(lab.calls()) == 1, len(lab.calls()))


@check("tools")
def tools() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tool = {"name": "look", "description": "Looks a city up.", "input_schema": schema}
    for streamed in (False, True):
        messages: list[Any] = [{"role": "user", "content": f"How many people has Athens? {streamed}"}]
        lab.calls_tool("look", {"name": "Athens"})
        if streamed:
            asked = {"model": MODEL, "max_tokens": 4000, "messages": messages, "tools": [tool]}
            with client.messages.stream(**asked) as events:
                kinds = {event.type for event in events}
                message = events.get_final_message()
            expect("input_json" in kinds, kinds)
        else:
            message = ask("", messages=messages, tools=[tool])
        (call,) = [block for block in message.content if block.type == "tool_use"]
        expect(
            (message.stop_reason, call.name, call.input) == ("tool_use", "look", {"name": "Athens"}), message
        )
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "643000"}
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        answer = ask("", messages=messages, tools=[tool])
        expect(answer.content[-1].text == ANSWER and "643000" in texts_sent("user"), answer)


run("anthropic")
