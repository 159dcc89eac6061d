"""What a web page, or a document of XML, says that comes in place of a reply."""

from __future__ import annotations

import re

from ...core.caching.regex import regex

__all__ = ["is_xml", "page_title", "xml_code"]

MAX_CHARS = 20_000
"""Of a page, in which a title is searched."""


def page_title(body: str) -> str:
    """The title of a web page, or else its first words, without scripts."""
    page = body[:MAX_CHARS]
    if (title := _TITLE.search(page)) and title[1].strip():
        return " ".join(title[1].split())
    return " ".join(_MARKUP.sub(" ", _HIDDEN.sub(" ", page)).split())


def is_xml(body: str) -> bool:
    """Whether a body that starts with "<" is the report of a program, and no page for people."""
    return _XML.match(body[:MAX_CHARS]) is not None


def xml_code(body: str) -> str:
    """The code in a report of XML; "" if it has none."""
    found = _CODE.search(body[:MAX_CHARS])
    return found[1] if found else ""


_XML = regex(
    r"\s*<(?:\?xml\b(?!.*<html)|(?:\w+:)?(?:error|fault|envelope|\w*exception)(?:response)?\b)", re.I | re.S
)
_CODE = regex(r"<(?:\w+:)?(?:error)?code>\s*([\w.]+)", re.IGNORECASE)
_TITLE = regex(r"<title[^>]*>([^<]*)</title", re.IGNORECASE)
_HIDDEN = regex(r"<(script|style)\b.*?(?:</\1|$)", re.IGNORECASE | re.DOTALL)
_MARKUP = regex(r"<[^>]*>")
