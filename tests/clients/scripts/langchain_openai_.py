"""langchain-openai: ChatOpenAI, over chat completions and over responses."""

from __future__ import annotations

from typing import Any

import openai
from checks import ANSWER, CITY, KEY, PICTURE, URL, check, expect, lab, raises, run, texts_sent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI
from pydantic import BaseModel


class City(BaseModel):
    """A city."""

    name: str
    people: int


def chat(**more: Any) -> ChatOpenAI:
    return ChatOpenAI(**{"model": "pnyx/voting", "base_url": f"{URL}/v1", "api_key": KEY, **more})


BOTH = ({}, {"use_responses_api": True})


@check("text")
def text() -> None:
    for form in BOTH:
        message = chat(**form).invoke(f"What is 6 times 7? {form}")
        expect(message.text.startswith(ANSWER) and message.usage_metadata["total_tokens"] > 0, message)


@check("stream")
async def stream() -> None:
    for form in BOTH:
        chunks = [chunk async for chunk in chat(**form, stream_usage=True).astream(f"Streamed? {form}")]
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole += chunk
        expect(whole.text.startswith(ANSWER) and whole.usage_metadata["total_tokens"] > 0, whole)


@check("batch")
def batch() -> None:
    answers = chat().batch(["One?", "Two?", "Three?"])
    expect(all(one.text.startswith(ANSWER) for one in answers), answers)


@check("system message and conversation")
def system() -> None:
    turns = [
        SystemMessage("Answer for sailors."),
        HumanMessage("I am Ada."),
        AIMessage("Hello."),
        HumanMessage("So?"),
    ]
    for form in BOTH:
        chat(**form).invoke(turns)
    expect(texts_sent("system").count("Answer for sailors.") >= 6, texts_sent("system"))
    expect("I am Ada." in texts_sent("user"), texts_sent("user"))


@check("structured output")
def structured() -> None:
    for form in BOTH:
        model = chat(**form)
        found = model.with_structured_output(City, method="json_schema", strict=True).invoke(
            f"A city? {form}"
        )
        expect(isinstance(found, City), found)
        found = model.with_structured_output(
            method="json_mode", schema=None if form else dict(CITY, title="City")
        )
        expect(isinstance(found.invoke(f"A city, as JSON? {form}"), dict), found)


@check("stop and max tokens")
def limits() -> None:
    message = chat().invoke("Stop?", stop=["\nFinal"])
    expect(message.text == "It is six times seven.", message)
    message = chat(max_tokens=2).invoke("Short?")
    expect(message.text == "It is si" and message.response_metadata["finish_reason"] == "length", message)


@check("image in an old turn")
def image() -> str:
    picture = HumanMessage(
        [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    )
    for form in BOTH:
        answer = chat(**form).invoke([picture, AIMessage("A dot."), HumanMessage(f"Which colour? {form}")])
        expect(answer.text.startswith(ANSWER), answer)
    raises(openai.BadRequestError, lambda: chat().invoke([picture]), "reads images")
    return "a picture in the question is refused with 400, as no model of the panel reads images"


@check("errors")
def errors() -> None:
    raises(openai.AuthenticationError, lambda: chat(api_key="pnyx_wrong").invoke("Who?"))
    raises(openai.NotFoundError, lambda: chat(model="gpt-9").invoke("Who?"), "gpt-9")
    raises(openai.APIStatusError, lambda: chat(model="too-dear").invoke("Dear?"), "402")


@check("its retries pay once")
def retries() -> None:
    lab.on(status=400, message="not today")
    raises(openai.APIError, lambda: chat(model="title-helper", max_retries=3).invoke("Failing?"))
    expect(len(lab.calls()) == 1, len(lab.calls()))
    lab.reset()
    lab.on(text=ANSWER, delay=1.5)
    answer = chat(model="title-helper", timeout=0.8, max_retries=5).invoke("Slow?")
    expect(answer.text.startswith(ANSWER) and len(lab.calls()) == 1, len(lab.calls()))


@check("text completion")
def completion() -> None:
    found = OpenAI(model="title-helper", base_url=f"{URL}/v1", api_key=KEY).invoke("What is 6 times 7?")
    expect(found == ANSWER, found)


@check("tools")
def tools() -> None:
    @tool
    def look(name: str) -> str:
        """Looks a city up."""
        return f"{name} has 643000"

    for form in BOTH:
        turns: list[Any] = [HumanMessage(f"How many people has Athens? {form}")]
        lab.calls_tool("look", {"name": "Athens"})
        model = chat(**form).bind_tools([look])
        message = model.invoke(turns)
        (call,) = message.tool_calls
        expect((call["name"], call["args"]) == ("look", {"name": "Athens"}), message)
        answer = model.invoke([*turns, message, look.invoke(call)])
        expect(answer.text == ANSWER and "Athens has 643000" in texts_sent("user"), answer)


@check("structured output by a forced tool")
def forced() -> None:
    for form in BOTH:
        lab.calls_tool("City", {"name": "Athens", "people": 643000})
        model = chat(**form).with_structured_output(City, method="function_calling")
        expect(isinstance(model.invoke(f"Which city? {form}"), City), "city")


run("langchain-openai")
