"""A reply's reasoning and its answer, separated by the tags in which models think aloud.

A tag counts where a model writes it for a program: an opening tag at the start of a line, a closing tag at
the end of a sentence or a line. In the middle of a sentence, in code and in quotation marks it is text, so
that an answer may explain it. A closing tag without an opening one ends reasoning that began in the prompt.
"""

from __future__ import annotations

from typing import NamedTuple

from .fences import closes_fence, opening_fence
from .reasoning_tags import (
    BARE,
    BARE_ENDS,
    BOXES,
    END_TOKEN,
    LONGEST,
    OTHER_TURN,
    STARTS,
    TURN_STARTS,
    WRAPPER,
    Tag,
    is_unfinished,
    may_be_bare,
    may_have_tags,
    next_start,
    plain_thought,
    tag_at,
    tags,
)

__all__ = ["ReasoningSplitter", "Split", "split"]

_QUOTES = frozenset("`\"'“”‘’«»„")
_JOINS = frozenset(("and", "or", "/", ",", "&", "und", "oder", "et", "ou", "y", "e", "和", "与", "と"))
"""What stands between two tags that a sentence names."""
_OPENING = frozenset("([{«“‘„`")
_MARKS_OF_ENDS = frozenset(".!?…。！？)}*|")
_SENTENCE_ENDS = frozenset(".!?:;…。！？：；।۔)]}\"'”’»*_`")


class Split(NamedTuple):
    """A reply. start: the offset after the last closing tag without an opening one; 0 if there is none."""

    reasoning: str
    answer: str
    start: int = 0


def split(text: str) -> Split:
    """The reasoning and the answer of a whole reply, without end-of-turn tokens at its end.

    A reply without tags is its own answer, unchanged. If an opening tag never closes, only what stands before
    it is an answer.
    """
    if not may_have_tags(text) and not may_be_bare(text):
        return Split("", text)
    splitter = ReasoningSplitter()
    splitter.end(text)
    return splitter.result


