"""Anthropic's messages: /v1/messages, /v1/messages/count_tokens."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from ....core.caching.regex import regex
from ....core.text import estimate_tokens
from ....core.tool_calls import ANY, AUTO, NONE
from ...requests.bounds import Document, Name
from ..errors import Exact
from ..streaming import ServerSentEvent
from .answer import Answer, cut
from .conversation import Conversation, Turn, refuse
from .exchange import Delta, Exchange, Step, Steps
from .parts import (
    MOST_TURNS,
    Definitions,
    Lenient,
    LenientRequest,
    MostTokens,
    Names,
    Parts,
    StopText,
    answer_schema,
    content_of,
    effort_of,
    result_turn,
    turn,
)
from .tools import Choice, Tool, Tools, builtin, chosen_name, each, function

__all__ = ["ROUTER", "CountTokens", "Messages"]

ROUTER = APIRouter(prefix="/v1/messages", tags=["completions"])
STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
"""How an answer ended -> Anthropic's word for it, if it has another one."""
MODES = {AUTO: AUTO, NONE: NONE, "any": ANY, "tool": ANY}
"""Anthropic's choices of tools -> those of a request."""
ARGUMENTS = 400
"""About how many characters of a call's arguments are sent at once."""
_ASIDE = regex(r"\s*(?:<(?P<tag>[\w-]+)(?: [^<>]*)?>.*?</(?P=tag)>\s*)+", re.DOTALL)
"""Text in nothing but tags: what a client adds to results, and nobody asks."""
_VERSION = regex(r"_\d{8}\Z")


class _Message(Lenient):
    role: Literal["user", "assistant", "system"]
    content: Parts

    def to_turns(self, names: Names) -> Iterator[Turn]:
        """Yield the results of tools, which stand in messages of the user, and then what the user says.

        names: of the calls so far, to which it adds its own.
        """
        parts = self.content if isinstance(self.content, list) else []
        names.update(
            {str(one.get("id")): str(one.get("name")) for one in parts if one.get("type") == "tool_use"}
        )
        results = [part for part in parts if part.get("type") == "tool_result"]
        for one in results:
            name, failed = names.get(str(one.get("tool_use_id"))), one.get("is_error") is True
            yield result_turn(name, one.get("content"), "messages", failed=failed)
        rest = [part for part in parts if part not in results] if results else self.content
        if rest or not results:
            one_turn = turn(self.role, rest, "messages")
            yield replace(one_turn, aside=bool(results and _ASIDE.fullmatch(one_turn.text)))


THINKING = ("enabled", "disabled", "adaptive")
LEAST_THINKING = 1024
"""Tokens; fewer are refused by the API itself."""
OF_OTHERS = {
    "instructions": "there is system",
    "max_completion_tokens": "there is max_tokens",
    "max_output_tokens": "there is max_tokens",
    "reasoning_effort": "there is output_config.effort",
    "response_format": "there is output_config.format",
    "stop": "there are stop_sequences",
    "n": "a message has one answer",
    "container": "a panel runs no code in a container",
}
"""Fields of other APIs, or of what a host runs, that would change the answer, and what there is instead."""


class CountTokens(LenientRequest):
    """A request whose tokens are counted."""

    model: Annotated[Name, Field(min_length=1)]
    messages: Annotated[list[_Message], Field(min_length=1, max_length=MOST_TURNS, fail_fast=True)]
    system: Parts = None
    tools: Definitions = None
    tool_choice: Document | None = None
    mcp_servers: Definitions = None
    pnyx: Document = Field(default_factory=dict)

    def to_conversation(self) -> Conversation:
        """Return the conversation. Raises `UsageError` for what a panel cannot do."""
        names: Names = {}
        found = content_of(self.system, "system")
        if found.media or found.files:
            raise refuse("system", "must be text")
        system = [found.text]
        system += [content_of(one.content, "messages").text for one in self.messages if one.role == "system"]
        return Conversation(
            model=self.model,
            instructions=tuple(filter(str.strip, system)),
            turns=tuple(one for m in self.messages if m.role != "system" for one in m.to_turns(names)),
            tools=_tools(self.tools, self.tool_choice or {}, bool(self.mcp_servers)),
            more=self.pnyx,
        )


class Messages(CountTokens):
    """A request in Anthropic's format. model: as for /v1/chat/completions. max_tokens: of the answer.

    output_config: `format` of the answer, and `effort`. thinking: its most tokens in each call of the panel.
    """

    max_tokens: MostTokens
    stream: bool | None = None
    stop_sequences: Annotated[list[StopText], Field(max_length=16)] | None = None
    thinking: Document | None = None
    output_config: Document | None = None
    output_format: Document | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None

    def to_conversation(self) -> Conversation:
        """Return the conversation. Raises `UsageError` for what a panel cannot do."""
        self.refuse_fields(OF_OTHERS)
        if any(not one.strip() for one in self.stop_sequences or ()):
            raise refuse("stop_sequences", "each must have a character that is no white space")
        config = self.output_config or {}
        schema = answer_schema(config.get("format"), "output_config.format")
        return replace(
            super().to_conversation(),
            max_tokens=self.max_tokens,
            stop=tuple(self.stop_sequences or ()),
            effort=effort_of(config.get("effort"), "output_config.effort"),
            thinking_tokens=_thinking_tokens(self.thinking or {}),
            # The name of the field while the feature was in beta; clients still send it.
            schema=schema or answer_schema(self.output_format, "output_format"),
        )


