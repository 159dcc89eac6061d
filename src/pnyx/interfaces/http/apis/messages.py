"""Anthropic's messages: /v1/messages, /v1/messages/count_tokens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from sse_starlette import ServerSentEvent
from starlette.responses import Response

from ....core.text import estimate_tokens
from ..errors import Exact
from .answer import Answer, pieces
from .conversation import Conversation, Turn, refuse
from .exchange import Exchange, Step
from .parts import OPTIONAL, Lenient, MostTokens, Parts, answer_schema, text_of, turn

__all__ = ["ROUTER", "CountTokens", "Messages"]

ROUTER = APIRouter(prefix="/v1/messages", tags=["completions"])
STOPS = {"stop": "end_turn", "length": "max_tokens"}
"""How an answer ended -> Anthropic's word for it, if it has another one."""


class _Message(Lenient):
    role: Literal["user", "assistant", "system"]
    content: Parts

    def to_turns(self) -> Iterator[Turn]:
        """Yield the results of tools, which stand in messages of the user, and then what the user says."""
        parts = self.content if isinstance(self.content, list) else []
        results = [part for part in parts if part.get("type") == "tool_result"]
        if results:
            yield turn("tool", results, "messages")
        rest = [part for part in parts if part not in results] if results else self.content
        if rest or not results:
            yield turn(self.role, rest, "messages")


class CountTokens(Lenient):
    """A request whose tokens are counted."""

    model: Annotated[str, Field(min_length=1, max_length=400)]
    messages: Annotated[list[_Message], Field(min_length=1, max_length=1000, fail_fast=True)]
    system: Parts = None
    tools: Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    tool_choice: Mapping[str, Any] | None = None
    pnyx: Mapping[str, Any] = Field(default_factory=dict)

    def to_conversation(self) -> Conversation:
        """Return the conversation. Raises `UsageError` for what a panel cannot do."""
        if (self.tool_choice or {}).get("type", OPTIONAL[0]) not in OPTIONAL:
            raise refuse("tool_choice", "must be auto or none: the panel answers in text and calls no tools")
        system = [text_of(self.system, "system")[0]]
        system += [text_of(one.content, "messages")[0] for one in self.messages if one.role == "system"]
        return Conversation(
            model=self.model,
            instructions=tuple(filter(str.strip, system)),
            turns=tuple(one for m in self.messages if m.role != "system" for one in m.to_turns()),
            more=self.pnyx,
        )


class Messages(CountTokens):
    """A request in Anthropic's format. model: as for /v1/chat/completions. max_tokens: of the answer.

    output_config: `format` of the answer, and `effort`.
    """

    max_tokens: MostTokens
    stream: bool | None = None
    stop_sequences: Annotated[list[str], Field(max_length=16)] | None = None
    thinking: Mapping[str, Any] | None = None
    output_config: Mapping[str, Any] | None = None
    output_format: Mapping[str, Any] | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None

    def to_conversation(self) -> Conversation:
        """Return the conversation. Raises `UsageError` for what a panel cannot do."""
        config = self.output_config or {}
        effort = config.get("effort")
        schema = answer_schema(config.get("format"), "output_config.format")
        return replace(
            super().to_conversation(),
            max_tokens=self.max_tokens,
            stop=tuple(self.stop_sequences or ()),
            effort=effort if isinstance(effort, str) else None,
            # The name of the field while the feature was in beta; clients still send it.
            schema=schema or answer_schema(self.output_format, "output_format"),
        )


@ROUTER.post("")
async def create(request: Request, message: Messages) -> Response:
    """Return the panel's answer in Anthropic's format, with the whole result in `pnyx`."""
    exchange = Exchange(request, message.to_conversation(), _problem)
    run_id = await exchange.start()
    head = {"id": f"msg_{run_id}", "type": "message", "role": "assistant", "model": message.model}
    if not message.stream:
        return await exchange.reply(run_id, lambda answer: _body(head, answer))
    return exchange.stream(run_id, lambda steps: _events(steps, head))


@ROUTER.post("/count_tokens")
async def count_tokens(body: CountTokens) -> Response:
    """Estimate the tokens of a request from above, at two bytes each. Nothing is sent."""
    conversation = body.to_conversation()
    texts = [
        *conversation.instructions,
        *(one.text for one in conversation.turns),
        json.dumps(body.tools or []),
    ]
    return Exact({"input_tokens": sum(estimate_tokens(text) for text in texts)})


def _body(head: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    end = {"stop_reason": STOPS.get(answer.finish, answer.finish), "stop_sequence": answer.stopped_at}
    content = [{"type": "text", "text": answer.shown, "citations": None}]
    return {**head, "content": content, **end, "usage": _usage(answer), "pnyx": answer.result.to_json()}


async def _events(
    steps: AsyncIterator[Step | Answer], head: Mapping[str, Any]
) -> AsyncIterator[ServerSentEvent]:
    """Steps as a block of thinking, then the answer as a block of text."""
    nothing = {"input_tokens": 0, "output_tokens": 0}
    start = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": nothing}
    yield _event("message_start", message=start)
    yield _event("ping")
    thinking = False
    async for step in steps:
        if isinstance(step, Step):
            if not thinking:
                block = {"type": "thinking", "thinking": "", "signature": ""}
                yield _event("content_block_start", index=0, content_block=block)
                thinking = True
            delta = {"type": "thinking_delta", "thinking": f"{step.line}\n"}
            yield _event("content_block_delta", index=0, delta=delta)
            continue
        if thinking:
            signature = {"type": "signature_delta", "signature": step.result.run_id}
            yield _event("content_block_delta", index=0, delta=signature)
            yield _event("content_block_stop", index=0)
        place = int(thinking)
        yield _event("content_block_start", index=place, content_block={"type": "text", "text": ""})
        for piece in pieces(step.shown):
            yield _event("content_block_delta", index=place, delta={"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=place)
        end = {"stop_reason": STOPS.get(step.finish, step.finish), "stop_sequence": step.stopped_at}
        yield _event("message_delta", delta=end, usage=_usage(step), pnyx=step.result.to_json())
        yield _event("message_stop")


def _event(type: str, **fields: Any) -> ServerSentEvent:
    return ServerSentEvent(json.dumps({"type": type, **fields}), event=type)


def _usage(answer: Answer) -> dict[str, Any]:
    """Token counts and cost of all calls together; `input_tokens` are those that no cache had."""
    used = answer.usage
    return {
        "input_tokens": used["input_tokens"] - used["cached_tokens"],
        "cache_read_input_tokens": used["cached_tokens"],
        "cache_creation_input_tokens": 0,
        "output_tokens": used["output_tokens"],
        "cost": used["cost_usd"],
    }


def _problem(error: Mapping[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(json.dumps(error), event="error")
