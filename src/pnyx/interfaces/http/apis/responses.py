"""OpenAI's responses: /v1/responses, and one of them by its id."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from sse_starlette import ServerSentEvent
from starlette.responses import Response

from ....core.decision import FINAL
from ....errors import NotFound
from ....run.batch import failure
from ....run.result import Result
from ...service import RunService
from ..errors import Exact
from ..state import owner_of, page_of, service_of
from ..streaming import run_headers
from .answer import Answer, pieces
from .conversation import Conversation, Turn, refuse
from .exchange import Exchange, Step
from .parts import OPTIONAL, Lenient, MostTokens, answer_schema, text_of, turn

__all__ = ["ROUTER", "CreateResponse"]

ROUTER = APIRouter(prefix="/v1/responses", tags=["completions"])
PREFIX = "resp_"
INSTRUCTING = ("system", "developer")


class CreateResponse(Lenient):
    """A request in the format of OpenAI's Responses API. model: as for /v1/chat/completions.

    input: the question, or the items of a conversation. previous_response_id: the answer that it continues.
    """

    model: Annotated[str, Field(min_length=1, max_length=400)]
    input: (
        Annotated[str, Field(max_length=4 << 20)]
        | Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000, fail_fast=True)]
    )
    instructions: Annotated[str, Field(max_length=4 << 20)] | None = None
    previous_response_id: Annotated[str, Field(max_length=100)] | None = None
    stream: bool | None = None
    background: bool | None = None
    store: bool | None = None
    max_output_tokens: MostTokens | None = None
    reasoning: Mapping[str, Any] | None = None
    text: Mapping[str, Any] | None = None
    tools: Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    tool_choice: str | Mapping[str, Any] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    metadata: Mapping[str, Any] | None = None
    pnyx: Mapping[str, Any] = Field(default_factory=dict)

    def to_conversation(self) -> Conversation:
        """Return the conversation of the request alone. Raises `UsageError` for what a panel cannot do."""
        if self.tool_choice is not None and self.tool_choice not in OPTIONAL:
            raise refuse("tool_choice", "must be auto or none: the panel answers in text and calls no tools")
        items = [{"role": "user", "content": self.input}] if isinstance(self.input, str) else self.input
        turns = [found for item in items if (found := _turn(item)) is not None]
        system = [self.instructions or "", *(one.text for one in turns if one.role in INSTRUCTING)]
        effort = (self.reasoning or {}).get("effort")
        return Conversation(
            model=self.model,
            instructions=tuple(filter(str.strip, system)),
            turns=tuple(one for one in turns if one.role not in INSTRUCTING),
            max_tokens=self.max_output_tokens,
            effort=effort if isinstance(effort, str) else None,
            schema=answer_schema((self.text or {}).get("format"), "text.format"),
            more=self.pnyx,
            name_of_turns="input",
        )


def _turn(item: Mapping[str, Any]) -> Turn | None:
    """The turn of an item, or None if it says nothing to others."""
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        if role not in ("user", "assistant", *INSTRUCTING):
            raise refuse("input", "a message has the role user, assistant, system or developer")
        return turn(str(role), item.get("content"), "input")
    if kind in ("function_call", "custom_tool_call"):
        called = {"name": item.get("name"), "arguments": item.get("arguments", item.get("input"))}
        return turn("assistant", "", "input", [called])
    if kind in ("function_call_output", "custom_tool_call_output"):
        text, media = text_of(item.get("output"), "input")
        return Turn("tool", text, media)
    return None


@ROUTER.post("")
async def create(request: Request, body: CreateResponse) -> Response:
    """Return the panel's answer in the format of the Responses API, with the whole result in `pnyx`."""
    conversation = await _continued(request, body)
    exchange = Exchange(request, conversation, _problem)
    run_id = await exchange.start()
    head = _head(run_id, int(time.time()), body.model, body)
    if body.background and not body.stream:
        return Exact({**head, "status": "in_progress"}, headers=run_headers(run_id))
    if not body.stream:
        return await exchange.reply(run_id, lambda answer: _body(head, answer))
    return exchange.stream(run_id, lambda steps: _events(steps, head))


@ROUTER.get("/{response_id}")
async def retrieve(request: Request, response_id: str) -> Response:
    """Return a response as it is now."""
    service, run_id = service_of(request), _run_of(response_id)
    return await _read(request, service, run_id)


@ROUTER.post("/{response_id}/cancel")
async def cancel(request: Request, response_id: str) -> Response:
    """Cancel a response that is under way."""
    service = service_of(request)
    run_id = await service.cancel(_run_of(response_id), owner_of(request))
    return await _read(request, service, run_id)


async def _read(request: Request, service: RunService, run_id: str) -> Response:
    record = await service.read(run_id, owner_of(request))
    result = Result.from_json(record.document)
    created = int(datetime.fromisoformat(record.row.created_at).timestamp())
    head = _head(record.row.id, created, f"pnyx/{result.protocol}")
    headers = run_headers(record.row.id)
    if result.status not in FINAL:
        return Exact({**head, "status": "in_progress"}, headers=headers)
    if why := failure(result):
        status = "cancelled" if result.status == "cancelled" else "failed"
        error = {"code": "server_error", "message": service.redact(why)}
        return Exact({**head, "status": status, "error": error}, headers=headers)
    plain = Conversation(model=head["model"], turns=(), more={"footer": False})
    return Exact(_body(head, Answer.of(result, plain, page_of(request, run_id))), headers=headers)


