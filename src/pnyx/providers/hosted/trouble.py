"""Why no connection to a host came about, and what to do, in one line.

A message names a proxy by its variable and its address, without the user and the password in it.
"""

from __future__ import annotations

import os
import ssl
from errno import EHOSTUNREACH, ENETUNREACH
from socket import gaierror

import aiohttp

from ...errors import ProviderError

__all__ = [
    "NO_TLS",
    "OLLAMA_PORT",
    "TWO_LENGTHS",
    "NoTunnel",
    "another_language",
    "is_of_two_lengths",
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
    62: "check base_url, whose host must be one of the names in the certificate",
    64: "check base_url, whose host must be one of the names in the certificate",
}
"""What to do about a certificate by OpenSSL's number of what is wrong with it: not valid yet, expired, the
name of another host, another IP address. For the rest, an authority is missing."""
LANGUAGES = {
    "SSH-": "SSH",
    "-ERR": "the protocol of Redis",
    "220 ": "the protocol of a mail or FTP server",
    r"\x00\x00": "HTTP/2 without HTTP/1.1",
    r"E\x00": "the protocol of PostgreSQL",
}
"""How an answer in another protocol than HTTP starts, as aiohttp quotes it."""


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
            return f"the host speaks {name}: check base_url and its port, or the proxy"
    return ""


def trouble(exc: Exception, host: str | None = None, variable: str = "HTTPS_PROXY") -> ProviderError:
    """The error for a request to `host` that was not sent. variable: what names its proxy.

    It is "unreachable", and tried again, if it may pass; "refused" if it lasts until a setting changes.
    """
    if isinstance(exc, aiohttp.ClientConnectorDNSError) and host is not None and exc.host != host:
        return ProviderError(
            "unreachable", f"cannot connect: the name of the proxy is not known: check {variable}"
        )
    kind, message = _explain(exc, variable)
    # Each attempt lasts as long as a connection may take, and includes several packets.
    retries = 1 if isinstance(exc, aiohttp.ConnectionTimeoutError) else None
    return ProviderError(kind, f"cannot connect: {message}", retries=retries)


def _explain(exc: Exception, variable: str) -> tuple[str, str]:
    match exc:
        case aiohttp.ClientHttpProxyError():
            if exc.status == 407:
                hint = f"check the user and the password in {variable}"
            else:
                hint = f"check {variable}, or name the host in NO_PROXY if it needs no proxy"
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
            return _explain_tls(exc.args[-1] if exc.args else exc, exc)
        case aiohttp.ClientConnectorDNSError() if (
            isinstance(exc.os_error, gaierror) or not exc.os_error.errno
        ):
            return "unreachable", "the name of the host is not known: check base_url and the network"
        case aiohttp.ConnectionTimeoutError():
            return "unreachable", f"nothing answers: check base_url, the network and {variable}"
        case aiohttp.ClientConnectorError():
            return "unreachable", _explain_socket(exc)
    return "unreachable", str(exc)


def _explain_tls(cause: object, exc: Exception) -> tuple[str, str]:
    inner = getattr(exc, "certificate_error", None) or getattr(exc, "os_error", None) or cause
    if isinstance(inner, ssl.SSLCertVerificationError):
        words = (inner.verify_message or "not trusted").removesuffix(".")
        fix = CERTIFICATES.get(
            inner.verify_code, "set SSL_CERT_FILE to a file with the certificate of its authority"
        )
        return "refused", f"the certificate of the host is not accepted ({words}): {fix}"
    reason = getattr(inner, "reason", None) or str(inner)
    return "refused", f"the host does not speak TLS ({reason}): check whether base_url starts with http://"


def unreadable_certificates(exc: OSError) -> str:
    """Why the certificates that the environment names cannot be used, and what to do."""
    variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "")
    words = getattr(exc, "reason", None) or exc.strerror or str(exc)
    fix = f"name a file in PEM form in {variable}, or unset it" if variable else "repair them"
    place = f" in {os.environ[variable]}" if variable else ""
    return f"the certificates of authorities{place} cannot be read ({words}): {fix}"


def _explain_socket(exc: aiohttp.ClientConnectorError) -> str:
    if isinstance(exc.os_error, ConnectionRefusedError):
        usual = LOCAL_SERVERS.get(exc.port or 0)
        return "connection refused: is its server running?" + (f" ({usual})" if usual else "")
    if exc.os_error.errno in (ENETUNREACH, EHOSTUNREACH):
        return "no route to the host: check the network"
    return f"{_reason(exc)}: check base_url and the network"


def _reason(exc: aiohttp.ClientConnectorError) -> str:
    """The operating system's words, without the address."""
    if isinstance(exc.os_error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(exc.os_error, ConnectionResetError):
        return "the connection was closed"
    return exc.os_error.strerror or type(exc.os_error).__name__
