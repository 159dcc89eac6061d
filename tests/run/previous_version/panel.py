"""Three scripted models whose replies follow from their prompts, so that a resumed run is reproducible."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from tests.support.scripted import Request, ScriptedHost

__all__ = ["CONFIG", "QUESTIONS", "panel", "reply"]

CONFIG = """
[providers.lab]
kind = "openai"
base_url = "{url}"
api_key_env = "LAB_KEY"
[models."lab:alpha"]
input_price = 1.0
output_price = 4.0
[models."lab:beta"]
input_price = 0.5
output_price = 2.0
[models."lab:gamma"]
input_price = 0.5
output_price = 1.0
[panel]
seats = ["lab:alpha", "lab:beta", "lab:gamma"]
[run]
retries = 1
[tools]
enabled = true
[tools.code_execution]
enabled = true
"""

QUESTIONS = {
    "abstained": "Which of two doors, said without a value?",
    "aggregate": "How many stones are in the wall?",
    "auto": "How long does the ship take?",
    "batch": "How many in the batch?",
    "chat": "How wide is the road?",
    "chat-again": "And how long is it?",
    "closed": "Which straggler is not waited for?",
    "consensus": "Should the assembly meet in the morning?",
    "council": "Which hill should carry the temple?",
    "decompose": "How far is it to the harbour, and how long does the way take?",
    "deliberate": "How many ships can the harbour hold?",
    "dropped": "How many voters came, when one was absent?",
    "failed": "Who answers when nobody does?",
    "given": "How many olives were counted by others?",
    "judged": "How many lamps are lit?",
    "moa": "How tall is the tower?",
    "queued": "How many wait for a worker?",
    "sample": "How many steps does the stair have?",
    "single": "How old is the law?",
    "tools": "What is 2 + 2 by the tool?",
    "voting": "How many votes decide?",
}
"""The question of each run, by the run's name in the fixture: no two runs have the same one."""

PLAN = {
    "subtasks": [
        {"label": "way", "question": "How far is it?", "needs": []},
        {"label": "time", "question": "How long does that take?", "needs": ["way"]},
    ]
}


def panel(name: str, text: Callable[[Request], str]) -> ScriptedHost:
    """The host that begins the run `name`, not yet started: replies by `text`, and the faults of the run."""
    host = ScriptedHost()
    host.on("*", text=text)
    match name:
        case "tools":
            host.on("alpha", call=1, tool_calls=(("run_python", {"code": "print(2 + 2)"}),))
        case "consensus":
            host.on("gamma", call=1, status=500, headers={"Retry-After": "0"})
        case "closed":
            host.on("gamma", call=4, hang=True)
        case "dropped":
            host.on("gamma", status=400, message="no such model")
        case "failed":
            host.on("*", status=400, message="no such model")
    return host


def reply(request: Request) -> str:
    """What the model says to this prompt. The marks of fences and the date do not count: both change."""
    prompt = re.sub(r"\bm[0-9a-f]{10}\b|Today is \S+", "", request.text)
    digest = hashlib.sha256(f"{request.model} {prompt}".encode()).digest()
    words = f"I hold {digest[:4].hex()}, because {digest[4:8].hex()} and {digest[8:12].hex()}."
    if QUESTIONS["queued"] in prompt and request.model == "gamma":
        return ""
    schema = request.body.get("response_format", {}).get("json_schema", {}).get("name", "")
    if schema:
        return json.dumps(_document(schema, words, prompt, digest))
    if QUESTIONS["abstained"] in prompt:
        if "BEST" not in prompt:
            return words
        return words if request.model == "alpha" else f"{words}\nBEST: Participant B"
    value = 40 + digest[12] % 3
    if any(QUESTIONS[name] in prompt for name in ("dropped", "judged", "chat", "chat-again")):
        # A conversation cannot be seeded: what its seats say must not depend on their order.
        words, value = "I hold to this.", 42
    answer = f"{words}\nFinal answer: {value}"
    if "BEST" in prompt:
        return f"{words}\nBEST: Participant {'ABC'[digest[13] % 3]}\n{answer}"
    if "ACCEPTED" in prompt:
        return f"ACCEPTED: {words}\nREJECTED: none\nANSWER:\n{answer}"
    return answer


def _document(schema: str, words: str, prompt: str, digest: bytes) -> dict[str, Any]:
    """An instance of the schema of that name."""
    match schema:
        case "plan":
            return PLAN
        case "question_class":
            return {"class": "reasoning"}
        case "ballot":
            first = QUESTIONS["closed"] in prompt
            label = f"Participant {'A' if first else 'ABC'[digest[12] % 3]}"
            return {"text": words, "vote": "FINALIZE", "label": label, "ranking": []}
        case "approval":
            return {"verdict": "APPROVE", "reason": words}
        case "position":
            value = str(40 + digest[12] % 2)
            return {"steelman": words, "critique": words, "decision": words, "answer": value}
    raise AssertionError(f"no reply for the schema {schema}")
