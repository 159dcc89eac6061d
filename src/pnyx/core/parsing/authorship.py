"""The author's own words in a reply, without those that it quotes, reports or only imagines.

Decided by the block around the words, the line that introduces them, their quotation marks, and the text
before them in the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..caching.regex import regex
from ..markup.notation import plain
from ..markup.quoting import Line, lines
from ..markup.reasoning import split
from .attribution import begins_with_other, introduces_author, is_reported
from .json_objects import find_objects
from .translations import in_english, object_in_english

__all__ = ["OwnWords", "Sentence", "Unreadable", "own_lines", "own_words"]

MAX_CHARS = 100_000
"""The longest reply that is parsed for a verdict, in characters; a verdict has a few lines."""


class Unreadable(ValueError):  # noqa: N818 - named after what happened, as the tree in errors.py is
    """A reply whose verdict cannot be read. The message is for its author: what is wrong and what to
    write."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the author in plain notation, without leading marks. place: its number, from 0."""

    text: str
    place: int


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The author's own words in a reply.

    written: all lines of the reply. lines: the same lines, empty if they are quoted, reported or JSON.
    objects: the author's JSON objects.
    """

    written: tuple[str, ...]
    lines: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    objects: tuple[dict[str, Any], ...]

    def after(self, place: int) -> str:
        """The sentence after number `place`; empty after the last."""
        return self.sentences[place + 1].text if place + 1 < len(self.sentences) else ""


def own_words(text: str, words: re.Pattern[str], author: str = "") -> OwnWords:
    """The author's own words in `text`. Quotations that contain one of `words` are removed.

    author: the label of the seat that wrote it. Raises `Unreadable` if `text` is longer than `MAX_CHARS`.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable(f"the reply is longer than {MAX_CHARS:,} characters: give the verdict alone")
    text = in_english(text, words)
    written = lines(_without_copies(_COMMENT.sub(" ", text.replace("&gt;", ">"))))
    author_lines = list(_without_reports(_without_blocks(written, author), author))
    body, objects, rest, end = "\n".join(author_lines), list[dict[str, Any]](), list[str](), 0
    for found in find_objects(body):
        before = body[body.rfind("\n", 0, found.start) + 1 : found.start]
        if not is_reported(_normalize(before), author=author):
            objects.append(object_in_english(found.value, words))
        rest += [body[end : found.start], "\n" * body.count("\n", found.start, found.end)]
        end = found.end
    author_lines = "".join([*rest, body[end:]]).split("\n")
    return OwnWords(
        tuple(line.text for line in written) or ("",),
        tuple(author_lines),
        _sentences(author_lines, words, author),
        tuple(objects),
    )


def own_lines(text: str, form: re.Pattern[str]) -> list[int]:
    """The indices of the lines of `text.splitlines()` that match `form` and are the author's own.

    A label in another language matches like the English one (`translations.py`).

    Raises `Unreadable` as `own_words` does.
    """
    written = in_english(text, form).splitlines()
    # Lines below cannot make a line a quotation, except the end of reasoning.
    reasoning_end = text[: split(text).start].count("\n")
    return [
        place
        for place, line in enumerate(written)
        if place >= reasoning_end
        and form.match(line)
        and own_words("\n".join(written[: place + 1]), form).lines[-1].strip()
    ]


_COMMENT = regex(r"<!--.*?(?:-->|\Z)|~~[^~\n]+~~", re.DOTALL)
_COPIED = regex(r"<(/?)(m[0-9a-f]{10}|blockquote|quote|q|cite|del|strike)\b[^<>\n]*>", re.IGNORECASE)
_FENCE = regex(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})")


def _without_blocks(written: list[Line], author: str) -> list[str]:
    """The lines of `written`, empty if they are in a quoted block.

    A code block is the author's own if it is the whole reply, holds a JSON object, or follows "my vote:".
    """
    out, above, place = list[str](), "", 0
    last = max((n for n, line in enumerate(written) if line.text.strip()), default=0)
    while place < len(written):
        line = written[place]
        mark = _FENCE.match(line.text) if line.quoted else None
        if not mark:
            out.append("" if line.quoted else line.text)
            above = out[-1].strip() or above
            place += 1
            continue
        end = place + 1
        while end < len(written) and written[end].quoted and not _closes(written[end], mark[1]):
            end += 1
        inside = [line.text for line in written[place + 1 : end]]
        whole = not above and end >= last
        mine = whole or introduces_author(_normalize(above), author) or any(find_objects("\n".join(inside)))
        out += ["", *(inside if mine else [""] * len(inside)), ""]
        place = end + 1
    return out[: len(written)]


def _closes(line: Line, mark: str) -> bool:
    return line.text.strip().startswith(mark) and not line.text.strip().strip(mark[0])


