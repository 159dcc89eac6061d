"""The parts of a reply as models write them: numbered, fenced, or only to say that nothing changes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...core.regex import regex

__all__ = ["NUMBER", "below", "fresh", "unnumbered"]

NUMBER = r"(?:(?:part\s+)?\d{1,2}[.):][\W_]*)?"
"""What may stand before the word that opens a part, behind its marks: "2.", "(2)", "Part 2:"."""
LONGEST = 200
"""Characters of a part that only says that nothing changes."""

_FENCE = regex(r"\s*(?:`{3,}|~{3,})\s*(?P<language>\w*)")
_NUMBERED = regex(
    r"^[ \t#]*(?:\*\*)?\(?(?:part )?(?P<n>[1-9]\d?)[.):]+(?:\*\*)?\s+", re.IGNORECASE | re.MULTILINE
)


def below(written: Sequence[str], place: int, rest: str = "") -> str:
    """What stands below the line at `place`, after the `rest` of that line.

    Where the line is inside a fence of code, what stands below is without that fence's end.
    """
    lines = "\n".join([rest, *written[place + 1 :]]).strip().splitlines()
    fences = [(n, fence["language"]) for n, line in enumerate(lines) if (fence := _FENCE.match(line))]
    if len(fences) % 2 and sum(bool(_FENCE.match(line)) for line in written[:place]) % 2:
        # One that names a language opens another fence, inside of the one that ends below it.
        end, _ = fences[-1] if fences[0][1] else fences[0]
        del lines[end]
    return "\n".join(lines).strip()


def unnumbered(part: str, above: str) -> str:
    """`part` without its number, where what stands `above` has the number before that one."""
    own = _NUMBERED.match(part)
    if own is None or int(own["n"]) - 1 not in {int(found["n"]) for found in _NUMBERED.finditer(above)}:
        return part
    # In "**3. So it is.**" the marks are around more than the number.
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
_KEPT = regex(rf"\W*(?:{_UNCHANGED})(?:{_AND}(?:{_UNCHANGED})){{0,2}}\W*", re.IGNORECASE)


def fresh(part: str) -> str:
    """`part`; "" where it only says that what it would replace stands as it is."""
    said = part.replace("\u2019", "'")
    return "" if len(said) <= LONGEST and _KEPT.fullmatch(said) else part
