"""promptfoo: a suite of prompts over chat completions, responses and messages."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from checks import CITY, KEY, URL, check, expect, lab, run

NODE = os.environ["NODE"]
PROGRAM = Path.cwd() / "node_modules/promptfoo/dist/src/entrypoint.js"
OPENAI = {"apiBaseUrl": f"{URL}/v1", "apiKey": KEY, "max_tokens": 4000}


def provider(id: str, **config: Any) -> dict[str, Any]:
    return {"id": id, "config": {**OPENAI, **config}}


PROVIDERS = [
    provider("openai:chat:pnyx/voting"),
    provider("openai:responses:pnyx/voting", max_output_tokens=4000),
    {
        "id": "anthropic:messages:pnyx/voting",
        "config": {"apiBaseUrl": URL, "apiKey": KEY, "max_tokens": 4000},
    },
]


def evaluate(providers: list[Any], asserts: list[Any], prompt: Any = "What is {{n}} times 7?") -> list[Any]:
    folder = Path(tempfile.mkdtemp())
    suite = {
        "prompts": [prompt],
        "providers": providers,
        "tests": [{"vars": {"n": "6"}, "assert": asserts}],
    }
    (folder / "suite.json").write_text(json.dumps(suite))
    environment = {
        **os.environ,
        "PROMPTFOO_CONFIG_DIR": str(folder),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    }
    command = [NODE, PROGRAM, "eval", "-c", "suite.json", "-o", "out.json", "--no-cache", "--no-table"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    expect((folder / "out.json").exists(), done.stdout[-1000:] + done.stderr[-1000:])
    found: list[Any] = json.loads((folder / "out.json").read_text())["results"]["results"]
    return found


@check("assertions on the text")
def text() -> None:
    results = evaluate(PROVIDERS, [{"type": "contains", "value": "Final answer: 42"}])
    expect(len(results) == 3 and all(one["success"] for one in results), results)


@check("json_schema")
def schema() -> None:
    format = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": CITY}}
    results = evaluate(
        [provider("openai:chat:pnyx/voting", response_format=format)], [{"type": "is-json", "value": CITY}]
    )
    expect(all(one["success"] for one in results), results)


@check("the panel as the judge")
def judge() -> None:
    lab.on(text='{"pass": true, "score": 1, "reason": "It is right."}')
    rubric = {"type": "llm-rubric", "value": "The answer is right.", "provider": PROVIDERS[0]}
    results = evaluate(PROVIDERS[:1], [rubric])
    expect(all(one["success"] for one in results), results)


@check("errors")
def errors() -> None:
    (result,) = evaluate([provider("openai:chat:gpt-9")], [])
    expect("gpt-9" in str(result.get("error")), result)


run("promptfoo")
