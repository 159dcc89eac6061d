"""Hosted models, over pydantic-ai's direct requests.

Importing this module loads an HTTP client and pydantic-ai, so import it where a hosted model is opened. An
SDK is imported when a provider of its kind is opened. All retries are off; `pnyx.run` retries.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any, Literal, TypedDict, cast

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
    UserError,
)
from pydantic_ai.messages import (
    INVALID_JSON_KEY,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponseStreamEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    WebCitationSource,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.native_tools import AbstractNativeTool, WebSearchTool
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ...core.lru import LRU
from ...core.models import Usage
from ...errors import ProviderError
from ..base import Call, Completion, ToolCall
from .dialects import DIALECTS, Dialect
from .http_errors import plain
from .transport import WIRE, Transport, Wire

__all__ = ["HostedProvider", "open_hosted"]

BREAK = "\n\n"
MODELS = 256
"""Model objects that a provider keeps; making one anew is cheap."""
_BY_HOST = (NativeToolCallPart, NativeToolReturnPart)


def open_hosted(kind: str, *, base_url: str, api_key: str | None = None) -> HostedProvider:
    """A provider that speaks the dialect of `kind`, a key of `DIALECTS`. api_key: None sends none."""
    return HostedProvider(DIALECTS[kind], base_url, api_key)


class _Direct(TypedDict):
    """The arguments of a direct request."""

    model: Model[Any]
    messages: list[ModelMessage]
    model_settings: ModelSettings
    model_request_parameters: ModelRequestParameters


class HostedProvider:
    """One configured host; see `pnyx.providers.base.Provider`. It keeps connections open until `close`."""

    def __init__(self, dialect: Dialect, base_url: str, api_key: str | None) -> None:
        self._dialect = dialect
        self._secrets = (api_key,) if api_key else ()
        self._client = httpx2.AsyncClient(
            transport=Transport(base_url, dialect.meter),
            timeout=None,
            headers={"Accept-Encoding": "gzip, deflate"},
        )
        # Some SDKs refuse to start without a key, which hosts at home do not ask for.
        self._make = dialect.open(base_url.rstrip("/"), api_key or "none", self._client)
        self._models = LRU[str, Model[Any]](MODELS, make=self._make)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        """The reply to `call`. Raises `ProviderError`, and nothing else that the host could cause."""
        if on_text is None:
            with self._errors(call) as wire:
                return self._completion(call, await model_request(**self._request(call)), wire)
        async with aclosing(self._stream(call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    return piece
                on_text(piece)
        raise AssertionError("a stream ends with its completion or an error")

    async def searches(self, model: str) -> bool:
        try:
            able = self._model(model).profile.get("supported_native_tools", ())
        except UserError:
            return False  # there can be no model of that name, which asking it will tell
        return self._dialect.searches != "none" and WebSearchTool in able

    async def close(self) -> None:
        await self._client.aclose()

    async def _stream(self, call: Call) -> AsyncGenerator[str | Completion]:
        """The text in pieces, then the completion."""
        with self._errors(call) as wire:
            async with model_request_stream(**self._request(call)) as stream:
                size = 0
                broken = False
                async for event in stream:
                    if isinstance(event, PartStartEvent) and isinstance(event.part, _BY_HOST):
                        broken = size > 0
                    if text := _spoken(event):
                        text, broken = (BREAK + text if broken else text), False
                        size += len(text)
                        if size > wire.max_answer:
                            raise ProviderError(
                                "malformed", f"the answer is over {wire.max_answer} characters", billed=True
                            )
                        yield text
                response = stream.get()
            # Only a finish reason from the host tells that nothing is missing; pydantic-ai fills in its own.
            if response.finish_reason != "content_filter" and "finish_reason" not in (
                response.provider_details or {}
            ):
                raise ProviderError("truncated", "the stream ended before the answer did", billed=True)
            yield self._completion(call, response, wire)

    def _request(self, call: Call) -> _Direct:
        model = self._model(call.model)
        settings = ModelSettings(max_tokens=call.max_tokens)
        if call.temperature is not None:
            settings["temperature"] = call.temperature
        if call.seed is not None:
            settings["seed"] = call.seed
        if call.searches and model.profile.get("anthropic_supports_dynamic_filtering"):
            # Else programs that the model writes read what was found, and nothing of it is cited.
            own = {**settings, "anthropic_web_tools_allowed_callers": ["direct"]}
            settings = cast(ModelSettings, own)
        return _Direct(
            model=model,
            messages=_messages(call),
            model_settings=settings,
            model_request_parameters=_parameters(call, model),
        )

    def _model(self, name: str) -> Model[Any]:
        return self._models[name]

    def _completion(self, call: Call, response: ModelResponse, wire: Wire) -> Completion:
        meter = self._dialect.meter
        completion = _completion(response, meter.usage(wire.reports))
        if not call.searches:
            return completion
        told = meter.searches(wire.reports)
        if told is None and self._dialect.searches == "shown":
            told = _shown(response)
        return replace(completion, searches=told, sources=_cited(response))

    @contextmanager
    def _errors(self, call: Call) -> Iterator[Wire]:
        wire = Wire.of(call.max_tokens, call.timeout_s, call.searches)
        token = WIRE.set(wire)
        try:
            yield wire
            if wire.failure is not None:
                raise wire.failure
        except Exception as exc:
            error = exc if isinstance(exc, ProviderError) else _explain(exc, wire)
            message = plain(str(error), self._secrets)
            # The SDK's own exception may quote the request with its key, so it is not chained.
            raise ProviderError(
                error.kind, message, retry_after=error.retry_after, billed=error.billed
            ) from None
        finally:
            WIRE.reset(token)


_TOLD_IN_STREAM: tuple[tuple[type[ModelAPIError], str], ...] = (
    (ModelRateLimitError, "rate_limited"),
    (ModelUnavailableError, "overloaded"),
    (ModelServerError, "overloaded"),
    (ModelContextWindowExceededError, "too_long"),
    (ModelAuthenticationError, "auth"),
    (ModelNotFoundError, "not_found"),
    (ModelQuotaExceededError, "refused"),
    (ModelRequestRejectedError, "refused"),
)
"""Kinds of the error events inside a stream that began well; the first that fits holds."""


def _explain(exc: Exception, wire: Wire) -> ProviderError:
    """What went wrong, from the wire where it shows there, else from what an SDK could not read."""
    if wire.failure is not None:
        return wire.failure
    for category, kind in _TOLD_IN_STREAM:
        if isinstance(exc, category):
            return ProviderError(kind, f"the host broke off: {exc}", billed=True)
    if wire.cut:
        return ProviderError("truncated", "the stream ended inside an event", billed=True)
    if not wire.sent:
        return ProviderError("refused", f"the request cannot be made: {exc}")
    return ProviderError("malformed", f"unreadable answer: {type(exc).__name__}: {exc}", billed=True)


def _messages(call: Call) -> list[ModelMessage]:
    turns: list[ModelMessage] = []
    for message in call.messages:
        text = _sendable(message.text)
        if message.role == "assistant":
            texts = [TextPart(text)] if text else []
            calls = [ToolCallPart(t.name, dict(t.arguments), t.id) for t in message.tool_calls]
            turns.append(ModelResponse(parts=[*texts, *calls]))
            continue
        part: ModelRequestPart
        if message.role == "system":
            part = SystemPromptPart(text)
        elif message.role == "user":
            part = UserPromptPart(text)
        else:
            part = ToolReturnPart(message.tool_name, text, message.tool_call_id)
        if turns and isinstance(turns[-1], ModelRequest):
            turns[-1].parts = [*turns[-1].parts, part]
        else:
            turns.append(ModelRequest(parts=[part]))
    return turns


def _sendable(text: str) -> str:
    """`text` with U+FFFD for half characters, which a model may write but no request can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _parameters(call: Call, model: Model[Any]) -> ModelRequestParameters:
    tools = [
        ToolDefinition(name=t.name, description=t.description, parameters_json_schema=dict(t.parameters))
        for t in call.tools
    ]
    search: list[AbstractNativeTool] = []
    if call.searches:
        limited = WebSearchTool(max_uses=call.searches)
        search = [WebSearchTool() if model.unsupported_native_tool_settings(limited) else limited]
        if not model.profile.get("google_supports_tool_combination", True):
            tools = []
    if call.schema is None:
        return ModelRequestParameters(function_tools=tools, native_tools=search)
    return ModelRequestParameters(
        function_tools=tools,
        native_tools=search,
        output_mode="native" if model.profile.get("supports_json_schema_output") else "prompted",
        output_object=OutputObjectDefinition(call.schema.document, name=call.schema.name),
    )


