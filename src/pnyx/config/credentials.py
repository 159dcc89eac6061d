"""Keys and passwords in environment variables and URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from ..errors import ConfigError

__all__ = ["database_secrets", "key_in", "proxy_secrets"]

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
"""Variables with the URL of a proxy, in upper or lower case."""


def key_in(variable: str, owner: str, env: Mapping[str, str]) -> str | None:
    """Return the key in a variable, without surrounding whitespace, or None if there is none.

    owner: whose key it is, such as "provider lab", for messages. Raises `ConfigError` with the name of the
    variable if its value cannot be sent in a header.
    """
    key = env.get(variable, "").strip()
    if key and not re.fullmatch("[!#-&(-_a-~]+", key):
        raise ConfigError(
            f"${variable}, the key of {owner}, contains a space, a line break, a quotation mark or another "
            "character that no key has; set it to the key alone"
        )
    return key or None


def database_secrets(url: str) -> tuple[str, ...]:
    """Return the passwords in a database URL, quoted and unquoted, longest first."""
    scheme, _, rest = url.partition("://")
    # In a path, text before an @ is not a password, and masking it would hide it everywhere.
    user, _, address = (rest if scheme.startswith("postgres") else "").rpartition("@")
    quoted = [user.partition(":")[2], *re.findall(r"[?&]\w*password=([^&]*)", address, re.IGNORECASE)]
    found = {form for secret in quoted for form in (secret, unquote(secret)) if secret}
    return tuple(sorted(found, key=len, reverse=True))


def proxy_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the users and passwords of the proxies in the environment, quoted and unquoted."""
    quoted: list[str] = []
    for name in PROXIES:
        for value in (env.get(name, ""), env.get(name.lower(), "")):
            # Split at the last "@": the password itself may contain one that is not quoted.
            user, at, _ = value.rpartition("://")[2].rpartition("@")
            if at:
                quoted += user.split(":", 1)
    return tuple({form for secret in quoted for form in (secret, unquote(secret)) if secret})
