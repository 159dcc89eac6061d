"""Checks that a page is fetched only from public network addresses.

Knows no HTTP. The tables are written out because `ipaddress.is_global` differs between versions of
Python and accepts addresses that embed others. Source: the special-purpose address registries of IANA
(RFC 6890 and its updates).
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

__all__ = ["PORTS", "Lookup", "is_public", "lookup", "plain_url", "resolve_public"]

PORTS = frozenset({80, 443, 8080, 8443})

_PRIVATE_4 = tuple(
    ipaddress.IPv4Network(net)
    for net in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # Looks public, but is the host agent of every virtual machine on Azure.
        "168.63.129.16/32",
    )
)
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
"""The IPv6 unicast space that is assigned: excludes loopback, mapped, NAT64, local and multicast."""
_PRIVATE_6 = tuple(
    ipaddress.IPv6Network(net)
    for net in (
        # Protocol assignments with Teredo, documentation (two ranges), 6to4. Teredo and 6to4 embed IPv4.
        *("2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16"),
    )
)

Lookup: TypeAlias = Callable[[str, int], Awaitable[Collection[str]]]
"""(name, port) -> the addresses that the name resolves to; raises `OSError` if there are none."""


def is_public(address: str) -> bool:
    """Whether a numeric address is publicly routable."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in net for net in _PRIVATE_4)
    return ip.scope_id is None and ip in _GLOBAL_6 and not any(ip in net for net in _PRIVATE_6)


def plain_url(text: str) -> URL:
    """Parse the URL of a page into the form in which it is fetched.

    Raises `ToolError` for schemes other than http and https, for a user or password, and for a host in
    a non-standard numeric form (2130706433, 0x7f.1, 127.1), which resolvers read differently.
    """
    if re.search(r"[\s\\\x00-\x1f\x7f]", text):
        raise ToolError("a URL may not contain spaces, backslashes or control characters")
    try:
        url = URL(text)
        port = url.port
    except ValueError:
        raise ToolError(f"{text[:200]!r} is not a URL") from None
    host = url.raw_host
    if url.scheme not in ("http", "https") or not host or port is None:
        named = re.match(r"[\w-]+(\.[\w-]+)+(/|$)", text)
        hint = f"; write https://{text[:200]}" if named else ""
        raise ToolError(f"only http:// and https:// URLs can be read{hint}")
    if url.raw_user is not None or url.raw_password is not None:
        raise ToolError("a URL may not contain a user or password")
    if not _is_address(host) and not _is_name(host):
        raise ToolError(f"{host[:200]!r} is not a host name")
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


async def resolve_public(url: URL, allow: Collection[tuple[str, int]], look_up: Lookup) -> tuple[str, ...]:
    """Resolve the host of `url` and return its addresses. Raises `ToolError` unless all may be fetched from.

    allow: (address, port) pairs that are accepted although they are not public.
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
            raise ToolError(f"the host {host!r} cannot be resolved")
    # A name with one private address among public ones is how an attacker reaches the local network.
    if not all((a, port) in allow or (port in PORTS and is_public(a)) for a in found):
        ports = ", ".join(map(str, sorted(PORTS)))
        raise ToolError(f"{host!r} is refused: only public addresses at the ports {ports} are read")
    return tuple(found)


async def lookup(host: str, port: int) -> Collection[str]:
    """Return the addresses of a host from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
