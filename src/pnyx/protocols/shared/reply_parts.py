"""The parts of a reply as models write them: numbered, fenced, or with only a note that nothing changes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...core.caching.regex import regex

__all__ = ["NUMBER", "replacement", "strip_number", "text_below"]

NUMBER = r"(?:(?:part\s+)?\d{1,2}[.):][\W_]*)?"
"""An optional number before the word that opens a part, behind its marks: "2.", "(2)", "Part 2:"."""
LONGEST = 200
"""The most characters of a part that only says that nothing changes."""

_FENCE = regex(r"\s*(?:`{3,}|~{3,})\s*(?P<language>\w*)")
_NUMBERED = regex(
    r"^[ \t#]*(?:\*\*)?\(?(?:part )?(?P<n>[1-9]\d?)[.):]+(?:\*\*)?\s+", re.IGNORECASE | re.MULTILINE
)


def text_below(written: Sequence[str], place: int, rest: str = "") -> str:
    """Return the text below the line at `place`, after the `rest` of that line.

    If the line is inside a fence of code, the end of that fence is removed.
    """
    lines = "\n".join([rest, *written[place + 1 :]]).strip().splitlines()
    fences = [(n, fence["language"]) for n, line in enumerate(lines) if (fence := _FENCE.match(line))]
    if len(fences) % 2 and sum(bool(_FENCE.match(line)) for line in written[:place]) % 2:
        # A fence that names a language is another one, inside the one that ends below it.
        end, _ = fences[-1] if fences[0][1] else fences[0]
        del lines[end]
    return "\n".join(lines).strip()


def strip_number(part: str, above: str) -> str:
    """Return `part` without its number, if the text `above` has the number before it."""
    own = _NUMBERED.match(part)
    if own is None or int(own["n"]) - 1 not in {int(found["n"]) for found in _NUMBERED.finditer(above)}:
        return part
    # In "**3. So it is.**" the marks enclose more than the number.
    return "**" * (own[0].count("**") % 2) + part[own.end() :]


_TEXT = (
    r"(?:(?:my|the|this|that|participant\s+[A-Z]{1,2}'s)\s+)?"
    r"(?:(?:new|own|original|old|first|previous|earlier|current|existing|initial)\s+)?"
    r"(?:proposal|answer|version|draft|response|vote|position)"
)
_AS_IT_IS = (
    r"(?:\s+(?:as\s+(?:it\s+)?(?:is|was|stands|before|written|given)|unchanged|the\s+same"
    r"|without\s+(?:any\s+)?changes?))"
)
_CHANGE = r"(?:changes?|improvements?|revisions?|corrections?|modifications?|amendments?|new\s+proposals?)"
_OF_IT = rf"(?:\s+(?:to|in|of|on)\s+(?:it|{_TEXT}))?"
_UNCHANGED = "|".join(
    (
        r"(?:there\s+(?:is|are)\s+|I\s+(?:make|have|see|propose)\s+)?no"
        rf"(?:\s+(?:further|need\s+for(?:\s+an?)?))?\s+{_CHANGE}(?:\s+(?:or|and)\s+{_CHANGE})?"
        rf"{_OF_IT}(?:\s+(?:is|are|was|were))?(?:\s+(?:needed|necessary|required|made|possible))?{_OF_IT}",
        r"(?:there\s+is\s+)?nothing\s+(?:to\s+(?:change|improve)"
        r"|(?:needs\s+to|has\s+to|can|to)\s+be\s+(?:changed|improved|made\s+better))",
        rf"{_TEXT}\s+(?:still\s+)?(?:stands|holds|remains|stays|is\s+kept){_AS_IT_IS}?",
        rf"(?:it\s+(?:stands|remains|stays|is\s+kept)|{_TEXT}\s+is){_AS_IT_IS}",
        rf"I(?:\s+will|'ll)?\s+(?:keep|retain|maintain|leave|stand\s+by|stick\s+(?:to|with))\s+(?:it|{_TEXT})"
        rf"{_AS_IT_IS}?",
        rf"(?:the\s+)?same\s+as\s+(?:before|above|{_TEXT})|as\s+(?:before|above)",
        r"not\s+applicable|n/?a",
    )
)
_AND = r"\W+(?:(?:and|so|as|since|because|therefore|thus|hence)\b\W+)?"
_NO_CHANGE = regex(rf"\W*(?:{_UNCHANGED})(?:{_AND}(?:{_UNCHANGED})){{0,2}}\W*", re.IGNORECASE)


def replacement(part: str) -> str:
    """Return `part`, or "" if it only says that the text it would replace stays as it is."""
    plain = part.replace("\u2019", "'")
    return "" if len(plain) <= LONGEST and _NO_CHANGE.fullmatch(plain) else part
