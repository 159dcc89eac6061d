"""Requests as pydantic-ai and the SDK of a kind write them, taken before they are sent.

The libraries know how each host wants its messages, tools, schemas and settings. Sending and reading are
`connection` and `replies`, because hosts deviate from what an SDK accepts.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypedDict, cast
from urllib.parse import urlsplit, urlunsplit

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.native_tools import AbstractNativeTool, WebSearchTool
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ...core.caching.lru import LRU
from ...core.tool_calls import ToolSpec
from ...errors import ProviderError
from ..base import Call, Message
from .connection import HostRequest
from .dialects import Dialect
from .plain_forms import SEEDS
from .replies.anthropic import AnthropicReader
from .texts import marked_parts, sendable, with_schema
from .thinking import thinking_settings

__all__ = ["RequestBuilder"]

MAX_MODELS = 256
"""Model objects that a provider keeps; making one again is cheap."""

# A setting that pydantic-ai leaves out for a model is no news for whoever asks a question.
warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic_ai\.")


class _Taken(BaseException):
    """Ends the SDK's work on a request. SDKs wrap or retry after any `Exception`."""


_REQUEST: ContextVar[list[HostRequest]] = ContextVar("_REQUEST")
"""Where the current task takes its request."""


class _Taker(httpx2.AsyncBaseTransport):
    """Takes the request that an SDK sends. query: of the base URL; it is added to every address."""

    def __init__(self, query: str) -> None:
        self._query = query

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = urlsplit(str(request.url))
        query = "&".join(filter(None, (url.query, self._query)))
        headers = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in request.headers.raw]
        body = json.loads(await request.aread())
        address = urlunsplit((url.scheme, url.netloc, url.path, query, ""))
        _REQUEST.get().append(HostRequest(address, [h for h in headers if h[0].lower() not in _OWN], body))
        raise _Taken


_OWN = ("host", "content-length", "connection", "accept-encoding")
"""Headers of the connection, which sends the request after its body may have changed."""


class _Direct(TypedDict):
    """The arguments of a direct request."""

    model: Model[Any]
    messages: list[ModelMessage]
    model_settings: ModelSettings
    model_request_parameters: ModelRequestParameters


