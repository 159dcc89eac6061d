"""Open WebUI: its server, asked as its page asks it, with the panel as an OpenAI connection and as a pipe."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
from pathlib import Path
from typing import Any

from checks import ANSWER, KEY, PICTURE, URL, check, expect, lab, raises, run, texts_sent
from programs import Program, free_port, new_folder

PIPE = Path(os.environ["INTEGRATIONS"]) / "open-webui/pnyx_pipe.py"
HELPER = "title-helper"
ASKED = [{"role": "user", "content": "What is 6 times 7?"}]
SETTINGS = {
    "OPENAI_API_BASE_URL": f"{URL}/v1",
    "OPENAI_API_KEY": KEY,
    "TASK_MODEL_EXTERNAL": HELPER,
    "WEBUI_AUTH": "False",
    "WEBUI_SECRET_KEY": "of the tests",
    "ENABLE_OLLAMA_API": "false",
    "RAG_EMBEDDING_ENGINE": "openai",
    "AUDIO_STT_ENGINE": "openai",
    "OFFLINE_MODE": "true",
    "HF_HUB_OFFLINE": "1",
    "ANONYMIZED_TELEMETRY": "false",
}


class Server(Program):
    """A running Open WebUI, signed in to as its only user."""

    def __init__(self) -> None:
        folder, port = new_folder(), free_port()
        command = [Path(sys.executable).parent / "open-webui", "serve"]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        settings = {**SETTINGS, "DATA_DIR": str(folder)}
        super().__init__(command, folder, f"http://127.0.0.1:{port}", settings)
        self.wait(lambda: self.get("/health"))
        user = json.loads(self.post("/api/v1/auths/signin", {"email": "", "password": ""}))
        self.headers["Authorization"] = f"Bearer {user['token']}"
        self.models()  # requests name models that the server has listed

    def models(self) -> list[str]:
        return [model["id"] for model in json.loads(self.get("/api/models"))["data"]]

    def chat(self, **more: Any) -> str:
        return self.post("/api/chat/completions", {"model": "pnyx/voting", "messages": ASKED, **more})


def content(reply: str) -> str:
    said: str = json.loads(reply)["choices"][0]["message"]["content"]
    return said


def deltas(reply: str) -> list[dict[str, Any]]:
    lines = [line[6:] for line in reply.splitlines() if line.startswith("data: {")]
    return [choice["delta"] for line in lines for choice in json.loads(line).get("choices", ())]


server = Server()


@check("list of models")
def models() -> None:
    found = server.models()
    expect({"pnyx/voting", "pnyx/consensus", HELPER} <= set(found), found)


@check("text")
def text() -> None:
    system = {"role": "system", "content": "Answer as a pirate."}
    found = content(server.chat(messages=[system, *ASKED]))
    expect(found.startswith(ANSWER), found)
    expect("Answer as a pirate." in texts_sent("system"), texts_sent("system"))


@check("stream with its steps as reasoning")
def stream() -> None:
    found = deltas(server.chat(stream=True))
    said = "".join(delta.get("content") or "" for delta in found)
    expect(said.startswith(ANSWER) and any(delta.get("reasoning_content") for delta in found), found)


@check("limits")
def limits() -> None:
    found = json.loads(server.chat(max_tokens=2))
    expect(found["choices"][0]["finish_reason"] == "length", found)


@check("image in an old turn")
def image() -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": PICTURE}},
    ]
    turns = [{"role": "user", "content": parts}, {"role": "assistant", "content": "A dot."}, *ASKED]
    expect(content(server.chat(messages=turns)).startswith(ANSWER), "no answer")


@check("title, tags, follow-ups and search queries, one call each")
def tasks() -> None:
    turns = [*ASKED, {"role": "assistant", "content": ANSWER}]
    more = {"model": "pnyx/consensus", "messages": turns, "chat_id": "c", "type": "web_search"}
    for task in ("title", "tags", "follow_up", "queries"):
        lab.reset()
        found = content(server.post(f"/api/v1/tasks/{task}/completions", more))
        # The helper's answer, without the footer of a chat.
        expect(found == ANSWER and len(lab.calls()) == 1, (task, found, len(lab.calls())))
        expect({call["model"] for call in lab.calls()} == {"helper"}, lab.calls())


@check("errors")
def errors() -> None:
    failed = raises(urllib.error.HTTPError, lambda: server.chat(model="pnyx/voting", n=3))
    words = failed.read().decode()
    expect("n must be at most 1, not 3" in words, words)
    expect(not lab.calls(), lab.calls())


@check("the pipe of integrations/: models, text, stream, title")
def pipe() -> None:
    meta = {"description": "A panel of language models", "manifest": {}}
    made = {"id": "pnyx", "name": "pnyx", "content": PIPE.read_text(), "meta": meta}
    server.post("/api/v1/functions/create", made)
    valves = {"base_url": f"{URL}/v1", "api_key": KEY, "task_model": HELPER}
    server.post("/api/v1/functions/id/pnyx/valves/update", valves)
    server.post("/api/v1/functions/id/pnyx/toggle", {})
    model = "pnyx.pnyx/voting"
    expect(model in server.models(), server.models())
    found = content(server.chat(model=model))
    expect(found.startswith(ANSWER), found)
    said = "".join(delta.get("content") or "" for delta in deltas(server.chat(model=model, stream=True)))
    expect(said.startswith(ANSWER), said)


try:
    run("open-webui")
finally:
    server.stop()
