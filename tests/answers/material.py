"""Reads the pairs of answers and the replies of this folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
BREAK = "⏎"  # a line break, where a pair or a reply stands on one line


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question, and whether a careful reader calls them the same."""

    kind: str
    a: str
    b: str
    same: bool
    question: str | None = None
    note: str | None = None


@cache
def pairs() -> tuple[Pair, ...]:
    """Every pair of the corpus, written and drawn, each once, in order of files and lines."""
    from tests.answers.drawn import drawn

    written = [pair for file in sorted((HERE / "corpus").glob("*.txt")) for pair in read_pairs(file)]
    return tuple(
        {(frozenset((pair.a, pair.b)), pair.question): pair for pair in (*written, *drawn())}.values()
    )


def read_pairs(file: Path) -> list[Pair]:
    """The pairs of one file. ValueError names a line that is none."""
    found: list[Pair] = []
    kind, question, note = "", None, None
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            question = note = None
        elif line.startswith("# "):
            note = line[2:]
        elif line.startswith("? "):
            question = line[2:].replace(BREAK, "\n")
        elif heading := re.fullmatch(r"\[([a-z][a-z -]+)\]", line):
            kind, question, note = heading[1], None, None
        else:
            first, *others = re.split(r" (===|=/=) ", line)
            if not kind or not others:
                raise ValueError(f"{file.name}:{number} is neither a heading nor a line of pairs: {line}")
            for sign, other in zip(others[::2], others[1::2], strict=True):
                a, b = (text.replace(BREAK, "\n") for text in (first, other))
                found.append(Pair(kind, a, b, sign == "===", question, note))
    return found


@dataclass(frozen=True, slots=True)
class WrittenReply:
    """A whole reply, and the answer that a careful reader takes from it: None where it has none."""

    form: str
    language: str
    text: str
    answer: str | None
    question: str | None = None


@cache
def replies() -> tuple[WrittenReply, ...]:
    """Every reply, in order of files and lines."""
    return tuple(reply for file in sorted((HERE / "replies").glob("*.txt")) for reply in read_replies(file))


def read_replies(file: Path) -> list[WrittenReply]:
    """The replies of one file. ValueError names a line that is none."""
    found: list[WrittenReply] = []
    language, question = "", None
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            question = None
        elif line.startswith("? "):
            question = line[2:].replace(BREAK, "\n")
        elif heading := re.fullmatch(r"\[([a-z]{2})\]", line):
            language = heading[1]
        elif (written := re.fullmatch(r"([a-z ]+): ?(.*) ⇒ (.+)", line)) and language:
            text = written[2].replace(BREAK, "\n")
            answer = None if written[3] == "∅" else written[3].replace(BREAK, "\n")
            found.append(WrittenReply(written[1], language, text, answer, question))
        else:
            raise ValueError(f"{file.name}:{number} is no reply: {line}")
    return found
