"""Connections on which a host may send more than a reply, such as an event after the end or a body that is
longer than its Content-Length."""

from __future__ import annotations

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler

__all__ = ["LenientHandler"]


class LenientHandler(ResponseHandler):
    """Reads a reply whatever comes behind it; that ends its connection.

    aiohttp drops all replies of a piece of data that has something else than HTTP behind them. One whose head
    came in an earlier piece stays, so the head is handed over first. A body that breaks the rules of HTTP
    later ends there: aiohttp would wait for more of it.
    """

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"HTTP/"):
            end = data.find(b"\r\n\r\n") + 4
            if 4 <= end < len(data):
                super().data_received(data[:end])
                if self.exception() is not None:
                    return
                data = data[end:]
        super().data_received(data)
        payload, problem = self._payload, self.exception()
        if problem is not None and payload is not None and not payload.is_eof():
            payload.set_exception(ClientPayloadError(getattr(problem, "message", str(problem))), problem)