def _spoken(event: ModelResponseStreamEvent) -> str:
    """The piece of the answer's text in an event; thoughts are none."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _shown(response: ModelResponse) -> int:
    """How many searches the host made, as far as its answer shows; Google's are counted as it bills them."""
    calls = [part.tool_name for part in response.parts if isinstance(part, NativeToolCallPart)]
    return int(getattr(response.usage, "web_searches", calls.count(WebSearchTool.kind)))


def _cited(response: ModelResponse) -> tuple[str, ...]:
    """The addresses that the text cites, each once."""
    texts = (part for part in response.parts if isinstance(part, TextPart))
    sources = (source for part in texts for cited in part.citations or () for source in cited.sources)
    return tuple(dict.fromkeys(s.url for s in sources if isinstance(s, WebCitationSource)))


def _text(response: ModelResponse) -> str:
    """What was said, with a break where the host searched in between: nothing else parts the two texts."""
    said: list[str] = []
    broken = False
    for part in response.parts:
        if isinstance(part, TextPart):
            said += [BREAK, part.content] if broken and part.content else [part.content]
            broken = broken and not part.content
        elif isinstance(part, _BY_HOST):
            broken = any(said)
    return "".join(said)


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    """What the model wrote for the tool; where that is no JSON object of finite numbers, its text."""
    found = part.args_as_dict()
    try:
        # No record could hold an infinite number, nor one of more digits than Python writes.
        json.dumps(found, allow_nan=False)
    except ValueError:
        return {INVALID_JSON_KEY: part.args if isinstance(part.args, str) else repr(part.args)}
    return found


def _completion(response: ModelResponse, usage: Usage | None) -> Completion:
    text = _text(response)
    calls = tuple(
        ToolCall(part.tool_call_id, part.tool_name, _arguments(part))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    if response.finish_reason == "error" or (response.finish_reason is None and not response.parts):
        raise ProviderError("malformed", "the host sent no answer", billed=True)
    finish: Literal["stop", "length", "filter", "tool"] = "stop"
    if response.finish_reason == "content_filter":
        finish = "filter"
        text = text or str((response.provider_details or {}).get("refusal", ""))
    elif response.finish_reason == "length" or response.state == "suspended":
        finish = "length"
    elif calls:
        finish = "tool"
    return Completion(text, usage, finish, calls, response.model_name or "")
