"""Markdown of others as HTML that does nothing: no tags of theirs, no images, links that say where to."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from ...core.regex import regex
from .terminal import safe

__all__ = ["link", "rendered"]

REL = "noopener noreferrer nofollow"
_ALLOWED = regex(r"(?:https?://|mailto:)\S", re.IGNORECASE)
LONGEST = 100_000
"""Characters of a text that are read as Markdown; what is longer stays as it is."""


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 (the parser's own name)
        """Whether it is a link; what is none stays text."""
        return _ALLOWED.match(url) is not None


class _Renderer(RendererHTML):
    def table_open(self, *_: Any) -> str:
        return '<div class="wide" tabindex="0"><table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"


_RENDERER = _Renderer()


@functools.cache
def _reader() -> MarkdownIt:
    return _Reader("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


def rendered(text: str, level: int) -> str:
    """`text` as HTML below a heading of `level` - 1, at which its own headings begin."""
    if len(text) > LONGEST:
        return f"<pre>{escape(safe(text))}</pre>"
    reader = _reader()
    tokens = reader.parse(safe(text))
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = f"h{min(6, level - 1 + int(token.tag[1]))}"
        elif "style" in token.attrs:
            # A column that is set to the right or the middle; a page's policy allows no styles of others.
            token.attrs = {"class": str(token.attrs["style"]).rpartition(":")[2]}
        elif token.children:
            token.children = list(_inline(token.children, reader.options))
    # Characters that turn text around come as `&#8238;` too.
    return safe(_RENDERER.render(tokens, reader.options, {}))


def link(url: str, told: str) -> str:
    """A link to `url` that says where it leads; only its words where it is none of the web or of mail."""
    if not _ALLOWED.match(url):
        return escape(told)
    return f'<a href="{escape(url)}" rel="{REL}">{escape(told)}</a>{_whither(url, told)}'


def _inline(tokens: Iterable[Token], options: OptionsDict) -> Iterator[Token]:
    """The same without images, and with links that say where they lead."""
    href, told = "", ""
    for token in tokens:
        if token.type == "image":
            words = _RENDERER.renderInlineAsText(token.children, options, {}) or "image"
            told += words
            yield _html(escape(words) if href else link(str(token.attrs["src"]), words))
            continue
        if token.type == "link_open":
            href, told = str(token.attrs["href"]), ""
            token.attrs["rel"] = REL
        told += token.content
        yield token
        if token.type == "link_close":
            yield _html(_whither(href, told))
            href = ""


def _html(content: str) -> Token:
    return Token("html_inline", "", 0, content=content)


def _whither(url: str, told: str) -> str:
    """Where a link leads, where its words do not say so."""
    try:
        place = urlsplit(url).hostname or url.partition(":")[2]
    except ValueError:
        place = url
    return "" if told in (url, place) else f' <small class="host">{escape(place)}</small>'
