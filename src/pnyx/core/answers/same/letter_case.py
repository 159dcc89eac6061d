"""Answers in which case counts: symbols of elements, files, identifiers."""

from __future__ import annotations

from ..code.literals import is_credibly_code
from ..language.entities import is_symbol
from ..language.folding import is_formula, strip_edges
from ..reading.hints import Hints
from ..reading.parse import Answer

__all__ = ["are_symbols", "differ_in_case", "names_files"]


def are_symbols(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether one is the symbol of an element and the other too, or a formula, so that case counts."""
    if "element" not in hints.topics:
        return False
    symbols = [is_symbol(answer.written) for answer in (one, two)]
    return any(symbols) and all(is_symbol(a.written) or is_formula(a.written) for a in (one, two))


def differ_in_case(one: Answer, two: Answer) -> bool:
    mine, theirs = strip_edges(one.written), strip_edges(two.written)
    return mine != theirs and mine.casefold() == theirs.casefold()


def names_files(one: Answer, two: Answer) -> bool:
    """Whether they differ in a file, a path or an identifier, whose case counts: `chmod 755 run.sh`."""
    words, others = one.written.split(), two.written.split()
    return len(words) == len(others) > 1 and any(
        a != b and is_credibly_code(a) and is_credibly_code(b) for a, b in zip(words, others, strict=True)
    )
