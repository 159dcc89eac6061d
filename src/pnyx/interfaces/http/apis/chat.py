"""OpenAI's chat completions and completions: /v1/chat/completions, /v1/completions."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from ...requests.bounds import Document, Name, Text
from ..streaming import ServerSentEvent
from .answer import Answer, cut
from .chat_tools import calls_in, legacy_tools, tools_of, written
from .conversation import INSTRUCTING, Conversation, Turn, refuse
from .exchange import Delta, Exchange, Step, Steps
from .parts import (
    MOST_TURNS,
    Definitions,
    Lenient,
    LenientRequest,
    MostTokens,
    Names,
    Parts,
    Stop,
    answer_schema,
    effort_of,
    result_turn,
    sequences,
    turn,
)

__all__ = ["ROUTER", "Completion", "LegacyCompletion"]

ROUTER = APIRouter(prefix="/v1", tags=["completions"])
FINISHES = {"stop_sequence": "stop"}
"""How an answer ended -> OpenAI's word for it, if it has another one."""
ARGUMENTS = 400
"""About how many characters of a call's arguments are sent at once."""


class Message(Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Parts = None
    name: Name | None = None
    tool_calls: Definitions = None
    function_call: Document | None = None
    tool_call_id: Name | None = None

    def to_turn(self, names: Names) -> Turn:
        """Return the turn. names: of the calls so far, to which it adds its own."""
        if self.role in ("tool", "function"):
            return result_turn(names.get(self.tool_call_id or "") or self.name, self.content, "messages")
        found = calls_in(self.tool_calls, self.function_call)
        names.update({id: str(name) for id, name, _ in found if id})
        return turn(self.role, self.content, "messages", [call[1:] for call in found])


class StreamOptions(Lenient):
    include_usage: bool | None = None


Penalty = Annotated[float, Field(ge=-2, le=2)]
Bias = Annotated[float, Field(ge=-100, le=100)]


class _Common(LenientRequest):
    model: Annotated[Name, Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    stop: Stop = None
    max_tokens: MostTokens | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: Annotated[dict[Name, Bias], Field(max_length=10_000)] | None = None
    pnyx: Document = Field(default_factory=dict)


OF_OTHERS = {
    "instructions": "chat completions have a message with the role system",
    "system": "chat completions have a message with the role system",
    "max_output_tokens": "chat completions have max_completion_tokens",
    "stop_sequences": "chat completions have stop",
    "output_config": "chat completions have response_format",
}
"""Fields of other APIs that would change the answer, and what there is instead."""


class Completion(_Common):
    """A request in OpenAI's format. model: `pnyx/PROTOCOL`, such as `pnyx/council:quick,rounds=2`, or a name
    from `[serve.models]`.

    System and developer messages instruct the panel; the last message of the user is the question; the others
    are material. `temperature` and `top_p` are the panel's own. pnyx: further run options, as for /v1/runs,
    and `footer`.
    """

    messages: Annotated[list[Message], Field(min_length=1, max_length=MOST_TURNS, fail_fast=True)]
    max_completion_tokens: MostTokens | None = None
    reasoning_effort: Name | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    response_format: Document | None = None
    modalities: Annotated[list[Name], Field(max_length=16)] | None = None
    tools: Definitions = None
    tool_choice: Name | Document | None = None
    parallel_tool_calls: bool | None = None
    functions: Definitions = None
    function_call: Name | Document | None = None

    @property
    def is_legacy(self) -> bool:
        """Whether it has functions as requests had before tools."""
        return bool(self.functions) and not self.tools

    def to_conversation(self) -> Conversation:
        """Return the conversation. Raises `UsageError` for what a panel cannot do."""
        self.refuse_fields(OF_OTHERS)
        if self.logprobs or self.top_logprobs:
            raise refuse("logprobs", "a panel has no probabilities of tokens")
        if self.modalities and set(self.modalities) != {"text"}:
            raise refuse("modalities", "a panel answers in text")
        tools = (
            legacy_tools(self.functions, self.function_call)
            if self.is_legacy
            else tools_of(self.tools, self.tool_choice, self.parallel_tool_calls)
        )
        names: Names = {}
        turns = [message.to_turn(names) for message in self.messages]
        return Conversation(
            model=self.model,
            instructions=tuple(one.text for one in turns if one.role in INSTRUCTING and one.text.strip()),
            turns=tuple(one for one in turns if one.role not in INSTRUCTING),
            max_tokens=self.max_completion_tokens or self.max_tokens,
            stop=sequences(self.stop),
            seed=self.seed,
            effort=effort_of(self.reasoning_effort, "reasoning_effort"),
            schema=answer_schema(self.response_format, "response_format"),
            tools=tools,
            more=self.pnyx,
        )


class LegacyCompletion(_Common):
    """A request for a text without roles. prompt: the question."""

    prompt: Text | Annotated[list[Text], Field(min_length=1, max_length=1)]
    echo: bool | None = None
    logprobs: int | None = None
    suffix: Text | None = None
    best_of: Annotated[int, Field(ge=1, le=1)] | None = None

    def to_conversation(self) -> Conversation:
        """Return the conversation. Raises `UsageError` for what a panel cannot do."""
        if self.logprobs is not None:
            raise refuse("logprobs", "a panel has no probabilities of tokens")
        if self.suffix:
            raise refuse("suffix", "a panel answers a question and fills no gaps in a text")
        if self.echo:
            raise refuse("echo", "must be false")
        prompt = self.prompt if isinstance(self.prompt, str) else self.prompt[0]
        return Conversation(
            model=self.model,
            turns=(Turn("user", prompt),),
            max_tokens=self.max_tokens,
            stop=sequences(self.stop),
            seed=self.seed,
            more={"footer": False, **self.pnyx},
            name_of_turns="prompt",
        )


@ROUTER.post("/chat/completions")
async def complete(request: Request, completion: Completion) -> Response:
    """Return the panel's answer in OpenAI's format, with the whole result in `pnyx`.

    If the client disconnects and does not come back, the run is cancelled.
    """
    return await _answer(request, completion, _LEGACY_CHAT if completion.is_legacy else _CHAT)


@ROUTER.post("/completions")
async def complete_text(request: Request, completion: LegacyCompletion) -> Response:
    """Return the panel's answer to a prompt without roles."""
    return await _answer(request, completion, _TEXT)


class _Form:
    """The form of a completion: of a chat, or of a text."""

    has_roles = True
    finishes: Mapping[str, str] = FINISHES

    def __init__(self, prefix: str, kind: str, chunk: str) -> None:
        self.prefix, self.kind, self.chunk = prefix, kind, chunk

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The choice of a completion."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.shown, "refusal": None}
        if answer.calls:
            message |= {"content": answer.shown or None, **self.calls(answer)}
        return {"index": 0, "message": message, "finish_reason": self.finish(answer), "logprobs": None}

    def finish(self, answer: Answer) -> str:
        return self.finishes.get(answer.finish, answer.finish)

    def calls(self, answer: Answer) -> dict[str, Any]:
        """The calls of a message."""
        return {"tool_calls": [written(call) for call in answer.calls]}

    def call_parts(self, answer: Answer) -> Iterator[dict[str, Any]]:
        """The deltas of the calls: of each its name, and then its arguments in pieces."""
        for place, call in enumerate(answer.calls):
            begun = written(call, "")
            yield {"tool_calls": [{"index": place, **begun}]}
            kind, field = begun["type"], "input" if call.is_text else "arguments"
            for piece in cut(call.input, ARGUMENTS):
                yield {"tool_calls": [{"index": place, kind: {field: piece}}]}

    def part(self, finish: str | None = None, **delta: Any) -> dict[str, Any]:
        return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


class _LegacyForm(_Form):
    """The form of a chat whose request has functions: the answer has one call."""

    finishes: Mapping[str, str] = MappingProxyType({**FINISHES, "tool_calls": "function_call"})

    def calls(self, answer: Answer) -> dict[str, Any]:
        call = answer.calls[0]
        return {"function_call": {"name": call.name, "arguments": call.input}}

    def call_parts(self, answer: Answer) -> Iterator[dict[str, Any]]:
        call = answer.calls[0]
        yield {"function_call": {"name": call.name, "arguments": ""}}
        for piece in cut(call.input, ARGUMENTS):
            yield {"function_call": {"arguments": piece}}


class _TextForm(_Form):
    has_roles = False

    def whole(self, answer: Answer) -> dict[str, Any]:
        return {"index": 0, "text": answer.shown, "finish_reason": self.finish(answer), "logprobs": None}

    def part(self, finish: str | None = None, **delta: Any) -> dict[str, Any]:
        return {"index": 0, "text": delta.get("content", ""), "finish_reason": finish, "logprobs": None}


_CHAT = _Form("chatcmpl-", "chat.completion", "chat.completion.chunk")
_LEGACY_CHAT = _LegacyForm(_CHAT.prefix, _CHAT.kind, _CHAT.chunk)
_TEXT = _TextForm("cmpl-", "text_completion", "text_completion")


async def _answer(request: Request, completion: Completion | LegacyCompletion, form: _Form) -> Response:
    exchange = Exchange(request, completion.to_conversation(), _problem)
    run_id = await exchange.start(completion.stream)
    head = {"id": form.prefix + run_id, "created": int(time.time()), "model": completion.model}
    if not completion.stream:
        return await exchange.reply(run_id, lambda answer: _body({**head, "object": form.kind}, answer, form))
    counts = bool(completion.stream_options and completion.stream_options.include_usage)

    def write(steps: Steps) -> AsyncIterator[ServerSentEvent]:
        return _chunks(steps, {**head, "object": form.chunk}, form, counts)

    return exchange.stream(run_id, write)


def _body(head: Mapping[str, Any], answer: Answer, form: _Form) -> dict[str, Any]:
    return {**head, "choices": [form.whole(answer)], "usage": _usage(answer), "pnyx": answer.result.to_json()}


async def _chunks(
    steps: Steps, head: Mapping[str, Any], form: _Form, counts: bool
) -> AsyncIterator[ServerSentEvent]:
    """Steps as reasoning, then the answer in pieces, the end, the usage if it `counts`, and `[DONE]`."""

    def chunk(choices: Sequence[Mapping[str, Any]], **more: Any) -> ServerSentEvent:
        return ServerSentEvent(json.dumps({**head, "choices": choices, **more}))

    if form.has_roles:
        yield chunk([form.part(role="assistant", content="")])
    async for step in steps:
        if isinstance(step, Step):
            if form.has_roles:
                yield chunk([form.part(reasoning_content=f"{step.line}\n")])
            continue
        if isinstance(step, Delta):
            yield chunk([form.part(content=step.text)])
            continue
        for delta in form.call_parts(step):
            yield chunk([form.part(**delta)])
        yield chunk([form.part(form.finish(step))], pnyx=step.result.to_json())
        if counts:
            yield chunk([], usage=_usage(step))
        yield ServerSentEvent("[DONE]")


def _usage(answer: Answer) -> dict[str, Any]:
    """Token counts and cost of all calls together."""
    used = answer.usage
    return {
        "prompt_tokens": used["input_tokens"],
        "completion_tokens": used["output_tokens"],
        "total_tokens": used["input_tokens"] + used["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": used["cached_tokens"]},
        "cost": used["cost_usd"],
    }


def _problem(error: Mapping[str, Any]) -> Sequence[ServerSentEvent]:
    return [ServerSentEvent(json.dumps(error))]
