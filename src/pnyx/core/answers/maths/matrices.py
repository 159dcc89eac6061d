"""Matrices in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from .lexer import Token, UnreadableError
from .nodes import Apply, Matrix, Node
from .parser import Parser

__all__ = ["read_matrix"]

MATRICES = frozenset(("matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "array", "smallmatrix"))
MAX_DETERMINANT = 6
"""Rows of a determinant."""


def read_matrix(found: Sequence[Token]) -> Matrix | Apply | None:
    """The matrix that all of `found` is; None if it does not begin with one. Raises `UnreadableError`.

    A matrix between bars is its determinant.
    """
    if (found[0].text, found[-1].text) in (("(", ")"), ("[", "]")) and [t.text for t in found[1:4]] == [
        "begin",
        "{",
        "array",
    ]:
        found = found[1:-1]
    if found[0].kind != "command" or found[0].text != "begin":
        return None
    parser = Parser(found)
    parser.at = 1
    name = _environment(parser)
    if name not in MATRICES:
        raise UnreadableError
    if name == "array":
        while not parser.take("}"):
            parser.at += 1
            if parser.at >= len(parser.tokens):
                raise UnreadableError
    matrix = _rows(parser)
    if parser.at != len(parser.tokens):
        raise UnreadableError
    if name == "vmatrix":
        if len(matrix.rows) != len(matrix.rows[0]) or len(matrix.rows) > MAX_DETERMINANT:
            raise UnreadableError
        return Apply("determinant", tuple(item for row in matrix.rows for item in row))
    return matrix


def _rows(parser: Parser) -> Matrix:
    """The matrix after `\\begin{name}`, up to its `\\end{name}`."""
    rows: list[list[Node]] = [[]]
    while True:
        rows[-1].append(parser.sum())
        if parser.take("&"):
            continue
        if parser.take("\\\\") and parser.next.text != "end":
            rows.append([])
            continue
        if parser.next.kind == "command" and parser.next.text == "end":
            parser.at += 1
            _environment(parser)
            break
        raise UnreadableError
    if len({len(row) for row in rows}) != 1:
        raise UnreadableError
    return Matrix(tuple(map(tuple, rows)))


def _environment(parser: Parser) -> str:
    """The name in the braces after `\\begin` or `\\end`."""
    parser.expect("{")
    name = parser.next.text
    parser.at += 1
    parser.expect("}")
    return name
