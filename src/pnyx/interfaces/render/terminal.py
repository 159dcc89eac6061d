"""Untrusted text made safe for a terminal. Nothing here parses markup.

Control characters become their symbols, and characters that reorder or hide text become U+FFFD. So no text
from a model, a web page or a host can move the cursor, set the title, write to the clipboard or reverse a
line. JSON output is not changed: it is exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ...core.caching.regex import regex

__all__ = ["ClosedPipe", "clip", "columns", "cut", "excerpt", "flat", "safe", "wrap"]

HANG = 4
"""Cells by which the lines of a wrapped row are indented where no column is."""
NARROWEST = 12
"""The least width of a column in which text is wrapped, in characters."""
_UNSAFE = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, embeddings, overrides, isolates
    "\ufff9-\ufffb\U000e0000-\U000e007f"  # annotations and tags: text that is not shown
    "\ud800-\udfff]"  # halves of characters
)
_BREAK = regex("\r\n|[\u2028\u2029]")
_WIDE = "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6"
"""Chinese and Japanese characters, between which a line may end."""
_CLOSING = "\u3001\u3002\uff0c\uff0e\uff1a\uff1b\uff01\uff1f\uff09\u300d\u300f\u3011\u3009\u300b\u2026\u30fc"
"""Signs with which no line starts: commas, stops, closing brackets, the sign of a long vowel."""
_NOT_ONE_CELL = regex("[^\x00-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0590\u2010-\u2027\u2030-\u205f]")
"""Characters that may not take one cell; Latin, Greek and Cyrillic letters and dashes do."""
_CHUNK = regex(
    r"(\s*)("
    r"(?<=[:·]\s)pnyx [a-z][^;`]*$|"  # a command to copy stays on one line
    r"[\d.,]+ (?:s|min|h|B|kB|MB|GB|%)(?![^\s.,;:)])"  # a figure stays with its unit
    rf"|[{_WIDE}][{_CLOSING}]*"
    rf"|[^\s{_WIDE}]+)"
)
_WORD = regex(r"(\s*)(\S+)")


class ClosedPipe(Exception):  # noqa: N818 (an event, named after what happened)
    """The reader of our output has closed the pipe. Not an `OSError`, because click handles those itself."""


def safe(text: str) -> str:
    """`text` with line breaks and tabs unchanged and all other control characters replaced."""
    if text.replace("\n", " ").isprintable():
        return text  # most texts; the patterns take ten times as long
    return _UNSAFE.sub(_inert, _BREAK.sub("\n", text))


def _inert(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def flat(text: str) -> str:
    """`text` as one safe line, with runs of whitespace as one space."""
    if text.isprintable() and "  " not in text and text.strip() == text:
        return text  # most texts of a list, each of which comes here several times
    return " ".join(safe(text).split())


def clip(text: str, width: int) -> str:
    """`text` as one safe line of at most `width` cells. Of a long text, it reads only the start."""
    size = 4 * width + 100
    while len(line := flat(text[:size])) <= width and size < len(text):
        size *= 4
    return cut(line, width)


def cut(line: str, width: int) -> str:
    """A safe line of at most `width` cells, with its spaces; "…" if something is left out."""
    if max(len(line), _cells(line)) <= width:
        return line
    line = line[: max(width - 1, 0)]
    while _cells(line) >= width:
        line = line[:-1]
    return line.rstrip() + "…"


def excerpt(text: str, lines: int = 6, chars: int = 500) -> str:
    """The start of `text`, safe, without blank lines; "…" if something is left out."""
    filled = [line.rstrip() for line in safe(text[: 4 * chars]).split("\n") if line.strip()]
    short = "\n".join(filled[:lines])
    if len(short) > chars:
        short = short[:chars].rsplit(" ", 1)[0]
    return short if len(short) == len("\n".join(filled)) and len(text) <= 4 * chars else short.rstrip() + " …"


def wrap(text: str, width: int, indent: str = "") -> Iterator[str]:
    """Wrap `text` between words to fit `width` cells. Fenced and indented code is not wrapped."""
    fenced = False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if fence or fenced or _cells(line) <= width - len(indent) or line.startswith(("    ", "\t", "|")):
            yield (indent + line).rstrip()
        else:
            hang = indent + " " * len(re.match(r"\s*(?:[-*+] |\d+[.)] )?", line)[0])  # type: ignore[index]
            yield from _fill(line, width, indent, hang)


def _fill(text: str, width: int, first: str, hang: str) -> Iterator[str]:
    """`text` as lines of at most `width` cells; a word that is wider is cut."""
    line, used = "", _cells(first)
    for blank, word in _words(text, width - _cells(hang)):
        # Of a line of n words, n widths are computed and not n²/2.
        more = _cells(blank) + _cells(word)
        if used + more <= width:
            line, used = (line or first) + blank + word, used + more
            continue
        if line:
            yield line
        line = hang if line else first
        used = _cells(line)
        for char in word:
            used += (cells := _cells(char))
            if used > width and line.strip():
                yield line
                line, used = hang, _cells(hang) + cells
            line += char
    yield line or first


def _words(text: str, room: int) -> Iterator[tuple[str, str]]:
    """What stays together, with the blanks before it. A command that is wider than `room` does not."""
    for blank, word in _CHUNK.findall(text):
        if word.startswith("pnyx ") and _cells(word) > room:
            yield from _WORD.findall(blank + word)
        else:
            yield blank, word


def _cells(text: str) -> int:
    """The width of `text` on a terminal: Chinese and Japanese characters and emoji take two cells."""
    if text.isascii() or not _NOT_ONE_CELL.search(text):
        return len(text)
    from rich.cells import cell_len  # here: most commands show no such text, and start faster

    return cell_len(text)


def columns(
    rows: Iterable[Sequence[str]],
    right: Sequence[int] = (),
    width: int | None = None,
    least: Sequence[int] = (),
) -> Iterator[str]:
    """Rows as aligned columns, two spaces apart; `right`: the numbers of right-aligned columns.

    width: the last column is wrapped to fit it, or the whole row if the column has fewer than `NARROWEST`.
    least: columns that are left out, in this order, until the others fit.
    """
    cells = [[flat(cell) for cell in row] for row in rows]
    widths = {i: max(map(_cells, column)) for i, column in enumerate(zip(*cells, strict=True))}
    for i in least:
        if width is not None and sum(widths.values()) + 2 * (len(widths) - 1) > width:
            widths.pop(i, None)
    hang = sum([*widths.values()][:-1]) + 2 * (len(widths) - 1)
    for row in cells:
        padded = []
        for i, most in widths.items():
            blank = " " * (most - _cells(row[i]))
            padded.append(blank + row[i] if i in right else row[i] + blank)
        line = "  ".join(padded).rstrip()
        if width is None or _cells(line) <= width:
            yield line
        else:
            yield from _fill(line, width, "", " " * (hang if width - hang >= NARROWEST else HANG))
