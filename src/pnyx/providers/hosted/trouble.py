"""Why no connection to a host came about, and what to do, in one line.

A message names a proxy by its variable and its address, without the user and the password in it.
"""

from __future__ import annotations

import os
import ssl
from errno import ECONNRESET, EHOSTUNREACH, ENETUNREACH, EPIPE
from socket import gaierror

import aiohttp

from ...core.caching.regex import regex
from ...errors import ProviderError
from .proxies import Proxy

__all__ = [
    "NO_PROXY",
    "NO_TLS",
    "OLLAMA_PORT",
    "TWO_LENGTHS",
    "NoTunnel",
    "another_language",
    "broken",
    "is_of_two_lengths",
    "no_http",
    "trouble",
    "unreadable_certificates",
]

NO_TLS = "the host speaks TLS: check whether base_url starts with https://"
OLLAMA_PORT = 11434
LOCAL_SERVERS = {
    OLLAMA_PORT: "Ollama: `ollama serve`",
    1234: "LM Studio: `lms server start`",
    8080: "llama.cpp: `llama-server -m FILE`",
    8000: "vLLM: `vllm serve MODEL`",
}
"""The port on which a server listens unless it is set -> how it is started."""
CERTIFICATES = {
    9: "check the clock of this machine",
    10: "its operator has to renew it, unless the clock of this machine is wrong",
    62: "check {}, whose host must be one of the names in the certificate",
    64: "check {}, whose host must be one of the names in the certificate",
}
"""What to do about a certificate by OpenSSL's number of what is wrong with it: not valid yet, expired, the
name of another host, another IP address. For the rest, an authority is missing."""
CHECK = "check base_url and its port, or the proxy"
LANGUAGES = {
    "SSH-": "SSH",
    "-ERR": "the protocol of Redis",
    "220 ": "the protocol of a mail or FTP server",
    r"\x00\x00": "HTTP/2 without HTTP/1.1",
    r"E\x00": "the protocol of PostgreSQL",
}
"""How an answer in another protocol than HTTP starts, as aiohttp quotes it."""


NO_PROXY = Proxy(None, "HTTPS_PROXY")


class NoTunnel(aiohttp.ClientError):
    """A proxy that was asked for a connection to a host gave no answer in HTTP. Nothing was sent."""


TWO_LENGTHS = (
    "the answer has both Content-Length and Transfer-Encoding, so its end is not certain: "
    "the operator of the host, or of a proxy before it, has to remove one of them"
)


def is_of_two_lengths(words: str) -> bool:
    """Whether an answer says in two ways how long it is. words: aiohttp's, whose parser reads neither."""
    return "Transfer-Encoding" in words and "Content-Length" in words


def another_language(words: str) -> str:
    """Why an answer is not HTTP, if it shows what else it is; else "". words: aiohttp's, which quote it."""
    for start, name in LANGUAGES.items():
        if f"b'{start}" in words or f'b"{start}' in words:
            return f"the host speaks {name}: {CHECK}"
    return ""


def no_http(words: str) -> str:
    """What a message says of an answer that is not HTTP. words: aiohttp's, which quote a line of it."""
    quoted = _QUOTED.search(words)
    return f"the answer is not HTTP ({quoted[2] if quoted else words}): {CHECK}"


_QUOTED = regex(r"\n\s*b(['\"])(.*)\1\s*(?:\n|$)")


def broken(exc: Exception) -> ProviderError:
    """The error for a connection that ended before an answer."""
    # A pipe breaks, or is found closed, while the request is written: the host does not have all of it.
    is_unsent = getattr(exc, "errno", None) == EPIPE or "closing transport" in f"{exc} {exc.__cause__}"
    is_closed = isinstance(exc, aiohttp.ServerDisconnectedError | ConnectionResetError)
    words = "the host closed it" if is_closed or getattr(exc, "errno", None) == ECONNRESET else str(exc)
    if is_unsent:
        words = "the host closed it before it had the whole request"
    return ProviderError(
        "unreachable", f"the connection broke before an answer: {words}", billed=not is_unsent
    )


