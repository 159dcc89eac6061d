"""openai-agents: agents over responses and over chat completions."""

from __future__ import annotations

from typing import Any

import agents
import openai
from checks import ANSWER, KEY, URL, check, expect, lab, run, texts_sent
from pydantic import BaseModel

agents.set_tracing_disabled(True)
MODELS = {
    "responses": agents.OpenAIResponsesModel,
    "chat": agents.OpenAIChatCompletionsModel,
}


class City(BaseModel):
    name: str
    people: int


def agent(form: str, name: str = "pnyx/voting", **more: Any) -> Any:
    # One client for each check, since each has an event loop of its own.
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY)
    return agents.Agent(name="Panel", model=MODELS[form](model=name, openai_client=client), **more)


@check("text")
async def text() -> None:
    for form in MODELS:
        result = await agents.Runner.run(
            agent(form, instructions=f"Answer for {form}."), "What is 6 times 7?"
        )
        expect(result.final_output.startswith(ANSWER), result.final_output)
    expect(all(f"Answer for {form}." in texts_sent("system") for form in MODELS), texts_sent("system"))


@check("stream")
async def stream() -> None:
    for form in MODELS:
        result = agents.Runner.run_streamed(agent(form), f"Streamed {form}?")
        deltas = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]
        expect("".join(deltas).startswith(ANSWER) and result.final_output.startswith(ANSWER), deltas)


@check("structured output")
async def structured() -> None:
    for form in MODELS:
        result = await agents.Runner.run(agent(form, output_type=City), f"A city, {form}?")
        expect(isinstance(result.final_output, City), result.final_output)


@check("conversation")
async def conversation() -> None:
    for form in MODELS:
        first = await agents.Runner.run(agent(form), f"My boat is a ketch, {form}.")
        turns = [*first.to_input_list(), {"role": "user", "content": "What is my boat?"}]
        second = await agents.Runner.run(agent(form), turns)
        expect(second.final_output.startswith(ANSWER), second.final_output)
    expect(texts_sent("user").count("ketch") >= 6, texts_sent("user"))


@check("errors")
async def errors() -> None:
    for form in MODELS:
        try:
            await agents.Runner.run(agent(form, "gpt-9"), "Who?")
        except openai.NotFoundError as exc:
            expect("gpt-9" in str(exc), str(exc))
        else:
            raise AssertionError("no error")


@check("its retries pay once")
async def retries() -> None:
    lab.on(status=400, message="not today")
    for form in MODELS:
        try:
            await agents.Runner.run(agent(form, "title-helper"), f"Failing {form}?")
        except openai.APIStatusError:
            continue
        raise AssertionError("no error")
    expect(len(lab.calls()) == 2, len(lab.calls()))


@check("tools")
async def tools() -> None:
    @agents.function_tool
    def look(name: str) -> str:
        """Looks a city up."""
        return f"{name} has 643000"

    for form in MODELS:
        lab.calls_tool("look", {"name": "Athens"})
        result = await agents.Runner.run(agent(form, tools=[look]), f"How many people has Athens, {form}?")
        expect(result.final_output == ANSWER and "Athens has 643000" in texts_sent("user"), result)
        lab.calls_tool("look", {"name": "Athens"})
        streamed = agents.Runner.run_streamed(agent(form, tools=[look]), f"And streamed, {form}?")
        async for _ in streamed.stream_events():
            pass
        expect(streamed.final_output == ANSWER, streamed)


@check("a handoff")
async def handoff() -> None:
    for form in MODELS:
        other = agents.Agent(name="Other", model=agent(form).model)
        lab.calls_tool("transfer_to_other", {})
        result = await agents.Runner.run(agent(form, handoffs=[other]), f"Hand it over, {form}.")
        expect(result.last_agent.name == "Other" and result.final_output.startswith(ANSWER), result)


run("openai-agents")
