"""OpenAI's responses: /v1/responses, and one of them by its id."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from ....core.decision import FINAL
from ....errors import NotFound
from ....protocols.shared.call_form import CALLS
from ....run.batch import failure
from ....run.result import Result
from ...requests.bounds import Document, Name, Part, Text
from ...service.run_service import RunService
from ..errors import Exact
from ..state import owner_of, page_of, service_of
from ..streaming import run_headers
from .answer import Answer
from .conversation import INSTRUCTING, Conversation, RefusedError, Turn, joined, refuse
from .exchange import Exchange
from .parts import (
    MOST_TURNS,
    Definitions,
    LenientRequest,
    MostTokens,
    Names,
    answer_schema,
    call_text,
    effort_of,
    result_turn,
    turn,
)
from .response_items import PREFIX, body_of, events, failed_events
from .response_tools import tools_of
from .tools import Tools

__all__ = ["ROUTER", "CreateResponse"]

ROUTER = APIRouter(prefix="/v1/responses", tags=["completions"])


OF_OTHERS = {
    "system": "responses have instructions",
    "reasoning_effort": "responses have reasoning.effort",
    "response_format": "responses have text.format",
    "stop": "responses have no stop sequences; chat completions have",
    "n": "a response has one answer",
    "conversation": "conversations are not stored here; previous_response_id continues a response",
}
"""Fields of other APIs, or of objects that a host stores, and what there is instead."""
LOGPROBS = "message.output_text.logprobs"


class CreateResponse(LenientRequest):
    """A request in the format of OpenAI's Responses API. model: as for /v1/chat/completions.

    input: the question, or the items of a conversation. previous_response_id: the answer that it continues.
    """

    model: Annotated[Name, Field(min_length=1)]
    input: Text | Annotated[list[Part], Field(min_length=1, max_length=MOST_TURNS, fail_fast=True)]
    instructions: Text | None = None
    previous_response_id: Annotated[str, Field(max_length=100)] | None = None
    stream: bool | None = None
    background: bool | None = None
    store: bool | None = None
    max_output_tokens: MostTokens | None = None
    max_tokens: MostTokens | None = None
    """The same by its name in chat completions, which some clients send."""
    reasoning: Document | None = None
    text: Document | None = None
    tools: Definitions = None
    tool_choice: Name | Document | None = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    metadata: Document | None = None
    truncation: Literal["auto", "disabled"] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    include: Annotated[list[Name], Field(max_length=100)] | None = None
    pnyx: Document = Field(default_factory=dict)

    def to_conversation(self) -> Conversation:
        """Return the conversation of the request alone. Raises `UsageError` for what a panel cannot do."""
        self.refuse_fields(OF_OTHERS)
        if isinstance((self.model_extra or {}).get("prompt"), Mapping):
            raise refuse("prompt", "no prompts are stored here; send its text as instructions or input")
        if self.top_logprobs or LOGPROBS in (self.include or ()):
            param = "top_logprobs" if self.top_logprobs else "include"
            raise refuse(param, "a panel has no probabilities of tokens")
        items: Sequence[Mapping[str, Any]]
        items = [{"role": "user", "content": self.input}] if isinstance(self.input, str) else self.input
        names: Names = {}
        turns = [found for item in items if (found := _turn(item, names)) is not None]
        system = [self.instructions or "", *(one.text for one in turns if one.role in INSTRUCTING)]
        return Conversation(
            model=self.model,
            instructions=tuple(filter(str.strip, system)),
            turns=tuple(one for one in turns if one.role not in INSTRUCTING),
            max_tokens=self.max_output_tokens or self.max_tokens,
            effort=effort_of((self.reasoning or {}).get("effort"), "reasoning.effort"),
            schema=answer_schema((self.text or {}).get("format"), "text.format"),
            tools=tools_of(self.tools, items, self.tool_choice, self.parallel_tool_calls),
            more=self.pnyx,
            name_of_turns="input",
        )


def _turn(item: Mapping[str, Any], names: Names) -> Turn | None:
    """The turn of an item, or None if it says nothing. names: of the calls so far; it adds to them."""
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        if role not in ("user", "assistant", *INSTRUCTING):
            raise refuse("input", "a message has the role user, assistant, system or developer")
        return turn(str(role), item.get("content"), "input")
    if not isinstance(kind, str):
        raise refuse("input", "the type of an item is text")
    if kind == "tool_search_output":
        listed = [str(one.get("name")) for one in item.get("tools") or () if isinstance(one, Mapping)]
        return result_turn("tool_search", f"These tools can be called now: {', '.join(listed)}", "input")
    if kind.endswith("_output"):
        return result_turn(names.get(_call_id(item)), _output(item.get("output")), "input")
    if kind.endswith("_call") and (found := _called(kind, item)) is not None:
        names[_call_id(item)] = found[0]
        return turn("assistant", "", "input", [found])
    return None


def _called(kind: str, item: Mapping[str, Any]) -> tuple[str, object] | None:
    """The name and the arguments of a call of a tool that the client runs; None for any other item."""
    for field in ("arguments", "input", "action", "operation"):
        if field in item:
            return str(item.get("name") or kind.removesuffix("_call")), item[field]
    return None


def _call_id(item: Mapping[str, Any]) -> str:
    return str(item.get("call_id") or item.get("id") or "")


def _output(output: object) -> object:
    """The output of a call as the content of a message; that of a shell is a list of objects without type."""
    if isinstance(output, list) and any("type" not in one for one in output if isinstance(one, Mapping)):
        return json.dumps(output, ensure_ascii=False)
    return json.dumps(output, ensure_ascii=False) if isinstance(output, Mapping) else output


@ROUTER.post("")
async def create(request: Request, body: CreateResponse) -> Response:
    """Return the panel's answer in the format of the Responses API, with the whole result in `pnyx`."""
    conversation = await _continued(request, body)
    head, numbers = dict[str, Any](), count()
    exchange = Exchange(request, conversation, lambda error: failed_events(head, error, numbers))
    run_id = await exchange.start(body.stream)
    head |= _head(run_id, int(time.time()), body.model, body)
    if body.background and not body.stream:
        return Exact({**head, "status": "in_progress"}, headers=exchange.headers(run_id))
    if not body.stream:
        return await exchange.reply(run_id, lambda answer: body_of(head, answer))
    return exchange.stream(run_id, lambda steps: events(steps, head, numbers))


