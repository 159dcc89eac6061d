"""A host that accepts only some parameters, and refuses the others one at a time, as hosts do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.support.script import Fault, Request
from tests.support.scripted import ScriptedHost

__all__ = ["PARAMETERS", "STYLES", "StrictHost"]

PARAMETERS = (
    *("temperature", "seed", "max_tokens", "tools", "tool_choice", "response_format", "stream"),
    *("stream_options", "reasoning_effort", "system"),
)
"""What the requests of `test_refusals.py` hold and a host may refuse; "system" is a role."""


def _openai(message: str, param: str | None = None, code: str | None = None) -> str:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return json.dumps({"error": error})


STYLES: Mapping[str, Callable[[str], tuple[int, str]]] = {
    "OpenAI": lambda name: (
        400,
        _openai(
            f"Unsupported parameter: '{name}' is not supported with this model.",
            name,
            "unsupported_parameter",
        ),
    ),
    "OpenAI, older": lambda name: (400, _openai(f"Unrecognized request argument supplied: {name}")),
    "xAI": lambda name: (
        400,
        json.dumps(
            {
                "code": "Client specified an invalid argument",
                "error": f"Argument not supported on this model: {_camel(name)}",
            }
        ),
    ),
    "Mistral": lambda name: (
        422,
        json.dumps(
            {
                "object": "error",
                "message": {
                    "detail": [
                        {
                            "type": "extra_forbidden",
                            "loc": ["body", name],
                            "msg": "Extra inputs are not permitted",
                        }
                    ]
                },
            }
        ),
    ),
    "vLLM": lambda name: (
        400,
        json.dumps(
            {
                "object": "error",
                "message": f"[{{'type': 'extra_forbidden', 'loc': ('body', '{name}'), "
                "'msg': 'Extra inputs are not permitted'}]",
                "code": 400,
            }
        ),
    ),
    "Groq": lambda name: (400, _openai(f"property '{name}' is unsupported")),
    "Fireworks": lambda name: (400, _openai(f"Extra inputs are not permitted, field: '{name}'")),
    "Rust": lambda name: (
        422,
        f"Failed to deserialize the JSON body into the target type: unknown field `{name}`, expected one of "
        "`messages`, `model` at line 1 column 7",
    ),
    "Go": lambda name: (400, json.dumps({"message": f"invalid request: unknown field: {name}"})),
    "Zhipu": lambda name: (
        400,
        json.dumps({"error": {"code": "1210", "message": f"模型不支持 {name} 参数"}}),
    ),
    "OpenRouter": lambda name: (
        400,
        json.dumps(
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {"raw": _openai(f"Unknown parameter: '{name}'.", name), "provider_name": "Z"},
                }
            }
        ),
    ),
    "llama.cpp": lambda name: (
        500,
        json.dumps({"error": {"code": 500, "message": f"Unsupported param: {name}", "type": "server_error"}}),
    ),
}
SYSTEM = (
    (400, _openai("Unsupported value: 'messages[0].role' does not support 'system' with this model.")),
    (400, json.dumps({"object": "error", "message": "System role not supported", "code": 400})),
    (500, json.dumps({"error": {"code": 500, "message": "Jinja Exception: System role not supported"}})),
    (
        400,
        json.dumps({"error": {"code": 400, "message": "Developer instruction is not enabled for models/x"}}),
    ),
)
STREAM = (
    (400, _openai("Unsupported value: 'stream' does not support true with this model.", "stream")),
    (400, _openai("Your organization must be verified to stream this model.", "stream", "unsupported_value")),
    (400, json.dumps({"message": "This model doesn't support tool use in streaming mode."})),
)


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)


class StrictHost(ScriptedHost):
    """Refuses the first of `refused` that a request holds, in the next of `styles`."""

    def __init__(self, refused: Sequence[str], styles: Sequence[str]) -> None:
        super().__init__()
        self.refused, self.styles = refused, styles
        self.refusals = 0

    def admit(self, path: str, raw: bytes, headers: dict[str, str]) -> Any:
        admitted = super().admit(path, raw, headers)
        if admitted is None:
            return None
        parsed, request, fault = admitted
        name = next((name for name in self.refused if _holds(request, name)), None)
        if name is not None:
            status, body = self._refusal(name)
            fault = Fault(parsed.model, status=status, body=body.encode())
            self.refusals += 1
        return parsed, request, fault

    def _refusal(self, name: str) -> tuple[int, str]:
        if name == "system":
            return SYSTEM[self.refusals % len(SYSTEM)]
        if name == "stream":
            return STREAM[self.refusals % len(STREAM)]
        return STYLES[self.styles[self.refusals % len(self.styles)]](name)


def _holds(request: Request, name: str) -> bool:
    body = request.body
    if name == "system":
        return any(message["role"] in ("system", "developer") for message in body["messages"])
    return body.get(name) not in (None, False)
