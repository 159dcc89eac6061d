"""MCP over streamable HTTP: a route with the same access control as all others."""

from __future__ import annotations

from contextlib import suppress

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from ..mcp.server import create_server
from ..service import RunService
from .access import Message, Receive, Send, TooLongError
from .state import owner_of

__all__ = ["McpEndpoint"]


class McpEndpoint:
    """The ASGI endpoint; it needs `sessions.run()` to be active, and the owner in `scope["state"]`."""

    def __init__(self, service: RunService) -> None:
        # `Access` has checked host, origin, content type and size of a request before any route.
        self.sessions = StreamableHTTPSessionManager(create_server(service, owner_of))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # With a user set, the session manager admits only the owner of a session to it.
        token = AccessToken(token="", client_id=scope["state"]["owner"], scopes=[])
        scope["user"] = AuthenticatedUser(token)
        with suppress(TooLongError):  # `Access` sends the response
            await self.sessions.handle_request(scope, receive, send)
