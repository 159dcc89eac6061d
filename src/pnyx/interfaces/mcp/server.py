"""The tools on the server of the package `mcp`, for HTTP. The package imports a web framework.

`pnyx mcp` serves the same protocol without it: see `connection`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from ..._version import __version__
from ...errors import NotFound
from ..service import RunService
from .catalogue import INSTRUCTIONS, call_tool, list_tools
from .tools import Caller

__all__ = ["create_server"]


def create_server(service: RunService, owner_of: Callable[[Any], str]) -> Server[Any]:
    """Create the server of the tools. owner_of: returns the owner of a message's HTTP request."""

    async def handle_list(
        ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=list_tools())

    async def handle_call(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        caller = Caller(service, owner_of(ctx.request), ctx.session.report_progress)
        try:
            return await call_tool(caller, params.name, params.arguments)
        except NotFound as exc:
            raise MCPError(INVALID_PARAMS, str(exc)) from None

    return Server(
        "pnyx",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handle_list,
        on_call_tool=handle_call,
    )