class ReasoningSplitter:
    """Splits a reply that arrives in pieces.

    `add` and `end` return the text of the answer that has become certain; only what may become a tag waits
    for the next piece. A closing tag without an opening one makes all text before it reasoning, also what
    `add` has returned already: then `start` grows, and the call returns what follows the tag.
    """

    def __init__(self) -> None:
        self._text, self._place, self._consumed = "", 0, 0
        self._start = self._previous_start = 0
        self._answer: list[str] = []
        self._previous_answer: list[str] = []
        self._taken_back = ""
        self._reasoning: list[str] = []
        self._block: list[str] = []
        self._block_name = self._opening = ""
        self._end_tokens: list[str] = []
        self._wrapper = ""
        self._has_tags, self._is_first, self._is_over = False, True, False
        self._unpaired: set[str] = set()
        self._waits, self._waiting = 0, ""
        """How many closing tags the text behind a block in a block waits for."""
        self._line = _Line()

    @property
    def is_reasoning(self) -> bool:
        """Whether the next piece continues a block of reasoning."""
        return bool(self._block_name)

    @property
    def start(self) -> int:
        """The offset after the last closing tag without an opening one so far; 0 if there is none."""
        return self._start

    @property
    def result(self) -> Split:
        """The split of all text so far; complete after `end`."""
        answer = "".join(self._answer)
        if self._end_tokens or self._wrapper:
            answer = answer.rstrip()
        reasoning = filter(None, map(plain_thought, (*self._reasoning, "".join(self._block))))
        return Split("\n\n".join(reasoning), answer.lstrip() if self._has_tags else answer, self._start)

    def add(self, piece: str) -> str:
        """Add a piece and return new text of the answer."""
        self._text += piece
        if self._is_first and may_be_bare(self._text):
            new = self._text[-len(piece) - LONGEST :]
            if not any(end in new for end in BARE_ENDS) or not self._take_bare_thoughts():
                return ""
        text = self._advance(is_end=False)
        if self._waits:
            self._waiting += text
            return ""
        text, self._waiting = self._waiting + text, ""
        return text

    def end(self, piece: str = "") -> str:
        """Add the last piece and return the rest of the answer."""
        self._text += piece
        if self._is_first:
            self._take_bare_thoughts()
        self._taken_back = ""
        text = self._advance(is_end=True)
        if self._block_name:
            text += self._close_by_another_name()
        text, self._waiting = self._waiting + text, ""
        if self._previous_answer and not "".join(self._answer).strip():
            # Nothing follows the last closing tag, so it is one too many.
            self._answer, self._previous_answer = self._previous_answer, []
            self._start = self._previous_start
            self._reasoning.pop()
            return self._taken_back + text
        return text

    def _take_bare_thoughts(self) -> bool:
        """Take thoughts that stand between words and not between tags, if the text so far has their end."""
        for form in BARE:
            if found := form.fullmatch(self._text):
                self._reasoning.append(found["reasoning"])
                self._place = found.start("answer")
                self._start = 0 if "tag" in form.groupindex else self._place
                self._has_tags = True
                return True
        return False

    def _advance(self, is_end: bool) -> str:
        self._is_first = False
        out: list[str] = []
        progress = True
        while self._place < len(self._text) and progress:
            progress = self._read_block(is_end, out) if self._block_name else self._read_answer(is_end, out)
        self._consumed += self._place
        self._text, self._place = self._text[self._place :], 0
        return "".join(out)

    def _take(self, end: int) -> str:
        taken, self._place = self._text[self._place : end], end
        return taken

    def _read_block(self, is_end: bool, out: list[str]) -> bool:
        """Read reasoning up to its closing tag; False: more text is needed."""
        text, kept = self._text, len(self._text) if is_end else self._unfinished_start()
        for tag in tags(text, self._place):
            if tag.name != self._block_name or not (tag.closes or tag.follows_message):
                continue
            if tag.end == len(text) and not is_end:
                kept = min(kept, tag.start)  # the next character may be a quotation mark
                break
            before = text[self._place : tag.start][-1:] or "".join(self._block[-1:])[-1:]
            if not (before in _QUOTES and text[tag.end : tag.end + 1] in _QUOTES):
                self._end_block(tag, out)
                return True
        has_more = kept > self._place
        if has_more:
            self._block.append(self._take(kept))
        return has_more

    def _end_block(self, tag: Tag, out: list[str]) -> None:
        """End the block at `tag`. Two tags that are only named together, as in a sentence, are text."""
        block = "".join((*self._block, self._take(tag.start)))
        self._block = []
        closing = self._take(tag.end)
        if tag.closes and block.strip().lower() in _JOINS:
            self._block_name = ""
            self._write(f"{self._opening}{block}{closing}", out)
            return
        self._reasoning.append(block)
        if tag.closes:
            self._block_name, self._line = "", _Line()
            # What follows a block in a block is an answer only if no closing tag comes behind it.
            if f"<{tag.name}" in block.lower():
                self._waits += sum(_opens(one, block, tag.name) for one in tags(block, 0))

    def _close_by_another_name(self) -> str:
        """End a block that its own closing tag never ends at another one, and return the answer after it."""
        block, line = "".join(self._block), _Line()
        place = 0
        for tag in tags(block, 0):
            line.add(block[place : tag.start])
            place, rest = tag.start, block[tag.end :]
            if tag.closes and tag.name != "details" and rest.strip() and line.may_close(tag, rest):
                self._reasoning.append(block[: tag.start])
                self._block, self._block_name, self._line = [], "", _Line()
                self._text, self._consumed = rest, self._consumed - len(rest)
                return self._advance(is_end=True)
        return ""

    def _unfinished_start(self) -> int:
        """Where the end of the text may become a tag; else its length."""
        text = self._text
        for found in STARTS.finditer(text, max(self._place, len(text) - LONGEST)):
            if is_unfinished(text[found.start() :]):
                return found.start()
        return len(text)

    def _read_answer(self, is_end: bool, out: list[str]) -> bool:
        """Read the answer up to the next tag, or that tag; False: more text is needed."""
        text, place = self._text, self._place
        if self._is_over:
            self._take(len(text))
            return True
        if (start := next_start(text, place, is_end)) > place:
            self._write(self._take(start), out)
            return True
        if not is_end and len(text) - place < LONGEST and is_unfinished(text[place:]):
            return False
        if tag := tag_at(text, place):
            return self._read_tag(tag, is_end, out)
        if (box := self._turn_start(text, place) or self._box(text, place)) and not self._line.is_code:
            self._take(place + len(box))
            return True
        if (turn := OTHER_TURN.match(text, place)) and self._may_follow():
            is_turn = bool(self._end_tokens) or turn["is_written"] is not None
            if not (is_turn or is_end or text[turn.end() :].strip()):
                return False
            if is_turn:
                self._is_over = True
                self._end_tokens.append("")
                return True
        if (token := END_TOKEN.match(text, place)) and not self._ends_strike(token[0]):
            self._end_tokens.append(self._take(token.end()))
            self._line.add(token[0])
            return True
        self._write(self._take(place + 1), out)
        return True

    def _ends_strike(self, tokens: str) -> bool:
        """Whether what looks like an end-of-turn token closes text that is struck out, as HTML has it."""
        answer = "".join(self._answer).lstrip() if tokens.startswith("</s>") else ""
        return answer.count("<s>", 1) > answer.count("</s>")

    def _may_follow(self) -> bool:
        """Whether another turn may follow the answer here; else what looks like its start is text.

        It has to stand behind a token that ends a turn, right behind a word or sentence, or on a line of its
        own, and an answer that has shown such tokens before explains them.
        """
        answer = "".join(self._answer)
        if self._line.is_code or not answer.strip() or END_TOKEN.search(answer):
            return False
        if self._end_tokens or self._line.is_attached:
            return True
        return not self._line.start.strip() and not answer.rstrip().endswith(":")

    def _turn_start(self, text: str, place: int) -> str:
        """The token at `place` that begins the turn, if nothing of an answer stands before it."""
        if any(part.strip() for part in self._answer):
            return ""
        token = next((one for one in TURN_STARTS if text.startswith(one, place)), "")
        self._has_tags = self._has_tags or bool(token)
        return token

    def _box(self, text: str, place: int) -> str:
        """The token or tag around the answer that stands at `place`; "" if there is none."""
        if self._wrapper and text.startswith(self._wrapper, place):
            return self._wrapper
        if self._has_tags and not "".join(self._answer).strip() and (tag := WRAPPER.match(text, place)):
            self._wrapper = f"</{tag['name']}>"
            return tag[0]
        box = next((one for one in BOXES if text.startswith(one, place)), "")
        self._wrapper = self._wrapper or box
        return box

    def _read_tag(self, tag: Tag, is_end: bool, out: list[str]) -> bool:
        after = self._text[tag.end : tag.end + LONGEST]
        if not tag.closes:
            if self._line.may_open(tag) or (self._end_tokens and not self._end_tokens[-1][-1:].isspace()):
                self._opening = self._take(tag.end)
                self._end_tokens = []
                self._has_tags, self._block_name = True, tag.name
                return True
            self._unpaired.add(tag.name)
        elif not is_end and len(after) < LONGEST and not after.strip() and "\n" not in after:
            return False
        elif tag.name == "details":
            pass  # of any other box
        elif tag.name in self._unpaired:
            self._unpaired.discard(tag.name)
        elif self._line.may_close(tag, after):
            self._restart(tag, out)
            return True
        self._write(self._take(tag.end), out)
        return True

    def _restart(self, tag: Tag, out: list[str]) -> None:
        """Make all text before the tag reasoning, unless it turns out that nothing follows the tag."""
        before, self._taken_back = "".join(self._answer), self._waiting + "".join(out)
        self._waits, self._waiting = max(self._waits - 1, 0), ""
        out.clear()
        if self._has_tags and before.strip():
            self._previous_answer, self._previous_start = self._answer, self._start
        self._reasoning.append(before)
        self._answer, self._end_tokens, self._line = [], [], _Line()
        self._take(tag.end)
        self._has_tags, self._start = True, self._consumed + tag.end

    def _write(self, text: str, out: list[str]) -> None:
        self._line.add(text)
        if self._end_tokens:
            # They are text if more text follows.
            self._end_tokens.append(text)
            if not text.strip():
                return
            text, self._end_tokens = "".join(self._end_tokens), []
        if self._has_tags and not any(part.strip() for part in self._answer):
            text = text.lstrip()
        if text:
            self._answer.append(text)
            out.append(text)


