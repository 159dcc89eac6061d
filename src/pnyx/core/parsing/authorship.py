"""Whose words a reply holds: its writer's, or another's that it quotes, reports or only imagines.

That shows in the block that words stand in, in the line that introduces them, in the quotation marks around
them, and in what comes before them in their sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..markup.notation import plain
from ..markup.quoting import Line, lines, unthought
from ..regex import regex
from .attribution import introduces_own, reported, speaker
from .json_objects import find_objects

__all__ = ["Heard", "Sentence", "Unreadable", "hear", "own_lines"]

LONGEST = 100_000
"""Characters of a reply that is read for a verdict, which stands in a few lines."""


class Unreadable(ValueError):  # noqa: N818 - named after what happened, as the tree in errors.py is
    """A reply from which the verdict cannot be read; the message tells its writer what was wrong."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the writer in plain notation, without the marks before it; `place` counts them from 0."""

    text: str
    place: int


@dataclass(frozen=True, slots=True)
class Heard:
    """What a writer says.

    written: the lines of the reply. lines: the same, empty where the words are another's, or JSON's.
    objects: what the writer gives as JSON.
    """

    written: tuple[str, ...]
    lines: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    objects: tuple[dict[str, Any], ...]

    def after(self, place: int) -> str:
        """The sentence after the one at `place`; empty after the last."""
        return self.sentences[place + 1].text if place + 1 < len(self.sentences) else ""


def hear(text: str, words: re.Pattern[str], own: str = "") -> Heard:
    """What the writer of `text`, whose label is `own`, says. Quotations matter that hold one of `words`.

    Raises `Unreadable` when the text is longer than anybody's verdict.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"the reply is longer than {LONGEST:,} characters: give the verdict alone")
    written = lines(_without_copies(_COMMENT.sub(" ", text.replace("&gt;", ">"))))
    kept = list(_without_reports(_without_blocks(written, own), own))
    body, objects, rest, end = "\n".join(kept), list[dict[str, Any]](), list[str](), 0
    for found in find_objects(body):
        before = body[body.rfind("\n", 0, found.start) + 1 : found.start]
        if not reported(_plainly(before), own=own):
            objects.append(found.value)
        rest += [body[end : found.start], "\n" * body.count("\n", found.start, found.end)]
        end = found.end
    kept = "".join([*rest, body[end:]]).split("\n")
    return Heard(
        tuple(line.text for line in written) or ("",),
        tuple(kept),
        _sentences(kept, words, own),
        tuple(objects),
    )


def own_lines(text: str, form: re.Pattern[str]) -> list[int]:
    """Which of `text.splitlines()` begin with `form` and are its writer's own. Raises as `hear` does."""
    written = text.splitlines()
    # What stands below a line cannot make it a quotation, but for the end of thinking aloud.
    thought = text[: len(text) - len(unthought(text))].count("\n")
    return [
        place
        for place, line in enumerate(written)
        if place >= thought
        and form.match(line)
        and hear("\n".join(written[: place + 1]), form).lines[-1].strip()
    ]


_COMMENT = regex(r"<!--.*?(?:-->|\Z)|~~[^~\n]+~~", re.DOTALL)
_COPIED = regex(r"<(/?)(m[0-9a-f]{10}|blockquote|quote|q|cite|del|strike)\b[^<>\n]*>", re.IGNORECASE)
_FENCE = regex(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})")


def _without_blocks(written: list[Line], own: str) -> list[str]:
    """The lines of `written`, empty where they are quoted as a block.

    Code is the writer's own where it is the whole reply, holds a JSON object, or follows "my vote:".
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
        mine = whole or introduces_own(_plainly(above), own) or any(find_objects("\n".join(inside)))
        out += ["", *(inside if mine else [""] * len(inside)), ""]
        place = end + 1
    return out[: len(written)]


def _closes(line: Line, mark: str) -> bool:
    return line.text.strip().startswith(mark) and not line.text.strip().strip(mark[0])


def _without_copies(text: str) -> str:
    """`text` without what stands between tags of quotation, a prompt's fences among them."""
    tags = list(_COPIED.finditer(text))
    last = {tag[2].lower(): tag.start() for tag in tags if tag[1]}
    kept, start, inside = list[str](), 0, ""
    for tag in tags:
        name = tag[2].lower()
        if not inside and not tag[1] and last.get(name, -1) > tag.start():
            kept.append(text[start : tag.start()])
            inside = name
        elif inside == name and tag[1]:
            start, inside = tag.end(), ""
    return " ".join([*kept, text[start:]])


_LISTING = regex(
    r"\b(?:options?|choices|examples?|format|template|instructions?|ballots?)\W*\Z", re.IGNORECASE
)


def _without_reports(kept: list[str], own: str) -> Iterator[str]:
    """`kept`, emptied of lines that are given as another's, or as mere possibilities.

    By their own beginning ("Participant A: ..."), or by a line above that ends with a colon or is a heading:
    that covers the paragraph after it.
    """
    covers = introduces = False
    for line in kept:
        bare = _plainly(line)
        if not bare:
            covers = covers and introduces
            yield line
            continue
        heading = line.lstrip().startswith("#")
        theirs = speaker(f"{bare}: ." if heading else bare, own)
        introduces = heading or bare.endswith(":")
        yield "" if covers or theirs else line
        if introduces and introduces_own(bare, own):
            covers = False
        elif introduces:
            covers = theirs or (not heading and bool(_LISTING.search(bare) or reported(bare, own=own)))


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
"""Characters before a quotation that can tell whose it is."""

_LONGEST = 2_000
"""Characters of a sentence; of a longer one its beginning and its end are read."""


def _sentences(kept: list[str], words: re.Pattern[str], own: str) -> tuple[Sentence, ...]:
    said = (
        _plainly(sentence)
        for line in kept
        if line and not line.isspace() and not _NO_PROSE.match(line)
        for sentence in _END.split(_unquoted(_TAG.sub(" ", _NUMBER.sub("", line)), words, own))
    )
    return tuple(Sentence(text, place) for place, text in enumerate(filter(None, said)))


def _unquoted(line: str, words: re.Pattern[str], own: str) -> str:
    """`line` with quotations of `words` taken out, but for one that is the line or follows "I vote"."""

    def shown(match: re.Match[str]) -> str:
        if not words.search(match[0] if match[0].isascii() else plain(match[0])):
            return match[0]
        start, end = match.span()
        alone = not (re.search(r"\w", line[:start]) or re.search(r"\w", line[end:]))
        led = introduces_own(_plainly(line[max(0, start - _SHORT) : start]), own)
        return match[0][1:-1] if alone or led else '""'

    # Letters may be full-width, so that `words` are found only in plain notation.
    return _QUOTATION.sub(shown, line) if words.search(line) or not line.isascii() else line


def _plainly(line: str) -> str:
    """`line` in plain notation, without the marks before it."""
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} {line[-_LONGEST // 2 :]}"
    # Most lines are plain already, and `plain` is slow.
    text = plain(line).replace("`", "'") if _MARKED.search(line) else " ".join(line.split())
    return text[marks.end() :] if (marks := _MARKS.match(text)) else text
