"""Restrict tests to this machine: sockets of this process reach only loopback and Unix sockets.

An audit hook sees every network access of Python, asyncio and the SDKs included, at no cost. Code under test
can swallow the error, so it is also recorded and checked at the end of the test.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Set
from typing import Any

__all__ = ["NetworkForbiddenError", "forbid", "refused"]


class NetworkForbiddenError(OSError):
    """A test tried to leave the machine. An `OSError`, so that libraries close the socket as they give up."""


refused: list[str] = []
"""The accesses refused since the list was last cleared."""

_TO_ADDRESS = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"}
_BY_NAME = {"socket.getaddrinfo", "socket.gethostbyname"}


def forbid() -> None:
    """Forbid network access for the rest of the process: an audit hook cannot be removed."""
    sys.addaudithook(_hook)


def _hook(
    event: str,
    arguments: tuple[Any, ...],
    # As defaults they are there when the interpreter ends, and globals are gone.
    to_address: Set[str] = _TO_ADDRESS,
    by_name: Set[str] = _BY_NAME,
) -> None:
    if event in to_address:
        sock, address = arguments
        # A connected socket's sendmsg has no address.
        inward = address is None or sock.family not in (socket.AF_INET, socket.AF_INET6) or _local(address[0])
    elif event in by_name:
        address = arguments[0]
        # A literal address is not resolved, so nothing is sent.
        inward = address is None or _local(address) or _ip(address) is not None
    else:
        return
    if not inward:
        message = f"{event} to {address!r}: tests may only reach loopback"
        refused.append(message)
        raise NetworkForbiddenError(message)


def _local(host: str | bytes) -> bool:
    ip = _ip(host)
    return ip.is_loopback if ip else host in ("localhost", b"localhost")


def _ip(host: str | bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except ValueError:
        return None
