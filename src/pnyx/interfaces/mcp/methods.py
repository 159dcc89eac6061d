"""The requests that a client can send, each with its parameters and the work it takes.

Both servers use this table: the one of the package `mcp`, for HTTP, and `connection`, for stdio.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompletionsCapability,
    EmptyResult,
    GetPromptRequestParams,
    InputRequiredResult,
    ListToolsResult,
    LoggingCapability,
    PaginatedRequestParams,
    PromptsCapability,
    ReadResourceRequestParams,
    ResourcesCapability,
    Result,
    ServerCapabilities,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    ToolsCapability,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

from ...errors import NotFound, PnyxError, UsageError
from ..requests.bugs import log_bug
from ..service.run_service import RunService
from . import resources
from .catalogue import call_tool, list_tools
from .completions import complete
from .peer import Peer
from .prompts import prompt_list, prompt_text
from .tools import Caller

__all__ = ["METHODS", "OF_SESSION", "Method", "RefusedError", "capabilities", "perform"]

LOG = logging.getLogger("pnyx.mcp")
Work = Callable[[RunService, Peer, Any], Awaitable[Result]]


RESOURCE_NOT_FOUND = -32002
"""The code of the 2025 versions for a resource that does not exist."""


class RefusedError(Exception):
    """A request has no result. code: of its JSON-RPC error. The message says why, without secrets."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message.encode("utf-8", "replace").decode())
        self.code = code


@dataclass(frozen=True)
class Method:
    """A request. params: the model of its parameters. work: carries it out."""

    params: type[BaseModel]
    work: Work


async def _tools(service: RunService, peer: Peer, params: PaginatedRequestParams) -> ListToolsResult:
    return ListToolsResult(tools=list_tools())


async def _call(
    service: RunService, peer: Peer, params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    return await call_tool(Caller(service, peer), params.name, params.arguments)


async def _set_level(service: RunService, peer: Peer, params: SetLevelRequestParams) -> EmptyResult:
    if peer.session is None:
        raise UsageError("the client has not sent notifications/initialized")
    peer.session.level = params.level
    return EmptyResult()


METHODS = {
    "tools/list": Method(PaginatedRequestParams, _tools),
    "tools/call": Method(CallToolRequestParams, _call),
    "resources/list": Method(PaginatedRequestParams, resources.resource_list),
    "resources/templates/list": Method(PaginatedRequestParams, resources.template_list),
    "resources/read": Method(ReadResourceRequestParams, resources.read),
    "resources/subscribe": Method(SubscribeRequestParams, resources.subscribe),
    "resources/unsubscribe": Method(UnsubscribeRequestParams, resources.unsubscribe),
    "subscriptions/listen": Method(SubscriptionsListenRequestParams, resources.listen),
    "prompts/list": Method(PaginatedRequestParams, prompt_list),
    "prompts/get": Method(GetPromptRequestParams, prompt_text),
    "completion/complete": Method(CompleteRequestParams, complete),
    "logging/setLevel": Method(SetLevelRequestParams, _set_level),
}

OF_SESSION = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})
"""The requests that act on the session of a client of 2025."""


def capabilities(modern: bool) -> ServerCapabilities:
    """Return what the server offers. modern: to clients of 2026, which have one way to watch all lists."""
    return ServerCapabilities(
        tools=ToolsCapability(list_changed=modern),
        resources=ResourcesCapability(subscribe=True, list_changed=modern),
        prompts=PromptsCapability(list_changed=modern),
        completions=CompletionsCapability(),
        logging=LoggingCapability(),
    )


async def perform(method: str, service: RunService, peer: Peer, params: Any) -> Result:
    """Carry out a request. Raises `RefusedError`."""
    try:
        return await METHODS[method].work(service, peer, params)
    except PnyxError as exc:
        code = INTERNAL_ERROR
        if isinstance(exc, NotFound) and method.startswith("resources/") and not peer.modern:
            code = RESOURCE_NOT_FOUND
        elif isinstance(exc, UsageError):
            code = INVALID_PARAMS
        raise RefusedError(code, peer.message(LOG, method, exc, service.redact)) from None
    except Exception as exc:
        # The package would send its message, which may have secrets.
        log_bug(LOG, method, exc, service.redact)
        raise RefusedError(INTERNAL_ERROR, f"this is a bug in pnyx: {type(exc).__name__}") from None
