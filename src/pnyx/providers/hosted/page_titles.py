"""What a web page says that comes in place of a reply."""

from __future__ import annotations

import re

from ...core.caching.regex import regex

__all__ = ["page_title"]

MAX_CHARS = 20_000
"""Of a page, in which a title is searched."""


def page_title(body: str) -> str:
    """The title of a web page, or else its first words, without scripts."""
    page = body[:MAX_CHARS]
    if (title := _TITLE.search(page)) and title[1].strip():
        return " ".join(title[1].split())
    return " ".join(_MARKUP.sub(" ", _HIDDEN.sub(" ", page)).split())


_TITLE = regex(r"<title[^>]*>([^<]*)</title", re.IGNORECASE)
_HIDDEN = regex(r"<(script|style)\b.*?(?:</\1|$)", re.IGNORECASE | re.DOTALL)
_MARKUP = regex(r"<[^>]*>")
