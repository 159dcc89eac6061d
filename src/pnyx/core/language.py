"""Language tags, as in BCP 47 (RFC 5646)."""

from __future__ import annotations

from .regex import regex

__all__ = ["language_tag"]

_TAG = regex(
    # Codes of languages have two or three letters; the standard reserves longer ones and uses none.
    r"[a-z]{2,3}(-[a-z]{3}){0,3}"
    r"(-[a-z]{4})?"
    r"(-([a-z]{2}|\d{3}))?"
    r"(-([a-z\d]{5,8}|\d[a-z\d]{3}))*"
    r"(-[a-wyz\d](-[a-z\d]{2,8})+)*"
    r"(-x(-[a-z\d]{1,8})+)?"
)
"""Language, extended languages, script, region, variants, extensions, private use."""
LONGEST = 64
"""Characters; the standard sets no limit."""


def language_tag(text: str) -> str:
    """The tag in its usual letter case, `pt-BR` for `PT-br`. Raises `ValueError` if it is not well-formed."""
    tag = text.lower()
    if not (text.isascii() and len(text) <= LONGEST and _TAG.fullmatch(tag)):
        hint = ""
        if "_" in text and len(text) <= LONGEST and _TAG.fullmatch(tag.replace("_", "-")):
            hint = f"; did you mean {language_tag(text.replace('_', '-'))}?"
        raise ValueError(f"must be a language tag such as en, de or pt-BR, not {text[:40]!r}{hint}")
    first, *rest = tag.split("-")
    parts, singleton = [first], False
    for part in rest:
        singleton = singleton or len(part) == 1
        if singleton or len(part) not in (2, 4) or not part.isalpha():
            parts.append(part)
        else:
            parts.append(part.upper() if len(part) == 2 else part.title())
    return "-".join(parts)
