"""The same server over streamable HTTP, as one more route behind keys, hosts and origins."""

from __future__ import annotations

from contextlib import suppress

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from ..mcp.server import create_server
from ..service import House
from .access import Message, Receive, Send, TooLongError

__all__ = ["Door"]


class Door:
    """ASGI, while within `sessions.run()`; the request's owner is in `scope["state"]`."""

    def __init__(self, house: House) -> None:
        # Host, origin, kind and size of a request are looked at by `Access`, before any route.
        self.sessions = StreamableHTTPSessionManager(create_server(house))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # A session is then its owner's alone.
        token = AccessToken(token="", client_id=scope["state"]["owner"], scopes=[])
        scope["user"] = AuthenticatedUser(token)
        with suppress(TooLongError):  # it is answered where it was seen
            await self.sessions.handle_request(scope, receive, send)