class RequestBuilder:
    """Writes the requests to one host."""

    def __init__(self, dialect: Dialect, base_url: str, api_key: str | None) -> None:
        url = urlsplit(base_url)
        self._dialect = dialect
        self._client = httpx2.AsyncClient(transport=_Taker(url.query), timeout=None)
        root = urlunsplit((url.scheme, url.netloc, url.path.rstrip("/"), "", ""))
        # Some SDKs refuse to start without a key, which local hosts do not require.
        key = api_key or "none"
        self._extra = dict.fromkeys(dialect.key_headers(url.hostname), key)
        self._models = LRU[str, Model[Any]](MAX_MODELS, make=dialect.open(root, key, self._client))

    def profile(self, model: str) -> Mapping[str, Any]:
        """What pydantic-ai knows of `model`. Raises `UserError` for a name that no model can have."""
        return cast(Mapping[str, Any], self._models[model].profile)

    async def build(
        self, call: Call, *, stream: bool, plain_schema: bool = False, reasons: bool = False
    ) -> HostRequest:
        """Return the request for `call`; a new one each time, which the caller may change.

        plain_schema: describe the schema in the prompt, for a host that refuses it as a parameter; so is one
        that the SDK cannot write. reasons: see `set_thinking`. Raises `ProviderError` if no request can be
        made of the call.
        """
        taken: list[HostRequest] = []
        token = _REQUEST.set(taken)
        try:
            direct = self._direct(call, plain_schema, reasons)
            if stream:
                async with model_request_stream(**direct):
                    pass
            else:
                await model_request(**direct)
        except _Taken:
            taken[0].headers += self._extra.items()
            return taken[0]
        except Exception as exc:
            if call.schema is not None and not plain_schema:
                # Anthropic's SDK cannot write some schemas, such as those with a list of types or with none.
                return await self.build(call, stream=stream, plain_schema=True, reasons=reasons)
            # The SDK's exception may quote the request with its key, so it is not chained.
            raise ProviderError("refused", f"the request cannot be made: {exc}") from None
        finally:
            _REQUEST.reset(token)
        raise ProviderError("refused", "the request cannot be made: its SDK sent nothing")

    def can_search(self, model: str) -> bool:
        """Whether the host has a search tool for `model`."""
        try:
            return WebSearchTool in self.profile(model).get("supported_native_tools", ())
        except UserError:
            return False  # no model can have that name: a call to it reports the error

    async def close(self) -> None:
        await self._client.aclose()

    def _needs_tools(self, model: str) -> bool:
        """Whether a request with calls of tools must define them, as Anthropic and gateways to it demand."""
        return self._dialect.reader is AnthropicReader or "claude" in model

    def _direct(self, call: Call, plain_schema: bool, reasons: bool) -> _Direct:
        model = self._models[call.model]
        closed = () if call.tools or not self._needs_tools(call.model) else _called_tools(call)
        parameters = _parameters(replace(call, tools=call.tools or closed), model, plain_schema)
        if call.schema is not None and parameters.output_mode == "prompted":
            call = with_schema(call, call.schema)
        settings = ModelSettings(max_tokens=call.max_tokens)
        if closed:
            settings["tool_choice"] = "none"
        if call.temperature is not None:
            settings["temperature"] = call.temperature
        if call.seed is not None:
            settings["seed"] = call.seed % SEEDS
        special = thinking_settings(call, model.profile, self._dialect.thinking, reasons)
        if call.searches and model.profile.get("anthropic_supports_dynamic_filtering"):
            # Otherwise programs that the model writes read the results, and nothing is cited.
            special["anthropic_web_tools_allowed_callers"] = ["direct"]
        marked = self._dialect.marks_cache_of(call.model)
        has_results = call.messages[-1].role == "tool"
        if marked and has_results and call.tools and self._dialect.reader is AnthropicReader:
            # Another turn, which tools still allow, reads them again.
            special["anthropic_cache_messages"] = "5m"
        return _Direct(
            model=model,
            messages=_messages(call, marked),
            model_settings=cast(
                ModelSettings, {k: v for k, v in (settings | special).items() if v is not None}
            ),
            model_request_parameters=parameters,
        )


def _called_tools(call: Call) -> tuple[ToolSpec, ...]:
    """The tools that the turns of `call` have called, for a request in which no more calls are allowed."""
    names = dict.fromkeys(one.name for message in call.messages for one in message.tool_calls)
    return tuple(ToolSpec(name, "Was called above.", {"type": "object"}) for name in names)


def _messages(call: Call, marked: bool) -> list[ModelMessage]:
    """The turns of a conversation. marked: with a mark where a prefix ends that later requests share."""
    turns: list[ModelMessage] = []
    for message in call.messages:
        text = sendable(message.text)
        if message.role == "assistant":
            texts = [TextPart(text)] if text else []
            calls = [ToolCallPart(t.name, dict(t.arguments), t.id) for t in message.tool_calls]
            turns.append(ModelResponse(parts=[*texts, *calls]))
            continue
        part: ModelRequestPart
        if message.role == "system":
            part = SystemPromptPart(text)
        elif message.role == "user":
            content = _with_cache_points(message) if marked and message.breaks else [text]
            images = [BinaryContent(one.data, media_type=one.media_type) for one in message.images]
            part = UserPromptPart([*images, *content] if images or len(content) > 1 else text)
        else:
            part = ToolReturnPart(message.tool_name, text, message.tool_call_id)
        if turns and isinstance(turns[-1], ModelRequest):
            turns[-1].parts = [*turns[-1].parts, part]
        else:
            turns.append(ModelRequest(parts=[part]))
    return turns


def _with_cache_points(message: Message) -> list[UserContent]:
    parts: list[UserContent] = []
    for text, marked in marked_parts(message):
        parts += [text, CachePoint()] if marked else [text]
    return parts


def _parameters(call: Call, model: Model[Any], plain_schema: bool) -> ModelRequestParameters:
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
    native = model.profile.get("supports_json_schema_output") and not plain_schema
    return ModelRequestParameters(
        function_tools=tools,
        native_tools=search,
        output_mode="native" if native else "prompted",
        output_object=OutputObjectDefinition(call.schema.document, name=call.schema.name),
        prompted_output_template=None if native else False,
    )