def _without_copies(text: str) -> str:
    """`text` without the content of quotation tags, including the fences of a prompt."""
    tags = list(_COPIED.finditer(text))
    last = {tag[2].lower(): tag.start() for tag in tags if tag[1]}
    parts, start, inside = list[str](), 0, ""
    for tag in tags:
        name = tag[2].lower()
        if not inside and not tag[1] and last.get(name, -1) > tag.start():
            parts.append(text[start : tag.start()])
            inside = name
        elif inside == name and tag[1]:
            start, inside = tag.end(), ""
    return " ".join([*parts, text[start:]])


_LISTING = regex(
    r"\b(?:options?|choices|examples?|format|template|instructions?|ballots?)\W*\Z", re.IGNORECASE
)


def _without_reports(author_lines: list[str], author: str) -> Iterator[str]:
    """Yield `author_lines`, empty if they are attributed to others or are only possibilities.

    A line is attributed by its start ("Participant A: ..."), or by a heading or a line with a final colon
    above it, which covers the next paragraph.
    """
    covers = introduces = False
    for line in author_lines:
        bare = _normalize(line)
        if not bare:
            covers = covers and introduces
            yield line
            continue
        heading = line.lstrip().startswith("#")
        theirs = begins_with_other(f"{bare}: ." if heading else bare, author)
        introduces = heading or bare.endswith(":")
        yield "" if covers or theirs else line
        if introduces and introduces_author(bare, author):
            covers = False
        elif introduces:
            covers = theirs or (
                not heading and bool(_LISTING.search(bare) or is_reported(bare, author=author))
            )


_MARKS = regex(r"[\W_]*(?:(?:\d{1,2}|[ivx]{1,4})[.)]\s+)?[\W_]*", re.IGNORECASE)
_MARKED = regex(r"[^\x00-\x7f]|[*_~`\\$^{]")
_NUMBER = regex(r"^[\s*+#-]*(?:\d{1,2}|[ivx]{1,4})[.)]\s+", re.IGNORECASE)
_NO_PROSE = regex(
    r"[\s*+-]*(?:\[\s?\]|\(\s\)|[☐⬜◻○❑▢])|\s*(?:\{\s*(?:\w+\s*:\s*)?(?:[\"'“]|\Z)|[\"'“]\w+[\"'”]\s*:)"
)
"""A box that is not ticked, or a line of an object that could not be read whole."""

_TAG = regex(
    r"</?(?:vote|ballot|answer|verdict|decision|final|output|response|result|directive|approval|pick|class"
    r"|b|i|u|em|strong|code|mark|p|br|div|span|li|ul|ol|td|tr|h\d|center)\s*/?>",
    re.IGNORECASE,
)
_QUOTATION = regex(
    r'(?<!\w)"[^"\n]{1,400}"|“[^“”\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»|「[^「」\n]{1,400}」'
    r"|『[^『』\n]{1,400}』|`[^`\n]{1,400}`|(?<!\w)'(?=\S)[^\n]{1,300}?(?<=\S)'(?!\w)|‘[^‘\n]{1,300}?’(?!\w)"
)
_END = regex(r"(?<=[.!?;。！？；])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)[\"'”’)*_]*\s+", re.IGNORECASE)
_SHORT = 200
"""Characters before a quotation that are searched for its speaker."""

_LONGEST = 2_000
"""The longest sentence in characters; of a longer one only the start and the end are read."""


def _sentences(author_lines: list[str], words: re.Pattern[str], author: str) -> tuple[Sentence, ...]:
    sentences = (
        _normalize(sentence)
        for line in author_lines
        if line and not line.isspace() and not _NO_PROSE.match(line)
        for sentence in _END.split(_unquoted(_TAG.sub(" ", _NUMBER.sub("", line)), words, author))
    )
    return tuple(Sentence(text, place) for place, text in enumerate(filter(None, sentences)))


def _unquoted(line: str, words: re.Pattern[str], author: str) -> str:
    """`line` without quotations that contain `words`, unless the quotation is the line or follows "I
    vote"."""

    def shown(match: re.Match[str]) -> str:
        if not words.search(match[0] if match[0].isascii() else plain(match[0])):
            return match[0]
        start, end = match.span()
        alone = not (re.search(r"\w", line[:start]) or re.search(r"\w", line[end:]))
        led = introduces_author(_normalize(line[max(0, start - _SHORT) : start]), author)
        return match[0][1:-1] if alone or led else '""'

    # Letters may be full-width, so that `words` match only in plain notation.
    return _QUOTATION.sub(shown, line) if words.search(line) or not line.isascii() else line


def _normalize(line: str) -> str:
    """`line` in plain notation, without leading marks."""
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} {line[-_LONGEST // 2 :]}"
    # Most lines are plain already, and `plain` is slow.
    text = plain(line).replace("`", "'") if _MARKED.search(line) else " ".join(line.split())
    return text[marks.end() :] if (marks := _MARKS.match(text)) else text
