"""The patterns of praise and refusal can be tried only on sentences with a cue, and in lower case."""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]  # typeshed has it under its old name only
import re._parser as parser  # type: ignore[import-not-found]
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from pnyx.core.sycophancy import detect, hedges, refusal
from pnyx.core.sycophancy.praise import CONCEDED, PRAISE
from tests.support.rows import rows

PATTERNS = [
    *(pattern for _, pattern in (*CONCEDED, *PRAISE)),
    *(getattr(module, name) for module in (refusal, hedges) for name in module.__all__),
    detect._RULE.pattern,
    detect._TURN.pattern,
]
ALL = "".join(map(chr, range(sys.maxunicode + 1)))
Node = tuple[Any, Any]


def certain(nodes: Iterable[Node], cues: Sequence[str], run: str = "") -> bool:
    """Whether every match of a parsed pattern contains one of `cues`. run: the literals right before it."""
    left = list(nodes)
    while left:
        op, value = left.pop(0)
        branches: list[list[Node]] = []
        match op:
            case sre.AT | sre.ASSERT | sre.ASSERT_NOT:
                continue
            case sre.LITERAL:
                run += chr(value)
                if any(cue in run for cue in cues):
                    return True
                continue
            case sre.SUBPATTERN:
                left = [*value[3], *left]
                continue
            case sre.BRANCH:
                branches = [list(branch) for branch in value[1]]
            case sre.IN:
                branches = [[member] for member in value]
            case sre.MAX_REPEAT | sre.MIN_REPEAT if value[0] and certain(value[2], cues, run):
                return True
        after = list(takewhile(lambda node: node[0] is sre.LITERAL, left))
        if branches and all(certain([*branch, *after], cues, run) for branch in branches):
            return True
        run = "\0"
    return False


@rows("cues, pattern", [*CONCEDED, *PRAISE])
def test_no_sentence_fits_a_wording_without_one_of_its_cues(cues: str, pattern: str) -> None:
    assert certain(parser.parse(pattern), cues.split("|"))


@rows("pattern", ["ab?", "[ac]b", "(?:a|c)b", "(?:ab)*", ".b", "(?=ab)c", "a.b", "ac?b", "ac*b", "[^a]b"])
def test_the_proof_sees_what_may_be_missing(pattern: str) -> None:
    assert not certain(parser.parse(pattern), ["ab"])


@rows("pattern", ["c?ab+", "a[bB]", "(?:x|y)ab", "(?:cab|a\\bb)d", "(?:ab)+", "(?:c|a)(?:b)?ab"])
def test_the_proof_sees_what_cannot_be_missing(pattern: str) -> None:
    assert certain(parser.parse(pattern), ["ab", "aB"])


def literals(nodes: Iterable[Any]) -> Iterator[str]:
    """Yield the characters in a parsed pattern."""
    for node in nodes:
        match node:
            case (sre.LITERAL | sre.NOT_LITERAL, code):
                yield chr(code)
            case (sre.RANGE, (low, high)):
                yield from map(chr, range(low, high + 1))
            case list() | tuple() | parser.SubPattern():
                yield from literals(node)


def test_lower_case_is_what_a_pattern_sees_that_ignores_case() -> None:
    named = {c for pattern in PATTERNS for c in literals(parser.parse(pattern))}
    lower = ALL.translate(detect._LOWER)
    assert len(lower) == len(ALL)
    for c in named:
        alike = set(re.findall(re.escape(c), ALL, re.IGNORECASE))
        assert alike == {ALL[found.start()] for found in re.finditer(re.escape(c), lower)}, c
    changed = [(a, b) for a, b in zip(ALL, lower, strict=True) if a != b]
    assert all(a.isalpha() and b.isalpha() for a, b in changed)
