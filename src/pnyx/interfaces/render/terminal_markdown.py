"""Untrusted Markdown on a terminal: headings, lists, code and tables, wrapped to its width.

Only what a terminal shows safely: control characters are replaced after entities are decoded, HTML stays
text, and links show their address.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, TableElement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .terminal import safe

__all__ = ["LONGEST", "render_markdown"]

LONGEST = 100_000
"""Longest text that is parsed as Markdown, in characters; a longer one is shown as it is."""
LONGEST_WORD = 16
"""Words up to this width are not cut in the cells of a table."""


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Table(TableElement):
    """A table whose columns all fit; where they cannot, a list of the cells of each row.

    The table of rich cuts off what does not fit.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            widths = _column_widths([names, *rows], options.max_width - 2 * len(names))
            if widths is None:
                yield from (_record(names, row) for row in rows)
                continue
            for column, width in zip(table.columns, widths, strict=True):
                column.width, column.overflow = width, "fold"
            yield table


def _record(names: Iterable[Text], row: Iterable[Text]) -> Padding:
    """A row as a list of its cells."""
    cells = [Text.assemble((name.plain, "bold"), ": ", cell) for name, cell in zip(names, row, strict=True)]
    return Padding(Text("\n").join(cells), (0, 0, 1, 1))


def _column_widths(rows: Iterable[Iterable[Text]], width: int) -> list[int] | None:
    """The widths of columns that take at most `width` cells; None if words would be cut."""
    columns = list(zip(*rows, strict=True))
    most = [max(cell.cell_len for cell in column) for column in columns]
    widths = [
        min(LONGEST_WORD, max((cell_len(word) for cell in column for word in cell.plain.split()), default=1))
        for column in columns
    ]
    spare = width - sum(widths)
    if spare < 0:
        return None
    while spare and (wanting := [i for i, one in enumerate(widths) if one < most[i]]):
        widths[min(wanting, key=lambda i: widths[i] / most[i])] += 1
        spare -= 1
    return widths


class _Markdown(Markdown):
    # A copy: the class of rich is shared by the whole process.
    elements = {  # noqa: RUF012 (as in the class of rich)
        **Markdown.elements,
        "heading_open": _Heading,
        "table_open": _Table,
    }

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
        elif token.type == "image":
            # rich moves a picture to the front of its paragraph, without its address.
            address = token.attrs.get("src")
            token = Token("text", "", 0, content=f"{token.content or 'picture'} ({address})")
        if token.children:
            token.children = _single_addresses(list(_inert(token.children)))
        yield token


def _single_addresses(tokens: list[Token]) -> list[Token]:
    """The tokens without links whose text is their address, which rich would print twice."""
    extra = set[int]()
    for n, (opens, text, closes) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False)):
        address = str(opens.attrs.get("href")).removeprefix("mailto:")
        if (opens.type, closes.type) == ("link_open", "link_close") and text.content == address:
            extra |= {n, n + 2}
    return [token for n, token in enumerate(tokens) if n not in extra]
