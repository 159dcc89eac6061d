"""Which addresses of the network a page may be fetched from: the public ones, told by what they are.

Knows no HTTP. The tables are written out, since what `ipaddress` calls global differs between
versions of Python and includes addresses that stand for others. Source: the special-purpose address
registries of IANA (RFC 6890 and its updates).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from yarl import URL

from . import ToolError

__all__ = ["PORTS", "Lookup", "admitted", "is_public", "lookup", "plain_url"]

PORTS = frozenset({80, 443, 8080, 8443})

_PRIVATE_4 = tuple(
    ipaddress.IPv4Network(net)
    for net in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # Looks public, and is the host agent that every virtual machine on Azure reaches.
        "168.63.129.16/32",
    )
)
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
"""All IPv6 that is handed out as unicast: leaves out loopback, mapped, NAT64, local and multicast."""
_PRIVATE_6 = tuple(
    ipaddress.IPv6Network(net)
    for net in (
        # Protocol assignments with Teredo, documentation twice, 6to4: the last two hide an IPv4 address.
        *("2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16"),
    )
)

Lookup: TypeAlias = Callable[[str, int], Awaitable[Collection[str]]]
"""(name, port) -> every address the name has now; raises `OSError` when it has none."""


def is_public(address: str) -> bool:
    """Whether a numeric address is one that anybody on the internet could be at."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in net for net in _PRIVATE_4)
    return ip.scope_id is None and ip in _GLOBAL_6 and not any(ip in net for net in _PRIVATE_6)


def plain_url(text: str) -> URL:
    """The address of a page, in the form in which it is fetched.

    Raises `ToolError` for anything but http and https, for user or password in it, and for a host that
    is a number in disguise (2130706433, 0x7f.1, 127.1), which resolvers read in ways of their own.
    """
    if re.search(r"[\s\\\x00-\x1f\x7f]", text):
        raise ToolError("the address of a page has no spaces, backslashes or control characters")
    try:
        url = URL(text)
        port = url.port
    except ValueError:
        raise ToolError(f"{text[:200]!r} is not the address of a page") from None
    host = url.raw_host
    if url.scheme not in ("http", "https") or not host or port is None:
        raise ToolError("only pages at http:// and https:// addresses can be read")
    if url.raw_user is not None or url.raw_password is not None:
        raise ToolError("the address of a page has no user or password in it")
    if not _is_address(host) and not _is_name(host):
        raise ToolError(f"{host[:200]!r} is not the name of a host")
    return url.with_fragment(None)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_name(host: str) -> bool:
    last = host.rstrip(".").rpartition(".")[2]
    numeric = re.fullmatch(r"\d+|0x[0-9a-f]*", last, re.IGNORECASE)
    return bool(re.fullmatch(r"[a-z0-9_.-]{1,253}", host, re.IGNORECASE)) and not numeric and last != ""


async def admitted(url: URL, allow: Collection[tuple[str, int]], look_up: Lookup) -> tuple[str, ...]:
    """Every address that `url` may be fetched from; raises `ToolError` unless all that it has may.

    allow: (address, port) that are let through though not public.
    """
    host, port = url.raw_host or "", url.port or 0
    if _is_address(host):
        found: Collection[str] = [host]
    else:
        try:
            found = await look_up(host, port)
        except OSError:
            found = []
        if not found:
            raise ToolError(f"no host is called {host!r}")
    # One private address among public ones is how a name is turned against the network it is asked from.
    if not all((a, port) in allow or (port in PORTS and is_public(a)) for a in found):
        ports = ", ".join(map(str, sorted(PORTS)))
        raise ToolError(f"{host!r} is not read: only public addresses are, at the ports {ports}")
    return tuple(found)


async def lookup(host: str, port: int) -> Collection[str]:
    """The addresses that the system's resolver knows."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