@ROUTER.get("/{response_id}")
async def retrieve(request: Request, response_id: str) -> Response:
    """Return a response as it is now."""
    service, run_id = service_of(request), _run_of(response_id)
    return await _read(request, service, run_id)


@ROUTER.delete("/{response_id}")
async def delete(request: Request, response_id: str) -> Response:
    """Delete a response and its run for good."""
    row = await service_of(request).delete(_run_of(response_id), owner_of(request))
    return Exact({"id": f"{PREFIX}{row.id}", "object": "response", "deleted": True})


@ROUTER.post("/{response_id}/cancel")
async def cancel(request: Request, response_id: str) -> Response:
    """Cancel a response that is under way."""
    service = service_of(request)
    run_id = await service.cancel(_run_of(response_id), owner_of(request))
    return await _read(request, service, run_id)


async def _read(request: Request, service: RunService, run_id: str) -> Response:
    record = await service.state(run_id, owner_of(request))
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
    tools = Tools.stored(record.row.check().spec.get("client_tools", ()))
    plain = Conversation(model=head["model"], turns=(), tools=tools, more={"footer": False})
    return Exact(body_of(head, Answer.of(result, plain, page_of(request, run_id))), headers=headers)


async def _continued(request: Request, body: CreateResponse) -> Conversation:
    """The conversation of a request, after what it continues. Raises `NotFound`."""
    conversation = body.to_conversation()
    if body.previous_response_id is None:
        return conversation
    try:
        run_id = _run_of(body.previous_response_id)
        record = await service_of(request).state(run_id, owner_of(request))
    except NotFound as exc:
        raise RefusedError(str(exc), "previous_response_id", code="previous_response_not_found") from None
    by_time: dict[str, list[Turn]] = {"Earlier": [], "Since then": []}
    for one in record.row.check().spec.get("context", ()):
        when, _, role = one["label"].partition(", ")
        if when in by_time and role in ("user", "assistant", "tool"):
            by_time[when].append(Turn(role, one["text"]))
    before = [*by_time["Earlier"], Turn("user", record.document["question"]), *by_time["Since then"]]
    if answer := record.document["answer"]:
        calls = record.document["detail"].get(CALLS, ())
        written = [call_text(one["name"], one["arguments"]) for one in calls]
        before.append(Turn("assistant", joined(written) if written else answer))
    return replace(conversation, turns=(*before, *conversation.turns))


def _run_of(response_id: str) -> str:
    if not response_id.startswith(PREFIX) or len(response_id) > 60:
        raise NotFound(f"no response {response_id[:60]!r}; ids begin with {PREFIX}")
    return response_id.removeprefix(PREFIX)


def _head(run_id: str, created: int, model: str, body: CreateResponse | None = None) -> dict[str, Any]:
    """The fields of a response without its output. body: the request, if it is at hand."""
    request: Mapping[str, Any] = {} if body is None else body.model_dump()
    return {
        "id": PREFIX + run_id,
        "object": "response",
        "created_at": created,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": request.get("instructions"),
        "max_output_tokens": request.get("max_output_tokens"),
        "model": model,
        "output": [],
        "parallel_tool_calls": request.get("parallel_tool_calls") is not False,
        "previous_response_id": request.get("previous_response_id"),
        "reasoning": {"effort": (request.get("reasoning") or {}).get("effort"), "summary": None},
        "store": request.get("store") is not False,
        "temperature": request.get("temperature"),
        "text": {"format": (request.get("text") or {}).get("format") or {"type": "text"}},
        "tool_choice": request.get("tool_choice") or "auto",
        "tools": request.get("tools") or [],
        "top_p": request.get("top_p"),
        "truncation": request.get("truncation") or "disabled",
        "metadata": dict(request.get("metadata") or {}),
        "usage": None,
    }
