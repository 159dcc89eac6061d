"""The types of settings with the address of a host. No message shows one: it may hold a secret."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator

__all__ = ["BaseUrl", "HostUrl", "host_url", "plain_url"]

SECRET = re.compile(r"key|token|secret|sig|auth|pass|code", re.IGNORECASE)
"""What the names of parameters hold whose values are keys."""

ORIGIN = re.compile(r"^https?://[^/]*", re.IGNORECASE)
"""What capital letters do not change in an address."""
ENDPOINT = re.compile(r"(/chat/completions|/completions|/responses|/messages)/?$")
"""What documents of hosts print after the address that is wanted here."""
OWN = re.compile(r"(/(?:api/(?:v1/)?)?generate(?:_stream)?|/api/chat|/invocations|/invoke|/predict)/?$")
"""Where servers have an API of their own, which is not OpenAI's."""


def plain_url(base_url: str | None, *, without: str = "user, password, query or fragment") -> str | None:
    """Return the address of a host, its scheme and name in small letters. Raises `ValueError`, which never
    shows it, if it has more than a path.

    without: what it must not have, for the message.
    """
    if base_url is None:
        return None
    base_url = ORIGIN.sub(lambda found: found[0].lower(), base_url)
    if not re.match(r"https?://(?!/)", base_url):
        raise ValueError("must start with http:// or https://")
    if re.search(r"\s", base_url):
        raise ValueError("must be an address without spaces")
    if re.search(r"[@?#\\]", base_url):
        raise ValueError(f"must be an http or https address, without {without}")
    try:
        url = urlsplit(base_url)
        fine = bool(url.hostname) and url.port != 0
    except ValueError:
        fine = False
    if not fine:
        raise ValueError(
            "must be an address such as http://host:8000/v1, or http://[::1]:8000/v1 for IPv6, "
            "with a port from 1 to 65535 or none"
        )
    _check_is_ascii(url.hostname or "")
    if not base_url.isascii() or not base_url.isprintable():
        raise ValueError("must have other characters than those of ASCII written as %XX in its path")
    if found := ENDPOINT.search(url.path):
        raise ValueError(f"must be the address without {found[0]}, which pnyx adds")
    if found := OWN.search(url.path):
        raise ValueError(
            f"must be the address of an API that pnyx speaks, and {found[0]} is one of the server's own: its "
            "OpenAI API is mostly at an address that ends with /v1"
        )
    return base_url


def _check_is_ascii(host: str) -> None:
    """Raise `ValueError` for a host in other letters, with its name in ASCII if it has one."""
    if not host.isascii():
        try:
            name = f": write it as {host.encode('idna').decode()}"
        except UnicodeError:
            name = ""
        raise ValueError(f"must have the name of its host in ASCII letters{name}")


def host_url(base_url: str | None) -> str | None:
    """Like `plain_url`, with a query: Azure wants the version of its API in one. It may hold no key."""
    if base_url is None:
        return None
    address, mark, query = base_url.partition("?")
    address = plain_url(address, without="user, password or fragment") or ""
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    if re.search(r"[\s@?#\\]|[^ -~]", query) or any(map(SECRET.search, names)):
        raise ValueError("must be an http or https address whose query, if any, has no key: set api_key_env")
    return address + mark + query


BaseUrl = Annotated[str | None, AfterValidator(plain_url)]
HostUrl = Annotated[str | None, AfterValidator(host_url)]
