"""llm: its command line, with the panel as an extra OpenAI model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import ANSWER, CITY, KEY, URL, check, expect, lab, run, texts_sent

HOME = Path(tempfile.mkdtemp())
MODELS = f"""
- model_id: panel
  model_name: pnyx/voting
  api_base: {URL}/v1
  api_key_name: pnyx
  supports_schema: true
  supports_tools: true
  vision: true
- model_id: panel-responses
  model_name: pnyx/voting
  api_base: {URL}/v1
  api_key_name: pnyx
  responses: true
  supports_schema: true
- model_id: panel-completion
  model_name: pnyx/single
  api_base: {URL}/v1
  api_key_name: pnyx
  completion: true
- model_id: unknown
  model_name: gpt-9
  api_base: {URL}/v1
  api_key_name: pnyx
- model_id: dear
  model_name: too-dear
  api_base: {URL}/v1
  api_key_name: pnyx
"""
(HOME / "extra-openai-models.yaml").write_text(MODELS)
(HOME / "keys.json").write_text(json.dumps({"pnyx": KEY}))
LLM = Path(sys.executable).parent / "llm"


def llm(*arguments: str, fails: bool = False) -> str:
    environment = {**os.environ, "LLM_USER_PATH": str(HOME)}
    done = subprocess.run([LLM, *arguments], env=environment, capture_output=True, text=True, timeout=100)
    expect((done.returncode != 0) == fails, done.stdout + done.stderr)
    return done.stderr if fails else done.stdout


@check("text and stream")
def text() -> None:
    for model in ("panel", "panel-responses", "panel-completion"):
        expect(llm("-m", model, "What is 6 times 7?").startswith(ANSWER), model)
    for model in ("panel", "panel-responses"):
        expect(llm("-m", model, "--no-stream", "And whole?").startswith(ANSWER), model)


@check("system message and conversation")
def system() -> None:
    llm("-m", "panel", "-s", "Answer for sailors.", "What is a knot?")
    llm("-c", "And a mile?")
    expect("Answer for sailors." in texts_sent("system"), texts_sent("system"))
    expect("What is a knot?" in texts_sent("user"), texts_sent("user"))


@check("schema")
def schema() -> None:
    for model in ("panel", "panel-responses"):
        found = json.loads(llm("-m", model, "--schema", json.dumps(CITY), f"A city? {model}"))
        expect(found.keys() == {"name", "people"}, found)
    found = json.loads(llm("-m", "panel", "-o", "json_object", "1", "A city, as JSON?"))
    expect(isinstance(found, dict), found)


@check("options")
def options() -> None:
    found = llm(
        "-m", "panel", "-o", "max_tokens", "2", "-o", "temperature", "0.5", "-o", "seed", "3", "Short?"
    )
    expect(found.strip() == "It is si", found)
    found = llm("-m", "panel", "-o", "stop", "\nFinal", "Stop?")
    expect(found.strip() == "It is six times seven.", found)


@check("errors")
def errors() -> None:
    expect("gpt-9" in llm("-m", "unknown", "Who?", fails=True), "unknown")
    expect("budget" in llm("-m", "dear", "Who?", fails=True), "dear")
    expect("key" in llm("-m", "panel", "--key", "pnyx_wrong", "Who?", fails=True), "key")


@check("its retries pay once")
def retries() -> None:
    lab.on(status=400, message="not today")
    llm("-m", "panel", "Failing?", fails=True)
    expect(len(lab.calls()) == 3, len(lab.calls()))


@check("tools")
def tools() -> None:
    function = "def look(name: str) -> str:\n    'Looks a city up.'\n    return f'{name} has 643000'\n"
    for way in ((), ("--no-stream",)):
        lab.calls_tool("look", {"name": "Athens"})
        found = llm("-m", "panel", *way, "--functions", function, "How many people has Athens?")
        expect(found.strip() == ANSWER and "Athens has 643000" in texts_sent("user"), found)


run("llm")
