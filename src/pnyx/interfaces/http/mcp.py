"""MCP over streamable HTTP: a route behind the same keys, hosts and origins as all others."""

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
    """ASGI, while within `sessions.run()`; the request's owner is in `scope["state"]`."""

    def __init__(self, service: RunService) -> None:
        # `Access` has checked host, origin, content type and size of a request before any route.
        self.sessions = StreamableHTTPSessionManager(create_server(service, owner_of))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # The session manager then opens a session to its own owner only.
        token = AccessToken(token="", client_id=scope["state"]["owner"], scopes=[])
        scope["user"] = AuthenticatedUser(token)
        with suppress(TooLongError):  # `Access` answers it
            await self.sessions.handle_request(scope, receive, send)
