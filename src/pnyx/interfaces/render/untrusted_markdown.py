"""Untrusted Markdown as harmless HTML: no HTML tags of its own, no images, links that show their host."""

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

from ...core.caching.regex import regex
from .terminal import safe

__all__ = ["link", "to_html"]

REL = "noopener noreferrer nofollow"
_ALLOWED = regex(r"(?:https?://|mailto:)\S", re.IGNORECASE)
LONGEST = 100_000
"""Longest text that is parsed as Markdown, in characters; a longer one is shown as it is."""


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 (the parser's own name)
        """Whether `url` becomes a link; other URLs stay text."""
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


def to_html(text: str, level: int) -> str:
    """`text` as HTML. level: of its largest heading, such as 3 for h3."""
    if len(text) > LONGEST:
        return f"<pre>{escape(safe(text))}</pre>"
    reader = _reader()
    tokens = reader.parse(safe(text))
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = f"h{min(6, level - 1 + int(token.tag[1]))}"
        elif "style" in token.attrs:
            # The alignment of a column, as a class, because the page's policy forbids inline styles.
            token.attrs = {"class": str(token.attrs["style"]).rpartition(":")[2]}
        elif token.children:
            token.children = list(_inline(token.children, reader.options))
    # Again after rendering: characters that reorder text may have been written as `&#8238;`.
    return safe(_RENDERER.render(tokens, reader.options, {}))


def link(url: str, label: str) -> str:
    """A link to `url` that shows its host; only the label if the URL is not http, https or mailto."""
    if not _ALLOWED.match(url):
        return escape(label)
    return f'<a href="{escape(url)}" rel="{REL}">{escape(label)}</a>{_host_note(url, label)}'


def _inline(tokens: Iterable[Token], options: OptionsDict) -> Iterator[Token]:
    """The tokens with images as links, and with links that show their host."""
    href, label = "", ""
    for token in tokens:
        if token.type == "image":
            words = _RENDERER.renderInlineAsText(token.children, options, {}) or "image"
            label += words
            yield _html(escape(words) if href else link(str(token.attrs["src"]), words))
            continue
        if token.type == "link_open":
            href, label = str(token.attrs["href"]), ""
            token.attrs["rel"] = REL
        label += token.content
        yield token
        if token.type == "link_close":
            yield _html(_host_note(href, label))
            href = ""


def _html(content: str) -> Token:
    return Token("html_inline", "", 0, content=content)


def _host_note(url: str, label: str) -> str:
    """The host of a link, unless its label is the host or the URL."""
    try:
        host = urlsplit(url).hostname or url.partition(":")[2]
    except ValueError:
        host = url
    return "" if label in (url, host) else f' <small class="host">{escape(host)}</small>'
