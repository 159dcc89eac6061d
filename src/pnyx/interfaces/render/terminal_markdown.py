"""Untrusted Markdown on a terminal: headings, lists, code and tables, wrapped to its width.

Only what a terminal shows safely: control characters are replaced after entities are decoded, HTML stays
text, and links show their address.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown

from .terminal import safe

__all__ = ["LONGEST", "render_markdown"]

LONGEST = 100_000
"""Longest text that is parsed as Markdown, in characters; a longer one is shown as it is."""


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    # A copy: the class of rich is shared by the whole process.
    elements = {**Markdown.elements, "heading_open": _Heading}  # noqa: RUF012 (as in the class of rich)

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        # No HTML, which would not be shown, and no escapes: models write formulas such as \(x\).
        reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        self.markup = text
        self.parsed = list(_inert(reader.disable(["escape"]).parse(text)))


def render_markdown(text: str, width: int) -> list[str]:
    """`text` as painted lines of at most `width` columns."""
    if len(text) > LONGEST:
        return safe(text).split("\n")
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system="standard", legacy_windows=False
    )
    with console.capture() as captured:
        console.print(_Markdown(safe(text)))
    return [line.rstrip() for line in captured.get().rstrip("\n").split("\n")]


def _inert(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens with safe texts; a line break of the text stays one."""
    for token in tokens:
        token.content = safe(token.content)
        token.attrs = {
            name: safe(value) if isinstance(value, str) else value for name, value in token.attrs.items()
        }
        if token.type == "softbreak":
            token.type, token.tag = "hardbreak", "br"
        if token.children:
            token.children = list(_inert(token.children))
        yield token
