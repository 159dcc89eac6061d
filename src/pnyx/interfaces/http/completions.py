"""/v1/chat/completions: a panel where a program expects a model of OpenAI's."""

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
from ..follow import wait_for_result, wait_unless_left
from ..schemas import RunBody
from ..service import RunService
from .errors import Exact, refusal
from .state import CLIENT_LEFT, disconnected, owner_of, service_of
from .streaming import event_source

__all__ = ["ROUTER", "Completion"]

ROUTER = APIRouter(prefix="/v1", tags=["completions"])
PREFIX = "pnyx/"
FAILURES = {"budget": 402, "deadline": 504, "interrupted": 503}
"""Why a run stopped -> the status; a panel that could not answer is a host that could not."""


class Part(BaseModel):
    """A piece of a message; only text is read."""

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
        """Raises `UsageError` for anything but text."""
        if isinstance(self.content, str):
            return self.content
        if any(part.type != "text" or part.text is None for part in self.content):
            raise UsageError("a panel reads text only")
        return "\n".join(part.text or "" for part in self.content)


class StreamOptions(BaseModel):
    model_config = ConfigDict(frozen=True)

    include_usage: bool | None = None


class Completion(BaseModel):
    """A request as OpenAI's clients write it. model: `pnyx/PROTOCOL`, `pnyx/PROTOCOL:quick,rounds=2`.

    The last message is the question; those before it are shown to the panel as what was said earlier. What
    only means something to one model, such as `temperature`, is passed over. pnyx: what else a run may be
    told, as for /v1/runs.
    """

    model_config = ConfigDict(frozen=True)

    model: Annotated[str, Field(min_length=1, max_length=400)]
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000, fail_fast=True)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    tools: Annotated[list[Any], Field(max_length=0)] | None = None
    pnyx: Mapping[str, Any] = Field(default_factory=dict)

    def to_request(self) -> RunRequest:
        """The last message as a question, after the others. Raises `UsageError`, `NotFound`."""
        last = self.messages[-1]
        if last.role != "user":
            raise UsageError("the last message must be the user's: it is the question")
        arm = parse_arm(self.model.removeprefix(PREFIX))
        options = {key: value for key, value in arm.options.items() if key != "preset"}
        own = {"preset": arm.options["preset"]} if "preset" in arm.options else {}
        seed = {} if self.seed is None else {"seed": self.seed}
        told = {"protocol": arm.protocol, **own, **seed, **self.pnyx}
        more = self.pnyx.get("options", {})
        # What is no object is told as such, with everything else that is wrong.
        told["options"] = {**options, **more} if isinstance(more, Mapping) else more
        request = RunBody.parse({**told, "question": last.text()}).to_request()
        earlier = tuple(Material(f"Earlier, {one.role}", one.text()) for one in self.messages[:-1])
        return replace(request, context=earlier)


@ROUTER.post("/chat/completions")
async def complete(request: Request, asked: Completion) -> Response:
    """The panel's answer as OpenAI's clients expect it; `pnyx` in it holds the whole result.

    A client that leaves cancels the run: it has no name to come back by.
    """
    service = service_of(request)
    spec = service.resolve(asked.to_request(), owner_of(request))
    run_id = await service.begin(spec)
    if asked.stream:
        return _streamed(service, run_id, asked)
    result = await wait_unless_left(service, run_id, disconnected(request), cancel=True)
    if result is None:
        return Response(status_code=CLIENT_LEFT)
    if why := failure(result):
        status = FAILURES.get(result.stop_reason, 502)
        return refusal(status, f"run {result.run_id} {service.redact(why)}", type=result.stop_reason)
    message = {"role": "assistant", "content": result.answer, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    body = _head(result.run_id, asked, "chat.completion")
    return Exact({**body, "choices": [choice], "usage": _usage(result), "pnyx": result.to_json()})


def _streamed(service: RunService, run_id: str, asked: Completion) -> Response:
    """The answer comes whole: what seats say before it is decided is no part of it."""
    head = _head(run_id, asked, "chat.completion.chunk")
    usage = bool(asked.stream_options and asked.stream_options.include_usage)

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


def _head(run_id: str, asked: Completion, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run_id}", "object": kind, "created": int(time.time()), "model": asked.model}


def _usage(result: Result) -> dict[str, Any]:
    """Tokens of all calls together."""
    given, made = result.usage["input_tokens"], result.usage["output_tokens"]
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": result.usage["cached_tokens"]},
    }