def trouble(exc: Exception, host: str | None = None, proxy: Proxy = NO_PROXY) -> ProviderError:
    """The error for a request to `host` that was not sent.

    It is "unreachable", and tried again, if it may pass; "refused" if it lasts until a setting changes.
    """
    is_of_proxy = (
        proxy.url is not None
        and isinstance(exc, aiohttp.ClientConnectorError)
        and host not in (None, exc.host.lower())
    )
    if isinstance(exc, aiohttp.ClientConnectorDNSError) and is_of_proxy:
        return ProviderError(
            "unreachable", f"cannot connect: the name of the proxy is not known: check {proxy.name}"
        )
    kind, message = _explain(exc, proxy, is_of_proxy)
    # Each attempt lasts as long as a connection may take, and includes several packets.
    retries = 1 if isinstance(exc, aiohttp.ConnectionTimeoutError) else None
    return ProviderError(kind, f"cannot connect: {message}", retries=retries)


def _explain(exc: Exception, proxy: Proxy, is_of_proxy: bool) -> tuple[str, str]:
    variable = proxy.name
    match exc:
        case aiohttp.ClientHttpProxyError():
            hint = f"check the user and the password in {variable}" if exc.status == 407 else proxy.advice
            return "unreachable" if exc.status >= 500 else "refused", (
                f"the proxy answers HTTP {exc.status}: {exc.message}: {hint}"
            )
        case NoTunnel():
            if isinstance(exc.args[0], aiohttp.ClientResponseError):
                return "refused", f"the proxy speaks another protocol than HTTP: check {variable}"
            return "unreachable", f"the proxy closes the connection without an answer: check {variable}"
        case aiohttp.NonHttpUrlClientError():
            return "refused", "base_url does not start with http:// or https://"
        case aiohttp.InvalidURL():
            return "refused", (
                "the address of the host, or of its proxy, is not a URL: "
                f"check base_url, and that {variable} starts with http://"
            )
        case aiohttp.ClientProxyConnectionError():
            return "unreachable", f"the proxy cannot be reached ({_reason(exc)}): check {variable}"
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return "refused", _explain_tls(exc, proxy, is_of_proxy)
        case aiohttp.ClientConnectorDNSError() if (
            isinstance(exc.os_error, gaierror) or not exc.os_error.errno
        ):
            return "unreachable", "the name of the host is not known: check base_url and the network"
        case aiohttp.ConnectionTimeoutError():
            return "unreachable", f"nothing answers: check base_url, the network and {variable}"
        case aiohttp.ClientConnectorError():
            return "unreachable", _explain_socket(exc, proxy)
    return "unreachable", str(exc)


def _explain_tls(exc: aiohttp.ClientConnectorError, proxy: Proxy, is_of_proxy: bool) -> str:
    who, address = ("proxy", proxy.name) if is_of_proxy else ("host", "base_url")
    inner = getattr(exc, "certificate_error", None) or exc.os_error
    if isinstance(inner, ssl.SSLCertVerificationError):
        words = (inner.verify_message or "not trusted").removesuffix(".")
        fix = CERTIFICATES.get(
            inner.verify_code, "set SSL_CERT_FILE to a file with the certificate of its authority"
        )
        return f"the certificate of the {who} is not accepted ({words}): {fix.format(address)}"
    reason = getattr(inner, "reason", None) or str(inner)
    # A proxy may have put a page of its own into the tunnel.
    also = "" if is_of_proxy or proxy.url is None else f", and {proxy.name}"
    return f"the {who} does not speak TLS ({reason}): check whether {address} starts with http://{also}"


def unreadable_certificates(exc: OSError) -> str:
    """Why the certificates that the environment names cannot be used, and what to do."""
    variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "")
    words = getattr(exc, "reason", None) or exc.strerror or str(exc)
    fix = f"name a file in PEM form in {variable}, or unset it" if variable else "repair them"
    place = f" in {os.environ[variable]}" if variable else ""
    return f"the certificates of authorities{place} cannot be read ({words}): {fix}"


def _explain_socket(exc: aiohttp.ClientConnectorError, proxy: Proxy) -> str:
    if isinstance(exc.os_error, ConnectionRefusedError):
        usual = LOCAL_SERVERS.get(exc.port or 0)
        return "connection refused: is its server running?" + (f" ({usual})" if usual else "")
    if exc.os_error.errno in (ENETUNREACH, EHOSTUNREACH):
        return "no route to the host: check the network"
    check = "base_url and the network" if proxy.url is None else f"base_url, the network and {proxy.name}"
    return f"{_reason(exc)}: check {check}"


def _reason(exc: aiohttp.ClientConnectorError) -> str:
    """The operating system's words, without the address."""
    if isinstance(exc.os_error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(exc.os_error, ConnectionResetError):
        return "the connection was closed"
    return exc.os_error.strerror or type(exc.os_error).__name__
