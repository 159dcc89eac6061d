"""Why no connection to a host came about, and what to do, in one line.

A message holds no address of a proxy, which may contain a password.
"""

from __future__ import annotations

import os
import ssl
from errno import EHOSTUNREACH, ENETUNREACH

import aiohttp

from ...errors import ProviderError

__all__ = ["NO_TLS", "SOCKS", "trouble", "unreadable_certificates"]

NO_TLS = "the host speaks TLS: check whether base_url starts with https://"
SOCKS = "SOCKS proxies are not supported: set HTTPS_PROXY to an HTTP proxy, or unset ALL_PROXY"
OLLAMA_PORT = 11434


def trouble(exc: Exception) -> ProviderError:
    """The error for a request that was not sent.

    It is "unreachable", and tried again, if it may pass; "refused" if it lasts until a setting changes.
    """
    kind, message = _explain(exc)
    # Each attempt lasts as long as a connection may take, and includes several packets.
    retries = 1 if isinstance(exc, aiohttp.ConnectionTimeoutError) else None
    return ProviderError(kind, f"cannot connect: {message}", retries=retries)


def _explain(exc: Exception) -> tuple[str, str]:
    match exc:
        case aiohttp.ClientHttpProxyError():
            hint = ": check the user and the password in HTTPS_PROXY" if exc.status == 407 else ""
            return "refused" if exc.status == 407 else "unreachable", (
                f"the proxy answers HTTP {exc.status}: {exc.message}{hint}"
            )
        case aiohttp.InvalidURL():
            return "refused", (
                "the address of the host, or of its proxy, is not a URL: "
                "check base_url, and that HTTPS_PROXY starts with http://"
            )
        case aiohttp.ClientProxyConnectionError():
            return "unreachable", f"the proxy cannot be reached ({_reason(exc)}): check HTTPS_PROXY"
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return _explain_tls(exc.args[-1] if exc.args else exc, exc)
        case aiohttp.ClientConnectorDNSError():
            return "unreachable", "the name of the host is not known: check base_url and the network"
        case aiohttp.ConnectionTimeoutError():
            return "unreachable", "nothing answers: check base_url, the network and HTTPS_PROXY"
        case aiohttp.ClientConnectorError():
            return "unreachable", _explain_socket(exc)
    return "unreachable", str(exc)


def _explain_tls(cause: object, exc: Exception) -> tuple[str, str]:
    inner = getattr(exc, "certificate_error", None) or getattr(exc, "os_error", None) or cause
    if isinstance(inner, ssl.SSLCertVerificationError):
        words = inner.verify_message or "not trusted"
        return "refused", (
            f"the certificate of the host is not accepted ({words}): "
            "set SSL_CERT_FILE to a file with the certificate of its authority"
        )
    reason = getattr(inner, "reason", None) or str(inner)
    return "refused", f"the host does not speak TLS ({reason}): check whether base_url starts with http://"


def unreadable_certificates(exc: OSError) -> str:
    """Why the certificates that the environment names cannot be used, and what to do."""
    variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "")
    words = getattr(exc, "reason", None) or exc.strerror or str(exc)
    fix = f"name a file in PEM form in {variable}, or unset it" if variable else "repair them"
    return f"the certificates of authorities cannot be read ({words}): {fix}"


def _explain_socket(exc: aiohttp.ClientConnectorError) -> str:
    if isinstance(exc.os_error, ConnectionRefusedError):
        start = "start it with: ollama serve" if exc.port == OLLAMA_PORT else "is its server running?"
        return f"connection refused: {start}"
    if exc.os_error.errno in (ENETUNREACH, EHOSTUNREACH):
        return "no route to the host: check the network"
    return f"{_reason(exc)}: check base_url and the network"


def _reason(exc: aiohttp.ClientConnectorError) -> str:
    """The operating system's words, without the address."""
    return exc.os_error.strerror or type(exc.os_error).__name__
