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
from .http_errors import one_line
from .transport import WIRE, Transport, Wire

__all__ = ["HostedProvider", "open_hosted"]

SEPARATOR = "\n\n"
MAX_MODELS = 256
"""Model objects that a provider keeps; making one again is cheap."""
_HOST_TOOL_PARTS = (NativeToolCallPart, NativeToolReturnPart)


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
    """One configured host; see `pnyx.providers.base.Provider`. Keeps connections open until `close`."""

    def __init__(self, dialect: Dialect, base_url: str, api_key: str | None) -> None:
        self._dialect = dialect
        self._secrets = (api_key,) if api_key else ()
        self._client = httpx2.AsyncClient(
            transport=Transport(base_url, dialect.meter),
            timeout=None,
            headers={"Accept-Encoding": "gzip, deflate"},
        )
        # Some SDKs refuse to start without a key, which local hosts do not require.
        self._make = dialect.open(base_url.rstrip("/"), api_key or "none", self._client)
        self._models = LRU[str, Model[Any]](MAX_MODELS, make=self._make)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        """Return the reply to `call`. Whatever the host does, raises only `ProviderError`."""
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
            return False  # no model can have that name: a call to it reports the error
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
                    if isinstance(event, PartStartEvent) and isinstance(event.part, _HOST_TOOL_PARTS):
                        broken = size > 0
                    if text := _text_piece(event):
                        text, broken = (SEPARATOR + text if broken else text), False
                        size += len(text)
                        if size > wire.max_answer:
                            raise ProviderError(
                                "malformed", f"the answer is over {wire.max_answer} characters", billed=True
                            )
                        yield text
                response = stream.get()
            # Only a finish reason from the host shows that nothing is missing; pydantic-ai fills in its own.
            if response.finish_reason != "content_filter" and "finish_reason" not in (
                response.provider_details or {}
            ):
                raise ProviderError("truncated", "the stream ended before the reply did", billed=True)
            yield self._completion(call, response, wire)

    def _request(self, call: Call) -> _Direct:
        model = self._model(call.model)
        settings = ModelSettings(max_tokens=call.max_tokens)
        if call.temperature is not None:
            settings["temperature"] = call.temperature
        if call.seed is not None:
            settings["seed"] = call.seed
        if call.searches and model.profile.get("anthropic_supports_dynamic_filtering"):
            # Otherwise programs that the model writes read the results, and nothing is cited.
            direct = {**settings, "anthropic_web_tools_allowed_callers": ["direct"]}
            settings = cast(ModelSettings, direct)
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
        searches = meter.searches(wire.reports)
        if searches is None and self._dialect.searches == "shown":
            searches = _search_count(response)
        return replace(completion, searches=searches, sources=_citations(response))

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
            message = one_line(str(error), self._secrets)
            # The SDK's exception may quote the request with its key, so it is not chained.
            raise ProviderError(
                error.kind, message, retry_after=error.retry_after, billed=error.billed
            ) from None
        finally:
            WIRE.reset(token)


_STREAM_ERRORS: tuple[tuple[type[ModelAPIError], str], ...] = (
    (ModelRateLimitError, "rate_limited"),
    (ModelUnavailableError, "overloaded"),
    (ModelServerError, "overloaded"),
    (ModelContextWindowExceededError, "too_long"),
    (ModelAuthenticationError, "auth"),
    (ModelNotFoundError, "not_found"),
    (ModelQuotaExceededError, "refused"),
    (ModelRequestRejectedError, "refused"),
)
"""Error events inside a stream -> kinds of `ProviderError`; the first that matches counts."""


def _explain(exc: Exception, wire: Wire) -> ProviderError:
    """The error: what the transport recorded, else what the SDK raised."""
    if wire.failure is not None:
        return wire.failure
    for category, kind in _STREAM_ERRORS:
        if isinstance(exc, category):
            return ProviderError(kind, f"the host ended the stream with an error: {exc}", billed=True)
    if wire.cut:
        return ProviderError("truncated", "the stream ended inside an event", billed=True)
    if not wire.sent:
        return ProviderError("refused", f"the request cannot be made: {exc}")
    return ProviderError("malformed", f"unreadable reply: {type(exc).__name__}: {exc}", billed=True)


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
    """`text` with U+FFFD for lone surrogates, which a model may write but no request can contain."""
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


def _text_piece(event: ModelResponseStreamEvent) -> str:
    """The piece of the reply's text in an event; "" for reasoning and other parts."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _search_count(response: ModelResponse) -> int:
    """How many searches the reply shows; those of Google are counted as it bills them."""
    calls = [part.tool_name for part in response.parts if isinstance(part, NativeToolCallPart)]
    return int(getattr(response.usage, "web_searches", calls.count(WebSearchTool.kind)))


def _citations(response: ModelResponse) -> tuple[str, ...]:
    """The addresses that the text cites, without repetition."""
    texts = (part for part in response.parts if isinstance(part, TextPart))
    sources = (source for part in texts for cited in part.citations or () for source in cited.sources)
    return tuple(dict.fromkeys(s.url for s in sources if isinstance(s, WebCitationSource)))


def _text(response: ModelResponse) -> str:
    """The text, with a separator where the host searched between two texts."""
    pieces: list[str] = []
    broken = False
    for part in response.parts:
        if isinstance(part, TextPart):
            pieces += [SEPARATOR, part.content] if broken and part.content else [part.content]
            broken = broken and not part.content
        elif isinstance(part, _HOST_TOOL_PARTS):
            broken = any(pieces)
    return "".join(pieces)


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    """The arguments that the model wrote; as text if they are not a JSON object of finite numbers."""
    found = part.args_as_dict()
    try:
        # No record can store an infinite number, or one of more digits than Python writes.
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
        raise ProviderError("malformed", "the host sent no reply", billed=True)
    finish: Literal["stop", "length", "filter", "tool"] = "stop"
    if response.finish_reason == "content_filter":
        finish = "filter"
        text = text or str((response.provider_details or {}).get("refusal", ""))
    elif response.finish_reason == "length" or response.state == "suspended":
        finish = "length"
    elif calls:
        finish = "tool"
    return Completion(text, usage, finish, calls, response.model_name or "")