async def _continued(request: Request, body: CreateResponse) -> Conversation:
    """The conversation of a request, after what it continues. Raises `NotFound`."""
    conversation = body.to_conversation()
    if body.previous_response_id is None:
        return conversation
    service, run_id = service_of(request), _run_of(body.previous_response_id)
    record = await service.read(run_id, owner_of(request))
    before: list[Turn] = []
    for one in record.row.check().spec.get("context", ()):
        said, _, role = one["label"].partition(", ")
        if said == "Earlier" and role in ("user", "assistant", "tool"):
            before.append(Turn(role, one["text"]))
    before.append(Turn("user", record.document["question"]))
    if answer := record.document["answer"]:
        before.append(Turn("assistant", answer))
    return replace(conversation, turns=(*before, *conversation.turns))


def _run_of(response_id: str) -> str:
    if not response_id.startswith(PREFIX) or len(response_id) > 60:
        raise NotFound(f"no response {response_id[:60]!r}; ids begin with {PREFIX}")
    return response_id.removeprefix(PREFIX)


def _head(run_id: str, created: int, model: str, body: CreateResponse | None = None) -> dict[str, Any]:
    """The fields of a response without its output. body: the request, if it is at hand."""
    given: Mapping[str, Any] = {} if body is None else body.model_dump()
    return {
        "id": PREFIX + run_id,
        "object": "response",
        "created_at": created,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": given.get("instructions"),
        "max_output_tokens": given.get("max_output_tokens"),
        "model": model,
        "output": [],
        "parallel_tool_calls": False,
        "previous_response_id": given.get("previous_response_id"),
        "reasoning": {"effort": (given.get("reasoning") or {}).get("effort"), "summary": None},
        "store": True,
        "temperature": given.get("temperature"),
        "text": {"format": (given.get("text") or {}).get("format") or {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": given.get("top_p"),
        "truncation": "disabled",
        "metadata": dict(given.get("metadata") or {}),
        "usage": None,
    }


def _message(run_id: str, text: str, status: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    content = [part] if status != "in_progress" else []
    return {
        "id": f"msg_{run_id}",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def _body(head: Mapping[str, Any], answer: Answer, *before: Mapping[str, Any]) -> dict[str, Any]:
    cut = answer.finish == "length"
    status = "incomplete" if cut else "completed"
    return {
        **head,
        "status": status,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [*before, _message(answer.result.run_id, answer.shown, status)],
        "usage": _usage(answer),
        "pnyx": answer.result.to_json(),
    }


async def _events(
    steps: AsyncIterator[Step | Answer], head: Mapping[str, Any]
) -> AsyncIterator[ServerSentEvent]:
    """Steps as a reasoning item with a summary, then the answer as a message."""
    numbers = count()

    def event(type: str, **fields: Any) -> ServerSentEvent:
        return ServerSentEvent(
            json.dumps({"type": type, "sequence_number": next(numbers), **fields}), event=type
        )

    started = {**head, "status": "in_progress"}
    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    run_id = str(head["id"]).removeprefix(PREFIX)
    lines: list[str] = []
    thought = {"item_id": f"rs_{run_id}", "output_index": 0, "summary_index": 0}
    async for step in steps:
        if isinstance(step, Step):
            if not lines:
                item = {"id": f"rs_{run_id}", "type": "reasoning", "summary": [], "status": "in_progress"}
                yield event("response.output_item.added", output_index=0, item=item)
                part = {"type": "summary_text", "text": ""}
                yield event("response.reasoning_summary_part.added", **thought, part=part)
            lines.append(f"{step.line}\n")
            yield event("response.reasoning_summary_text.delta", **thought, delta=lines[-1])
            continue
        before: list[dict[str, Any]] = []
        if lines:
            part = {"type": "summary_text", "text": "".join(lines)}
            before = [{"id": f"rs_{run_id}", "type": "reasoning", "summary": [part], "status": "completed"}]
            yield event("response.reasoning_summary_text.done", **thought, text=part["text"])
            yield event("response.reasoning_summary_part.done", **thought, part=part)
            yield event("response.output_item.done", output_index=0, item=before[0])
        body = _body(head, step, *before)
        message, place = body["output"][-1], len(before)
        written = {"item_id": message["id"], "output_index": place, "content_index": 0}
        item = _message(run_id, "", "in_progress")
        yield event("response.output_item.added", output_index=place, item=item)
        empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield event("response.content_part.added", **written, part=empty)
        for piece in pieces(step.shown):
            yield event("response.output_text.delta", **written, delta=piece, logprobs=[])
        yield event("response.output_text.done", **written, text=step.shown, logprobs=[])
        yield event("response.content_part.done", **written, part=message["content"][0])
        yield event("response.output_item.done", output_index=place, item=message)
        end = "response.incomplete" if body["status"] == "incomplete" else "response.completed"
        yield event(end, response=body)


def _usage(answer: Answer) -> dict[str, Any]:
    """Token counts and cost of all calls together."""
    used = answer.usage
    return {
        "input_tokens": used["input_tokens"],
        "input_tokens_details": {"cached_tokens": used["cached_tokens"]},
        "output_tokens": used["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used["input_tokens"] + used["output_tokens"],
        "cost": used["cost_usd"],
    }


def _problem(error: Mapping[str, Any]) -> ServerSentEvent:
    # `type` names the event here, and not the kind of the error.
    told = {**error["error"], "type": "error", "sequence_number": 0}
    return ServerSentEvent(json.dumps(told), event="error")
