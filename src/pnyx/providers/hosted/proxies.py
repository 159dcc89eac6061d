"""The proxy through which a host is reached, as the environment names it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ...core.caching.regex import regex
from ...errors import ProviderError

__all__ = ["Proxy"]


@dataclass(frozen=True, slots=True)
class Proxy:
    """url: None without a proxy. name: what messages call it, also without one.

    That is the variable that names it, and its address without a user and a password.
    """

    url: str | None
    name: str

    @classmethod
    def of(cls, base_url: str) -> Proxy:
        """The proxy for this host; the loopback has none."""
        at = urlsplit(base_url)
        host, proxies = at.hostname or "", getproxies()
        scheme = at.scheme if proxies.get(at.scheme) or not proxies.get("all") else "all"
        variable, url = f"{scheme.upper()}_PROXY", proxies.get(scheme, "").strip()
        if not url or host == "localhost" or _is_loopback(host) or proxy_bypass(host):
            return cls(None, variable)
        _, found, rest = url.rpartition("://")
        address = rest.rpartition("@")[2].partition("/")[0]
        name = f"{variable} ({address})" if _ADDRESS.fullmatch(address) else variable
        return cls(url if found else f"http://{url}", name)

    @property
    def advice(self) -> str:
        """What to do about a proxy that does not let a request through."""
        return f"check {self.name}, or name the host in NO_PROXY if it needs no proxy"

    def check(self) -> None:
        """Raise `ProviderError` for a proxy that cannot be used."""
        if self.url is None:
            return
        if self.url.lower().startswith("socks"):
            hint = f"set {self.name} to an HTTP proxy, or unset it"
            raise ProviderError("refused", f"cannot connect: SOCKS proxies are not supported: {hint}")
        if not _is_address(self.url):
            hint = "set it to http://HOST:PORT, or unset it"
            raise ProviderError("refused", f"cannot connect: {self.name} is no address of a proxy: {hint}")


_ADDRESS = regex(r"[\w.\[\]:-]{2,}")


def _is_address(url: str) -> bool:
    """Whether a URL names a host, and a port or none."""
    try:
        at = urlsplit(url)
        # In one with a single slash, the scheme would be read as the host.
        return (at.hostname or "http") not in ("http", "https") and at.port != 0
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