def _opens(tag: Tag, text: str, name: str) -> bool:
    """Whether `tag` opens a block in `text`, and is not quoted."""
    around = text[tag.start - 1 : tag.start], text[tag.end : tag.end + 1]
    return tag.name == name and not tag.closes and not all(one and one in _QUOTES for one in around)


class _Line:
    """The current line of the answer, up to where it is read, and the code fence that it is in."""

    def __init__(self) -> None:
        self.start, self.last, self.last_mark, self.ticks, self.fence = "", "", "", 0, ""

    def add(self, text: str) -> None:
        *whole, rest = text.split("\n")
        for line in whole:
            self._extend(line)
            if not self.fence:
                self.fence = opening_fence(self.start)
            elif closes_fence(self.start, self.fence):
                self.fence = ""
            self.start, self.last, self.last_mark, self.ticks = "", "", "", 0
        self._extend(rest)

    def _extend(self, text: str) -> None:
        # A fence is recognised by the start of its line, and lines can be very long.
        self.start += text[: max(0, 200 - len(self.start))]
        self.last = text[-1:] or self.last
        self.last_mark = text.rstrip()[-1:] or self.last_mark
        self.ticks += text.count("`")

    @property
    def is_code(self) -> bool:
        return bool(self.fence) or self.ticks % 2 == 1

    @property
    def is_attached(self) -> bool:
        """Whether a word, or the end of a sentence or an object, stands right before this place."""
        return bool(self.start) and (self.last.isalnum() or self.last in _MARKS_OF_ENDS)

    def may_open(self, tag: Tag) -> bool:
        """Whether an opening tag here begins a block."""
        return not self.fence and (tag.follows_message or not self.start.strip())

    def may_close(self, tag: Tag, after: str) -> bool:
        """Whether a closing tag here ends reasoning that began in the prompt. after: the text after it."""
        if self.is_code or (self.last in _QUOTES and after[:1] in _QUOTES):
            return False
        ends_line = not after.split("\n", 1)[0].strip()
        is_attached = not self.last.isspace() and self.last not in _OPENING
        return (
            tag.follows_message
            or not self.start.strip()
            or ends_line
            or is_attached
            or self.last_mark in _SENTENCE_ENDS
        )
