"""openai-python: chat completions, responses, completions, models."""

from __future__ import annotations

import json
import time
from typing import Any

import openai
from checks import ANSWER, CITY, KEY, PICTURE, URL, check, expect, lab, raises, run, texts_sent
from pydantic import BaseModel

MODEL = "pnyx/voting"
client: Any = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
FORMAT = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": CITY}}


class City(BaseModel):
    name: str
    people: int


def ask(text: str, **more: Any) -> Any:
    model = more.pop("model", MODEL)
    one = more.pop("client", client)
    return one.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **more)


@check("text")
def text() -> None:
    completion = ask("What is 6 times 7?")
    expect(completion.choices[0].message.content.startswith(ANSWER), completion)
    expect(completion.usage.total_tokens > 0 and completion.choices[0].finish_reason == "stop", completion)
    response = client.responses.create(model=MODEL, input="What is 6 times 7, again?")
    expect(response.output_text.startswith(ANSWER), response)
    raw = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=[{"role": "user", "content": "Raw?"}]
    )
    expect(raw.headers["x-request-id"] and raw.headers["x-pnyx-run"], dict(raw.headers))


@check("stream")
def stream() -> None:
    chunks = list(ask("Streamed?", stream=True, stream_options={"include_usage": True}))
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    expect(said.startswith(ANSWER) and chunks[-1].usage.total_tokens > 0, chunks[-1])
    with client.responses.stream(model=MODEL, input="Streamed as a response?") as events:
        kinds = [event.type for event in events]
        final = events.get_final_response()
    expect("response.reasoning_summary_text.delta" in kinds and final.output_text.startswith(ANSWER), kinds)
    with client.chat.completions.stream(model=MODEL, messages=[{"role": "user", "content": "So?"}]) as events:
        for _ in events:
            pass
        expect(events.get_final_completion().choices[0].message.content.startswith(ANSWER), "final")


@check("system message")
def system() -> None:
    messages = [
        {"role": "system", "content": "Answer for sailors."},
        {"role": "developer", "content": "In one line."},
        {"role": "user", "content": "What is a knot?"},
    ]
    client.chat.completions.create(model=MODEL, messages=messages)
    client.responses.create(model=MODEL, input="What is a mile?", instructions="Answer for pilots.")
    sent = texts_sent("system")
    expect(all(word in sent for word in ("for sailors", "In one line", "for pilots")), sent)


@check("json_object")
def json_object() -> None:
    found = ask("A city, as JSON.", response_format={"type": "json_object"}).choices[0].message.content
    expect(isinstance(json.loads(found), dict), found)


@check("json_schema")
def json_schema() -> None:
    found = json.loads(ask("A city?", response_format=FORMAT).choices[0].message.content)
    expect(found.keys() == {"name", "people"}, found)
    format = {"type": "json_schema", "name": "city", "strict": True, "schema": CITY}
    response = client.responses.create(model=MODEL, input="Which city?", text={"format": format})
    expect(json.loads(response.output_text).keys() == {"name", "people"}, response.output_text)


@check("parse into a pydantic model")
def parse() -> None:
    messages = [{"role": "user", "content": "A city for parsing?"}]
    completion = client.chat.completions.parse(model=MODEL, messages=messages, response_format=City)
    expect(isinstance(completion.choices[0].message.parsed, City), completion)
    response = client.responses.parse(model=MODEL, input="A city to parse?", text_format=City)
    expect(isinstance(response.output_parsed, City), response)


@check("stop and max tokens")
def limits() -> None:
    choice = ask("Stop?", stop=["\nFinal"]).choices[0]
    expect((choice.message.content, choice.finish_reason) == ("It is six times seven.", "stop"), choice)
    choice = ask("Short?", max_completion_tokens=2).choices[0]
    expect((choice.message.content, choice.finish_reason) == ("It is si", "length"), choice)
    response = client.responses.create(model=MODEL, input="Short?", max_output_tokens=16)
    expect(response.status == "completed" or response.incomplete_details, response)
    (*_, last) = ask("Cut while streamed?", max_tokens=2, stream=True)
    expect(last.choices[0].finish_reason == "length", last)


@check("conversation")
def conversation() -> None:
    messages = [
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": "Hello Ada."},
        {"role": "user", "content": "What is my name?"},
    ]
    client.chat.completions.create(model=MODEL, messages=messages)
    first = client.responses.create(model=MODEL, input="My boat is a ketch.")
    client.responses.create(model=MODEL, input="What is my boat?", previous_response_id=first.id)
    sent = texts_sent("user")
    expect("Hello Ada" in sent and sent.count("ketch") > 3, sent)
    expect(client.responses.retrieve(first.id).output_text.startswith(ANSWER), first.id)


@check("image in an old turn")
def image() -> str:
    picture = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": PICTURE}},
    ]
    messages = [
        {"role": "user", "content": picture},
        {"role": "assistant", "content": "A dot."},
        {"role": "user", "content": "Which colour has it?"},
    ]
    answer = client.chat.completions.create(model=MODEL, messages=messages)
    expect(answer.choices[0].message.content.startswith(ANSWER), answer)
    ask_now = [{"role": "user", "content": picture}]
    raises(
        openai.BadRequestError,
        lambda: client.chat.completions.create(model=MODEL, messages=ask_now),
        "reads images",
    )
    return "a picture in the question is refused with 400, as no model of the panel reads images"


