"""/v1/chat/completions: a panel for programs that expect an OpenAI model."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from sse_starlette import ServerSentEvent
from starlette.responses import Response

from ...core.text import Material
from ...errors import PnyxError, UsageError
from ...evaluate.execution.arm_names import parse_arm
from ...run.batch import failure
from ...run.request import RunRequest
from ...run.result import Result
from ..follow import wait_for_result, wait_unless_disconnected
from ..schemas import RunBody
from ..service import RunService
from .errors import Exact, refusal
from .state import CLIENT_LEFT, owner_of, service_of, wait_for_disconnect
from .streaming import event_source

__all__ = ["ROUTER", "Completion"]

ROUTER = APIRouter(prefix="/v1", tags=["completions"])
PREFIX = "pnyx/"
FAILURES = {"budget": 402, "deadline": 504, "interrupted": 503}
"""Stop reason -> HTTP status; any other is 502."""


class Part(BaseModel):
    """A part of a message; only text is accepted."""

    model_config = ConfigDict(frozen=True)

    type: str
    text: str | None = None


class Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    role: Literal["system", "developer", "user", "assistant"]
    content: (
        Annotated[str, Field(max_length=4 << 20)]
        | Annotated[list[Part], Field(min_length=1, max_length=100, fail_fast=True)]
    )

    def text(self) -> str:
        """Return the text. Raises `UsageError` for any other content."""
        if isinstance(self.content, str):
            return self.content
        if any(part.type != "text" or part.text is None for part in self.content):
            raise UsageError("only text content is accepted")
        return "\n".join(part.text or "" for part in self.content)


class StreamOptions(BaseModel):
    model_config = ConfigDict(frozen=True)

    include_usage: bool | None = None


class Completion(BaseModel):
    """A request in OpenAI's format. model: `pnyx/PROTOCOL`, such as `pnyx/council:quick,rounds=2`.

    The last message is the question; the earlier ones are context. Options of a single model, such as
    `temperature`, are ignored. pnyx: further run options, as for /v1/runs.
    """

    model_config = ConfigDict(frozen=True)

    model: Annotated[str, Field(min_length=1, max_length=400)]
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000, fail_fast=True)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    reasoning_effort: str | None = None
    tools: Annotated[list[Any], Field(max_length=0)] | None = None
    pnyx: Mapping[str, Any] = Field(default_factory=dict)

    def to_request(self) -> RunRequest:
        """Return the request: the last message is the question. Raises `UsageError`, `NotFound`."""
        last = self.messages[-1]
        if last.role != "user":
            raise UsageError("the last message is the question, so its role must be user")
        arm = parse_arm(self.model.removeprefix(PREFIX))
        options = {key: value for key, value in arm.options.items() if key != "preset"}
        preset = {"preset": arm.options["preset"]} if "preset" in arm.options else {}
        seed = {} if self.seed is None else {"seed": self.seed}
        effort = {} if self.reasoning_effort is None else {"effort": _nearest_effort(self.reasoning_effort)}
        body = {"protocol": arm.protocol, **preset, **seed, **effort, **self.pnyx}
        more = self.pnyx.get("options", {})
        # `RunBody` reports options that are not an object.
        body["options"] = {**options, **more} if isinstance(more, Mapping) else more
        request = RunBody.parse({**body, "question": last.text()}).to_request()
        earlier = tuple(Material(f"Earlier, {one.role}", one.text()) for one in self.messages[:-1])
        return replace(request, context=earlier)


def _nearest_effort(level: str) -> str:
    """Return the level of `RunRequest` for one of OpenAI's, which has more; `RunBody` reports any other."""
    return {"minimal": "low", "xhigh": "high", "max": "high"}.get(level, level)


@ROUTER.post("/chat/completions")
async def complete(request: Request, completion: Completion) -> Response:
    """Return the panel's answer in OpenAI's format, with the whole result in `pnyx`.

    If the client disconnects, the run is cancelled.
    """
    service = service_of(request)
    spec = service.resolve(completion.to_request(), owner_of(request))
    run_id = await service.submit(spec)
    if completion.stream:
        return _streamed(service, run_id, completion)
    result = await wait_unless_disconnected(service, run_id, wait_for_disconnect(request), cancel=True)
    if result is None:
        return Response(status_code=CLIENT_LEFT)
    if why := failure(result):
        status = FAILURES.get(result.stop_reason, 502)
        return refusal(status, f"run {result.run_id} {service.redact(why)}", type=result.stop_reason)
    message = {"role": "assistant", "content": result.answer, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    body = _head(result.run_id, completion, "chat.completion")
    return Exact({**body, "choices": [choice], "usage": _usage(result), "pnyx": result.to_json()})


def _streamed(service: RunService, run_id: str, completion: Completion) -> Response:
    """Stream the answer in one piece once it is decided; the seats' replies are not part of it."""
    head = _head(run_id, completion, "chat.completion.chunk")
    usage = bool(completion.stream_options and completion.stream_options.include_usage)

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> ServerSentEvent:
        choice = {"index": 0, "delta": dict(delta), "finish_reason": finish, "logprobs": None}
        return ServerSentEvent(json.dumps({**head, "choices": [choice], **more}))

    def problem(response: Exact) -> ServerSentEvent:
        return ServerSentEvent(bytes(response.body).decode())

    async def chunks() -> AsyncIterator[ServerSentEvent]:
        yield chunk({"role": "assistant", "content": ""})
        try:
            result = await wait_for_result(service, run_id, cancel=True)
        except PnyxError as exc:
            yield problem(refusal(503, service.redact(str(exc))))
            return
        if why := failure(result):
            message = f"run {run_id} {service.redact(why)}"
            yield problem(refusal(FAILURES.get(result.stop_reason, 502), message, type=result.stop_reason))
            return
        yield chunk({"content": result.answer})
        yield chunk({}, "stop", pnyx=result.to_json())
        if usage:
            yield ServerSentEvent(json.dumps({**head, "choices": [], "usage": _usage(result)}))
        yield ServerSentEvent("[DONE]")

    return event_source(service, chunks(), run_id, problem)


def _head(run_id: str, completion: Completion, kind: str) -> dict[str, Any]:
    created = int(time.time())
    return {"id": f"chatcmpl-{run_id}", "object": kind, "created": created, "model": completion.model}


def _usage(result: Result) -> dict[str, Any]:
    """Token counts of all calls together."""
    prompt, completion = result.usage["input_tokens"], result.usage["output_tokens"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": result.usage["cached_tokens"]},
    }