def _thinking_tokens(thinking: Mapping[str, Any]) -> int | None:
    """How many tokens a model may think; None if nothing says it. Raises `RefusedError`."""
    kind, budget = thinking.get("type"), thinking.get("budget_tokens")
    if thinking and kind not in THINKING:
        raise refuse("thinking.type", f"must be one of {', '.join(THINKING)}, not {str(kind)[:40]!r}")
    if kind == "enabled" and not (isinstance(budget, int) and budget >= LEAST_THINKING):
        raise refuse("thinking.budget_tokens", f"must be a whole number, at least {LEAST_THINKING}")
    return budget if kind == "enabled" else 0 if kind == "disabled" else None


def _tools(
    tools: Sequence[Mapping[str, Any]] | None, choice: Mapping[str, Any], has_servers: bool
) -> Tools | None:
    """The tools of a request, None without any. has_servers: whether a host would add those of MCP servers.

    Raises `RefusedError`.
    """
    kind = choice.get("type", AUTO)
    if kind not in MODES:
        raise refuse("tool_choice.type", f"must be auto, any, none or tool, not {str(kind)[:40]!r}")
    if not tools and not has_servers and kind in (AUTO, NONE):
        return None
    names = (chosen_name(choice, "tool_choice.name"),) if kind == "tool" else ()
    parallel = False if choice.get("disable_parallel_tool_use") is True else None
    found = [*each(tools, _read), *(["mcp_servers"] if has_servers else [])]
    return Tools.of(found, Choice(MODES[kind], names), parallel)


def _read(document: Mapping[str, Any], param: str) -> Iterable[Tool | str]:
    kind = document.get("type") or "custom"
    if kind == "custom":
        return [function(document, param, "input_schema")]
    name = document.get("name")
    found = builtin(_VERSION.sub("", str(kind)), param, name if isinstance(name, str) else None)
    # A tool that is left out is called by its name in a choice.
    return [found if isinstance(found, Tool) else str(name or kind)]


@ROUTER.post("")
async def create(request: Request, message: Messages) -> Response:
    """Return the panel's answer in Anthropic's format, with the whole result in `pnyx`."""
    exchange = Exchange(request, message.to_conversation(), _problem)
    run_id = await exchange.start(message.stream)
    head = {"id": f"msg_{run_id}", "type": "message", "role": "assistant", "model": message.model}
    if not message.stream:
        return await exchange.reply(run_id, lambda answer: _body(head, answer))
    return exchange.stream(run_id, lambda steps: _events(steps, head))


@ROUTER.post("/count_tokens")
async def count_tokens(body: CountTokens) -> Response:
    """Estimate the tokens of a request from above. Nothing is sent."""
    conversation = body.to_conversation()
    texts = [
        *conversation.instructions,
        *(one.text for one in conversation.turns),
        json.dumps(body.tools or []),
    ]
    return Exact({"input_tokens": sum(estimate_tokens(text) for text in texts)})


def _body(head: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    end = {"stop_reason": STOPS.get(answer.finish, answer.finish), "stop_sequence": answer.stopped_at}
    content: list[dict[str, Any]] = []
    if answer.shown or not answer.calls:
        content.append({"type": "text", "text": answer.shown, "citations": None})
    for call in answer.calls:
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)})
    return {**head, "content": content, **end, "usage": _usage(answer), "pnyx": answer.result.to_json()}


async def _events(steps: Steps, head: Mapping[str, Any]) -> AsyncIterator[ServerSentEvent]:
    """Steps as a block of thinking, then the answer as a block of text, and each call as a block."""
    nothing = {"input_tokens": 0, "output_tokens": 0}
    start = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": nothing}
    yield _event("message_start", message=start)
    yield _event("ping")
    thinking = writing = False
    place = 0
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
            signature = {"type": "signature_delta", "signature": str(head["id"]).removeprefix("msg_")}
            yield _event("content_block_delta", index=0, delta=signature)
            yield _event("content_block_stop", index=0)
            thinking, place = False, 1
        if isinstance(step, Delta):
            if not writing:
                yield _event("content_block_start", index=place, content_block={"type": "text", "text": ""})
                writing = True
            yield _event("content_block_delta", index=place, delta={"type": "text_delta", "text": step.text})
            continue
        blocks = _body(head, step)["content"]
        if writing:
            yield _event("content_block_stop", index=place)
            blocks, place = blocks[1:], place + 1
        for n, block in enumerate(blocks, place):
            for event in _block(n, block):
                yield event
        end = {"stop_reason": STOPS.get(step.finish, step.finish), "stop_sequence": step.stopped_at}
        yield _event("message_delta", delta=end, usage=_usage(step), pnyx=step.result.to_json())
        yield _event("message_stop")


def _block(place: int, block: Mapping[str, Any]) -> Iterator[ServerSentEvent]:
    """The events of an empty block of text, or of a call."""
    if block["type"] == "text":
        begun: dict[str, Any] = {"type": "text", "text": ""}
        deltas: list[dict[str, str]] = []
    else:
        begun, written = {**block, "input": {}}, json.dumps(block["input"], ensure_ascii=False)
        deltas = [
            {"type": "input_json_delta", "partial_json": piece} for piece in ("", *cut(written, ARGUMENTS))
        ]
    yield _event("content_block_start", index=place, content_block=begun)
    for delta in deltas:
        yield _event("content_block_delta", index=place, delta=delta)
    yield _event("content_block_stop", index=place)


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


def _problem(error: Mapping[str, Any]) -> Sequence[ServerSentEvent]:
    return [ServerSentEvent(json.dumps(error), event="error")]
