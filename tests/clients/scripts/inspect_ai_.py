"""inspect-ai: an evaluation with its own providers of APIs like OpenAI's and of Anthropic's."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from checks import ANSWER, KEY, URL, check, expect, lab, run, texts_sent

os.environ |= {
    "PANEL_API_KEY": KEY,
    "PANEL_BASE_URL": f"{URL}/v1",
    "ANTHROPIC_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "INSPECT_LOG_DIR": tempfile.mkdtemp(),
    "INSPECT_DISPLAY": "none",
}

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import match, model_graded_qa
from inspect_ai.solver import generate, self_critique, system_message, use_tools
from inspect_ai.tool import tool
from inspect_ai.util import json_schema
from pydantic import BaseModel


class City(BaseModel):
    name: str
    people: int


MODELS: dict[str, dict[str, Any]] = {
    "openai-api/panel/pnyx/voting": {},
    "openai/pnyx/voting": {"base_url": f"{URL}/v1", "responses_api": True},
    "anthropic/pnyx/voting": {"base_url": URL},
}


def task(**more: Any) -> Task:
    samples = [
        Sample(input="What is 6 times 7?", target="42"),
        Sample(input="And 36 times 36?", target="1296"),
    ]
    return Task(**{"dataset": samples, "solver": [generate()], "scorer": match("any"), **more})


def evaluate(evaluation: Task, name: str, **more: Any) -> Any:
    model = get_model(name, config=GenerateConfig(max_retries=1), **MODELS.get(name, {}))
    (log,) = eval(evaluation, model=model, **more)
    expect(log.status == "success", log.error)
    return log


@check("an evaluation")
def evaluation() -> None:
    for name in MODELS:
        log = evaluate(task(solver=[system_message(f"Answer for {name}."), generate()]), name)
        expect(log.results.scores[0].metrics["accuracy"].value == 0.5, log.results)
        expect(log.samples[0].output.completion.startswith(ANSWER) and log.stats.model_usage, log.stats)
        expect(f"Answer for {name}." in texts_sent("system"), name)


@check("several turns, and the panel as the judge")
def judge() -> None:
    lab.on(text="It is right.\n\nGRADE: C")
    name = next(iter(MODELS))
    grade = model_graded_qa(model=get_model(name))
    log = evaluate(task(solver=[generate(), self_critique(model=get_model(name))], scorer=grade), name)
    expect(log.results.scores[0].metrics["accuracy"].value == 1.0, log.results)


@check("response schema and limits")
def schema() -> None:
    for name in list(MODELS)[:2]:
        form = ResponseSchema(name="city", json_schema=json_schema(City))
        log = evaluate(task(config=GenerateConfig(response_schema=form)), name)
        expect(City.model_validate_json(log.samples[0].output.completion), log.samples[0].output)
    log = evaluate(task(config=GenerateConfig(max_tokens=2, stop_seqs=["nowhere"])), next(iter(MODELS)))
    output = log.samples[0].output
    expect((output.completion, output.stop_reason) == ("It is si", "max_tokens"), output)


@check("a failed run is not retried")
def failure() -> None:
    lab.on(status=400, message="not today")
    for name in MODELS:
        model = get_model(name, config=GenerateConfig(max_retries=1), **MODELS[name])
        (log,) = eval(task(), model=model, fail_on_error=True)
        expect(log.status == "error", log.status)
    expect(len(lab.calls()) <= 2 * 3 * len(MODELS), len(lab.calls()))


@tool
def look() -> Any:
    async def execute(name: str) -> str:
        """Looks a city up.

        Args:
            name: Of the city.
        """
        return f"{name} has 643000"

    return execute


@check("tools")
def tools() -> None:
    for name in MODELS:
        lab.calls_tool("look", {"name": "Athens"})
        one = [Sample(input=f"How many people has Athens, {name}?", target="42")]
        log = evaluate(task(dataset=one, solver=[use_tools(look()), generate()]), name)
        expect(log.samples[0].output.completion == ANSWER, log.samples[0].messages)
        expect("Athens has 643000" in texts_sent("user"), name)


run("inspect-ai")
