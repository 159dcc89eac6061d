"""Letters beside each other: `xy` in an expression is a product, and a word elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from .lexer import NO_TOKEN, Token

__all__ = ["letters_apart"]


def letters_apart(tokens: Sequence[Token]) -> list[Token]:
    """`tokens` with `xy` as two variables where it is part of an expression, and not a word beside others."""
    out = list[Token]()
    for n, token in enumerate(tokens):
        short = token.kind == "word" and not token.plain and len(token.text) <= 3 and token.text.isascii()
        before, after = tokens[n - 1] if n else NO_TOKEN, tokens[n + 1] if n + 1 < len(tokens) else NO_TOKEN
        prose = (token.spaced and before.kind in ("word", "name")) or (
            after.spaced and after.kind in ("word", "name")
        )
        if not short or prose or len(tokens) == 1 or not _is_expression(before, after):
            out.append(token)
            continue
        out += (
            Token("name", letter, None, token.spaced and not place) for place, letter in enumerate(token.text)
        )
    return out


def _is_expression(before: Token, after: Token) -> bool:
    """Whether a neighbour shows that letters between them are variables."""
    marks = {"+", "-", "*", "/", "^", "(", ")", "{", "}", "_", "√", "|", "!", "="}
    near = (before.kind in ("number", "function", "command"), after.kind in ("number", "function", "command"))
    return any(near) or bool({before.text, after.text} & marks)
