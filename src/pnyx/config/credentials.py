"""Keys and passwords, where the environment and addresses hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from ..errors import ConfigError

__all__ = ["database_secrets", "key_in", "proxy_secrets"]

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
"""Variables that name proxies, in capitals or not."""


def key_in(variable: str, owner: str, env: Mapping[str, str]) -> str | None:
    """The key that a variable holds, without blanks around it; None without one.

    Raises `ConfigError` that names the variable where it holds what no header can carry. owner: whose key it
    is, as in "provider lab".
    """
    key = env.get(variable, "").strip()
    if key and not re.fullmatch("[!-~]+", key):
        raise ConfigError(
            f"${variable}, the key of {owner}, holds a blank, a line break or something else that no key "
            "has; set it to the key alone"
        )
    return key or None


def database_secrets(url: str) -> tuple[str, ...]:
    """Passwords in a database URL, as written and as meant; longest first, for one may hold another."""
    scheme, _, rest = url.partition("://")
    # What stands before an @ in a path is no password, and would be masked wherever it is said.
    who, _, where = (rest if scheme.startswith("postgres") else "").rpartition("@")
    written = [who.partition(":")[2], *re.findall(r"[?&]\w*password=([^&]*)", where, re.IGNORECASE)]
    found = {form for secret in written for form in (secret, unquote(secret)) if secret}
    return tuple(sorted(found, key=len, reverse=True))


def proxy_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Users and passwords of the proxies that the environment names, as written and as meant."""
    written: list[str] = []
    for name in PROXIES:
        for value in (env.get(name, ""), env.get(name.lower(), "")):
            # Of the last "@": what stands before it may itself be no proper part of a URL.
            user, at, _ = value.rpartition("://")[2].rpartition("@")
            if at:
                written += user.split(":", 1)
    return tuple({form for secret in written for form in (secret, unquote(secret)) if secret})
