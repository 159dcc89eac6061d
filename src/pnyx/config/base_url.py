"""The type of a setting with the address of a host."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

__all__ = ["BaseUrl"]


def _plain_url(base_url: str | None) -> str | None:
    if base_url is None:
        return None
    try:
        url = urlsplit(base_url)
        fine = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port)
    except ValueError:
        fine = False
    if not fine or re.search(r"[\s@?#\\]|[^ -~]", base_url):
        raise ValueError("must be an http or https address, without user, password, query or fragment")
    return base_url


BaseUrl = Annotated[str | None, AfterValidator(_plain_url)]
