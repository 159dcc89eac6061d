"""SillyTavern: its server, asked as its page asks it, with the panel as a custom chat completion source."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from checks import ANSWER, CITY, KEY, URL, check, expect, lab, run, texts_sent
from programs import Program, free_port, new_folder

PACKAGE = Path.cwd() / "node_modules/sillytavern"
CHAT = "/api/backends/chat-completions/generate"
ASKED = [
    {"role": "system", "content": "Write Ada's next reply in a fictional chat."},
    {"role": "assistant", "content": "Hello, traveller."},
    {"role": "user", "content": "What is 6 times 7?"},
]


class Server(Program):
    """A running SillyTavern. Its key for the panel is stored in its own secrets."""

    def __init__(self) -> None:
        folder, port = new_folder(), free_port()
        command = [os.environ["NODE"], PACKAGE / "server.js", "--port", str(port), "--listen", "false"]
        command += ["--dataRoot", folder / "data", "--configPath", folder / "config.yaml"]
        command += ["--disableCsrf", "--browserLaunchEnabled", "false"]
        super().__init__(command, folder, f"http://127.0.0.1:{port}")
        self.wait(lambda: self.post("/api/ping", {}))
        self.post("/api/secrets/write", {"key": "api_key_custom", "value": KEY, "label": "pnyx"})

    def generate(self, **more: Any) -> str:
        settings = {
            "chat_completion_source": "custom",
            "custom_url": f"{URL}/v1",
            "custom_include_body": "",
            "custom_exclude_body": "",
            "custom_include_headers": "",
            "custom_prompt_post_processing": "",
            "model": "pnyx/voting",
            "messages": ASKED,
            "temperature": 1,
            "frequency_penalty": 0,
            "presence_penalty": 0,
            "top_p": 1,
            "max_tokens": 300,
            "stream": False,
            "logit_bias": {},
            "stop": [],
            "reasoning_effort": "medium",
            "include_reasoning": True,
            "user_name": "User",
            "char_name": "Ada",
        }
        return self.post(CHAT, {**settings, **more})


server = Server()


@check("connection and list of models")
def models() -> None:
    asked = {"chat_completion_source": "custom", "custom_url": f"{URL}/v1", "custom_include_headers": ""}
    found = json.loads(server.post("/api/backends/chat-completions/status", asked))
    expect("pnyx/voting" in [one["id"] for one in found["data"]], found)


@check("text")
def text() -> None:
    found = json.loads(server.generate())
    expect(found["choices"][0]["message"]["content"].startswith(ANSWER), found)
    expect("Write Ada's next reply" in texts_sent("system"), texts_sent("system"))
    expect("Hello, traveller." in texts_sent("user"), texts_sent("user"))


@check("stream with its steps as reasoning")
def stream() -> None:
    lines = server.generate(stream=True).splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    said = "".join(delta.get("content") or "" for delta in deltas)
    expect(said.startswith(ANSWER) and any(delta.get("reasoning_content") for delta in deltas), deltas)


@check("stop sequences and max tokens")
def limits() -> None:
    found = json.loads(server.generate(stop=["\nFinal"]))
    expect(found["choices"][0]["message"]["content"] == "It is six times seven.", found)
    found = json.loads(server.generate(max_tokens=2))
    expect(found["choices"][0]["finish_reason"] == "length", found)


@check("json_schema")
def schema() -> None:
    found = json.loads(server.generate(json_schema={"name": "city", "value": CITY}))
    expect("people" in json.loads(found["choices"][0]["message"]["content"]), found)


@check("errors")
def errors() -> str:
    found = json.loads(server.generate(model="gpt-9"))
    expect("error" in found and not lab.calls(), found)
    return "of an error it shows the words of the status alone, such as Not Found"


try:
    run("sillytavern")
finally:
    server.stop()
