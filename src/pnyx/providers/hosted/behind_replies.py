"""Connections on which a host sends more than a reply: an event after its end, a body that is longer than its
Content-Length, or its length twice."""

from __future__ import annotations

import re

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler

__all__ = ["LenientHandler"]


class LenientHandler(ResponseHandler):
    """Reads a reply whatever comes behind it; that ends its connection.

    aiohttp drops all replies of a piece of data that has something else than HTTP behind them. One whose head
    came in an earlier piece stays, so the head is handed over first. A body that breaks the rules of HTTP
    later ends there: aiohttp would wait for more of it. A length that a server and its proxy both say is one.
    """

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"HTTP/"):
            end = data.find(b"\r\n\r\n") + 4
            if 4 <= end < len(data):
                super().data_received(_with_one_length(data[:end]))
                if self.exception() is not None:
                    return
                data = data[end:]
        super().data_received(data)
        payload, problem = self._payload, self.exception()
        if problem is not None and payload is not None and not payload.is_eof():
            payload.set_exception(ClientPayloadError(getattr(problem, "message", str(problem))), problem)


def _with_one_length(head: bytes) -> bytes:
    """The head of a reply; of headers that say the same length, as RFC 9110 allows, the first alone."""
    if head.lower().count(b"content-length:") < 2 or len({found[1] for found in _LENGTH.finditer(head)}) > 1:
        return head
    first = _LENGTH.search(head)
    return head if first is None else head[: first.end()] + _LENGTH.sub(b"", head[first.end() :])


_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*(?=\r\n)", re.IGNORECASE)