@check("errors")
def errors() -> None:
    wrong = openai.OpenAI(base_url=f"{URL}/v1", api_key="pnyx_wrong")
    raises(openai.AuthenticationError, lambda: ask("Who?", client=wrong), "key")
    raises(openai.NotFoundError, lambda: ask("Who?", model="gpt-9"), "gpt-9")
    error = raises(openai.BadRequestError, lambda: ask("Who?", n=2))
    expect(error.param == "n", error.body)
    error = raises(openai.APIStatusError, lambda: ask("Rich?", extra_body={"pnyx": {"budget_usd": 1e-9}}))
    expect(error.status_code == 402 and error.type == "insufficient_quota", error.body)
    error = raises(openai.APIStatusError, lambda: ask("Dear?", model="too-dear"))
    expect(error.status_code == 402, error.body)
    raises(openai.NotFoundError, lambda: client.embeddings.create(model="x", input="y"), "embeddings")
    raises(openai.NotFoundError, lambda: client.models.retrieve("gpt-9"))
    raises(openai.NotFoundError, lambda: client.responses.retrieve("resp_none"))


@check("a failed run is not retried")
def failure() -> None:
    lab.on(status=400, message="not today")
    raises(openai.APIStatusError, lambda: ask("Failing?", model="pnyx/single"))
    expect(len(lab.calls()) == 3, len(lab.calls()))
    raises(openai.APIError, lambda: list(ask("Failing, streamed?", model="pnyx/single", stream=True)))
    expect(len(lab.calls()) == 6, len(lab.calls()))


@check("a retry after a timeout joins its run")
def timeout() -> None:
    lab.on(text=ANSWER, delay=0.9)
    impatient = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, timeout=0.5, max_retries=5)
    completion = ask("Slow?", client=impatient, model="pnyx/single")
    expect(completion.choices[0].message.content.startswith(ANSWER), completion)
    expect(len(lab.calls()) == 1, len(lab.calls()))


@check("background response")
def background() -> None:
    lab.on(text=ANSWER, delay=0.5)
    response = client.responses.create(model="pnyx/single", input="In the background?", background=True)
    expect(response.status == "in_progress", response)
    end = time.monotonic() + 20
    while response.status == "in_progress" and time.monotonic() < end:
        time.sleep(0.1)
        response = client.responses.retrieve(response.id)
    expect(response.output_text.startswith(ANSWER), response)
    lab.on(text=ANSWER, delay=30)
    running = client.responses.create(model="pnyx/single", input="To be cancelled?", background=True)
    expect(client.responses.cancel(running.id).status == "cancelled", running)


@check("text completion")
def completion() -> None:
    found = client.completions.create(model="pnyx/single", prompt="What is 6 times 7?")
    expect(found.choices[0].text == ANSWER, found)


@check("list of models")
def models() -> None:
    names = [model.id for model in client.models.list()]
    expect("gpt-4o" in names and MODEL in names, names)
    expect(client.models.retrieve("gpt-4o").id == "gpt-4o", names)
    expect(ask("By another name?", model="gpt-4o").choices[0].message.content, "text")


@check("an answer after 65 s without a stream", slow=True)
def long() -> None:
    lab.on(text=ANSWER, delay=65)
    completion = ask("Long?", model="pnyx/single")
    expect(completion.choices[0].message.content.startswith(ANSWER), completion)
    expect(len(lab.calls()) == 1, len(lab.calls()))


LOOK = {
    "name": "look",
    "description": "Looks a city up.",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


@check("tools")
def tools() -> None:
    for streamed in (False, True):
        messages: list[Any] = [{"role": "user", "content": f"How many people has Athens? {streamed}"}]
        asked = {"model": MODEL, "messages": messages, "tools": [{"type": "function", "function": LOOK}]}
        lab.calls_tool("look", {"name": "Athens"})
        if streamed:
            with client.chat.completions.stream(**asked) as events:
                kinds = {event.type for event in events}
                choice = events.get_final_completion().choices[0]
            expect("tool_calls.function.arguments.done" in kinds, kinds)
        else:
            choice = client.chat.completions.create(**asked).choices[0]
        (call,) = choice.message.tool_calls
        expect(choice.finish_reason == "tool_calls" and call.function.name == "look", choice)
        expect(json.loads(call.function.arguments) == {"name": "Athens"}, call)
        messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "643000"}]
        answer = client.chat.completions.create(**asked)
        expect(answer.choices[0].message.content == ANSWER and "643000" in texts_sent("user"), answer)


@check("tools in responses")
def tools_of_responses() -> None:
    items: list[Any] = [{"role": "user", "content": "How many people has Athens, in a response?"}]
    asked = {"model": MODEL, "input": items, "tools": [{"type": "function", **LOOK}]}
    lab.calls_tool("look", {"name": "Athens"})
    with client.responses.stream(**asked) as events:
        kinds = {event.type for event in events}
        response = events.get_final_response()
    expect("response.function_call_arguments.done" in kinds, kinds)
    (call,) = [item for item in response.output if item.type == "function_call"]
    expect(json.loads(call.arguments) == {"name": "Athens"}, call)
    items += [*response.output, {"type": "function_call_output", "call_id": call.call_id, "output": "643000"}]
    response = client.responses.create(**asked)
    expect(response.output_text == ANSWER and "643000" in texts_sent("user"), response)


@check("forced tool")
def forced() -> None:
    lab.on(text=json.dumps({"tool_calls": [{"name": "look", "arguments": {"name": "Athens"}}]}))
    function = {"type": "function", "function": {"name": "look"}}
    tool = {"type": "function", "function": LOOK}
    choice = ask("Look it up.", tools=[tool], tool_choice=function).choices[0]
    expect(choice.message.tool_calls[0].function.name == "look", choice)


run("openai")
