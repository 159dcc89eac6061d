"""pydantic-ai: agents over chat completions, responses and messages."""

from __future__ import annotations

from typing import Any

from checks import ANSWER, KEY, PNG, URL, check, expect, lab, raises, run, texts_sent
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelHTTPError, NativeOutput, PromptedOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

MODELS = {
    "chat": lambda name: OpenAIChatModel(name, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)),
    "responses": lambda name: OpenAIResponsesModel(
        name, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
    ),
    "messages": lambda name: AnthropicModel(name, provider=AnthropicProvider(base_url=URL, api_key=KEY)),
}


class City(BaseModel):
    name: str
    people: int


def agent(form: str, name: str = "pnyx/voting", **more: Any) -> Any:
    return Agent(MODELS[form](name), **more)


@check("text")
def text() -> None:
    for form in MODELS:
        result = agent(form, instructions=f"Answer for {form}.").run_sync("What is 6 times 7?")
        expect(result.output.startswith(ANSWER) and result.usage.total_tokens > 0, result)
    expect(all(f"Answer for {form}." in texts_sent("system") for form in MODELS), texts_sent("system"))


@check("stream")
async def stream() -> None:
    for form in MODELS:
        async with agent(form).run_stream(f"Streamed {form}?") as result:
            said = [part async for part in result.stream_text(delta=True)]
        expect("".join(said).startswith(ANSWER), (form, said))


@check("structured output")
def structured() -> None:
    lab.on(text='{"name": "Athens", "people": 643000}')
    for form in MODELS:
        result = agent(form, output_type=PromptedOutput(City)).run_sync(f"A city in JSON, {form}?")
        expect(isinstance(result.output, City), result)
        if form != "messages":
            result = agent(form, output_type=NativeOutput(City)).run_sync(f"A city, {form}?")
            expect(isinstance(result.output, City), result)


@check("conversation")
def conversation() -> None:
    for form in MODELS:
        first = agent(form).run_sync(f"My boat is a ketch, {form}.")
        result = agent(form).run_sync("What is my boat?", message_history=first.all_messages())
        expect(result.output.startswith(ANSWER), result)
    expect(texts_sent("user").count("ketch") >= 9, texts_sent("user"))


@check("image in an old turn")
def image() -> None:
    import base64

    picture = BinaryContent(base64.b64decode(PNG), media_type="image/png")
    for form in MODELS:
        first = agent(form).run_sync(f"My boat is a ketch, {form}, for pictures.")
        history = first.all_messages()
        history[0].parts[-1].content = ["What is this?", picture]
        result = agent(form).run_sync("Which colour?", message_history=history)
        expect(result.output.startswith(ANSWER), result)


@check("limits")
def limits() -> None:
    for form in MODELS:
        result = agent(form).run_sync(f"Short {form}?", model_settings={"max_tokens": 2})
        expect(result.output == "It is si", (form, result))


@check("errors")
def errors() -> None:
    for form in MODELS:
        error = raises(ModelHTTPError, lambda f=form: agent(f, "gpt-9").run_sync("Who?"), "gpt-9")
        expect(error.status_code == 404, error)
        error = raises(ModelHTTPError, lambda f=form: agent(f, "too-dear").run_sync("Dear?"))
        expect(error.status_code == 402, error)


@check("its retries pay once")
def retries() -> None:
    lab.on(status=400, message="not today")
    for form in MODELS:
        raises(ModelHTTPError, lambda f=form: agent(f, "title-helper").run_sync(f"Failing {f}?"))
    expect(len(lab.calls()) == 3, len(lab.calls()))


@check("tools")
def tools() -> None:
    for form in MODELS:
        panel = agent(form)

        @panel.tool_plain
        def look(name: str) -> str:
            """Looks a city up."""
            return f"{name} has 643000"

        lab.calls_tool("look", {"name": "Athens"})
        result = panel.run_sync(f"How many people has Athens, {form}?")
        expect(result.output == ANSWER and "Athens has 643000" in texts_sent("user"), (form, result))


@check("output by a tool")
def tool_output() -> None:
    for form in MODELS:
        lab.calls_tool("final_result", {"name": "Athens", "people": 643000})
        result = agent(form, output_type=City).run_sync(f"Which city, {form}?")
        expect(result.output.name == "Athens", result)


run("pydantic-ai-slim")
