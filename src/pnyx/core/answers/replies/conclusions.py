"""The answer in the last lines of a reply that has no `Final answer:` line.

The rules for sentences are English ones. In other languages only labels are read (`labels.py`), and a last
line that is nothing but a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...caching.regex import regex
from ..reading.envelopes import asserted, boxed_value, bracketed
from ..reading.labels import SIGNS, Label, find_label, labels_in
from ..same.amounts import concluded_amount
from .missing import is_vague
from .values import MAX_CHARS, is_credible, is_definite, value_of

__all__ = ["closing_value", "correction", "stated_value", "statement", "tail"]

_TAIL = 4
"""The number of last lines that may state the answer."""
_STATEMENT = 250
"""The most characters of a line or sentence that states only one value."""

_FOOTNOTE = regex(
    r"\W*(?:note|n\.?b\.|caveat|assum|disclaimer|p\.s\.|confidence|however,?\s+(?!the\s|i\s)"
    r"|this (?:answer )?(?:assumes|is based)|please|let me know|i hope|hope this|feel free|keep in mind"
    r"|sources?\b)"
    r"|[*_]*\([a-z]{3,}\s.*\)[*_.]*$",
    re.IGNORECASE,
)
_LABELS_NEXT = regex(r"\banswer\b[^:]{0,20}:[*_\s]*$", re.IGNORECASE)
# A pattern that begins with a lookbehind would be tried at each character, and not only at blanks.
_SENTENCES = regex(
    r"\s(?<=[.!?]\s)\s*(?=(?:Therefore|Thus|Hence|So)\b)"
    r"|\s(?<=[.!?]\s)(?<!\b[A-Z]\.\s)\s*(?=[\"(*_$\\]*[A-Z])"
)


_STOPS = regex(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\d\.)\s+|(?<=[।۔！？])\s*|(?<=[^\x00-\x7f][.])(?=[^\x00-\x7f])")


def tail(author_lines: Sequence[str]) -> list[str]:
    """The last of `author_lines`, which may conclude: the unquoted lines, without footnotes."""
    found = list[str]()
    for line in (line[-MAX_CHARS:].strip() for line in author_lines[-3 * _TAIL :]):
        if found and _LABELS_NEXT.search(found[-1]) and not line.startswith("#"):
            found[-1] += f" {line}"
        else:
            found.append(line)
    while len(found) > 1 and _FOOTNOTE.match(found[-1]):
        found.pop()
    return found[-_TAIL:]


def statement(concluding: Sequence[str], is_plausible: Callable[[str], bool], english: bool) -> str:
    """The value of the last sentence in `concluding` that says what the answer is; empty without one."""
    if not english:
        sentences = (s for line in reversed(concluding) for s in reversed(_STOPS.split(line)))
        return next(filter(None, (_labelled(s, is_plausible) for s in sentences)), "")
    split = (_english_sentences(line) for line in reversed(concluding))
    found = (stated_value(sentence, is_plausible) for line in split for sentence in reversed(line))
    return next(filter(None, found), "")


def closing_value(
    concluding: Sequence[str], is_plausible: Callable[[str], bool], languages: Sequence[str], alone: bool
) -> str:
    """The value at the very end of a reply: in any language, what the last line consists of.

    In English also that of a sentence that only concludes, with a name or a plausible value: a number, a
    date, a letter, an option, yes or no.
    """
    if not concluding or concluding[-1].rstrip(" *_").endswith((":", "：")):
        return ""  # what it announces is no line of the author's, such as a block
    if "en" in languages and (found := _GREETED.fullmatch(concluding[-1])):
        value = value_of(found["value"])
        if is_plausible(value) or (found["sure"] and _NAME.fullmatch(value) and is_credible(value)):
            return value
    line, only_line = concluding[-1], len(concluding) == 1
    if value := bracketed(line) or asserted(line):
        return value
    if (
        (label := find_label(line))
        and not label.verb
        and is_plausible(value := value_of(label.rest, languages))
    ):
        return value
    if alone and (_LITERAL.fullmatch(line) or _RELATION.fullmatch(line)) and not find_label(line[1:]):
        return value_of(line, ())
    if "en" in languages:
        sentences = _english_sentences(line)
        return _closing(line, sentences[-1], only_line, is_plausible) if sentences else ""
    value = value_of(line, ()) if only_line or not BULLET.match(line) else ""
    if len(value) <= _STATEMENT and is_plausible(value):
        return value
    if amount := concluded_amount(line, languages[0] if languages else ""):
        return amount
    if not alone or find_label(line) or not _ALONE.fullmatch(value) or not is_credible(value, languages):
        return ""
    said = any(_describes(line, label, value_of(label.rest, label.languages)) for label in labels_in(line))
    return "" if said else value


_GREETED = regex(
    r"(?i:(?P<sure>perfect|exactly|correct|agreed|indeed)|great|excellent|right|sure|good)[,!]\s+"
    r"(?P<value>(?!(?i:thanks|thank|i|you|your|that|this|it|we|but|and|so|participant)\b)[A-Z\d$€£-][^,;:!?]{0,40}?)[.!]?"
)
"""Praise and an answer behind it, which is all that the line has: `Perfect, Utrecht.`"""
_LITERAL = regex(r"`?(?:\[.*\]|\{.*\}|\(.*\)|'[^']+'|\"[^\"]+\")`?")
_RELATION = regex(r"[^\s=<>!≤≥≠≈]{1,20}\s*(?:[<>!=]=|[=<>≤≥≠≈])\s*[^\s=<>!≤≥≠≈]{1,20}")
_ALONE = regex(r"[^\W\d_a-z][^\s\d.,:;!?()]{0,20}(?:\s[^\s\d.,:;!?()]{1,20}){0,2}")
"""A reply of one to three words, the first with a capital where the script has any."""


def _english_sentences(line: str) -> list[str]:
    return [s for s in _SENTENCES.split(line) if s and not s.endswith("?")]


def _labelled(sentence: str, is_plausible: Callable[[str], bool]) -> str:
    """The value of a sentence in any language that has a label of an answer; empty without one."""
    if inner := boxed_value(sentence):
        return value_of(inner, ())
    if len(sentence) > _STATEMENT or sentence.rstrip().endswith(("?", "？", "؟")):
        return ""
    for label in labels_in(sentence):
        value = value_of(label.rest, label.languages)
        if not any(c.isalnum() for c in value):
            continue
        if _describes(sentence, label, value) and not is_plausible(value):
            continue
        if (is_plausible(value) or is_credible(value, label.languages)) and not _says_more(value):
            return value
    return ""


def _describes(sentence: str, label: Label, value: str) -> bool:
    """Whether a sentence only says what the answer is like: "Die Antwort ist klar"."""
    before = sentence[: len(sentence) - len(label.rest)] if sentence.endswith(label.rest) else ""
    return is_vague(value, label.languages) and not before.rstrip(" *_").endswith(_MARKS)


def _says_more(value: str) -> bool:
    """Whether a value without a definite kind goes on as a sentence."""
    return not is_definite(value) and bool(_PAUSE.search(value))


_PAUSE = regex(r"[:;，。；：،؛、]|\s[-=]\s")

_SO = (
    r"(?:(?:so|thus|therefore|hence|consequently|accordingly|finally|overall|ultimately|clearly|altogether"
    r"|then|indeed|but|and|yet|in (?:conclusion|summary|short|total)|to (?:conclude|sum up)"
    r"|as a result|conclusion|(?:result|total|solution|verdict|decision|choice|sum)(?=\s*:)"
    r"|(?:this|that|which) means|it follows|we (?:get|find|have|conclude|see)"
    r"|(?:most\s+)?(?:likely|probably)|if i (?:had|have) to guess|i(?:'d| would) (?:say|guess)"
    r"|i (?:think|believe|conclude|am confident))(?:\s+that)?(?:\s*[,:])?\s+|[∴⇒→]\s*)"
)
_CONCLUDES = regex(rf"{_SO}+", re.IGNORECASE)
_ANSWER_IS = regex(
    rf"(?P<before>(?:.*?[,;:-]\s+)?)(?P<turn>(?:but|yet|however,)\s+)?{_SO}*(?:(?:the|my|our)\s+)?"
    r"(?:(?:(?:final|correct|best|right|short)\s+)*(?:answer|ans)|(?:correct|best|right)\s+(?:option|choice)"
    r"|(?:printed\s+)?output|return(?:ed)?\s+value|solution\s+set|(?:final\s+)?result)"
    r"(?:\s+(?:to|for|of)\s[^:=,]{1,100})?[*_]*"
    r"(?:\s+(?:is|are|would be|should be|must be|has to be|(?:comes|works|turns) out to(?: be)?"
    r"|comes to|equals)\b(?:\s*:|\s+that\b)?|\s*(?:[:=→]|->)|\s+-\s)"
    r"[*_]*\s*(?P<value>\S.*)",
    re.IGNORECASE,
)
_CHOSEN = tuple(
    regex(rf"(?P<before>)(?P<turn>){_SO}*{form}", re.IGNORECASE)
    for form in (
        r"(?:i|we)(?:\s+(?:would|will)|'(?:d|ll))?\s+(?:choose|chose|pick|picked|select|go with|vote for)\s+"
        r"(?P<value>.+)",
        r"(?P<value>.{1,60}?)\s+is\s+(?:the\s+)?(?:correct|right|best)"
        r"(?:\s+(?:answer|option|choice|one))?[.!]?",
        r"(?P<value>.{1,60}?)\s+is\s+(?:the|my|our)\s+(?:final\s+)?answer[.!]?",
        r"(?:i|we)\s+(?:still\s+)?(?:stand by|stick (?:to|with)|maintain|keep|confirm)\s+(?:my|our|the)\s+"
        r"(?:(?:original|previous|initial|first|final)\s+)?answer(?:\s+of|\s*:)\s+(?P<value>\S.{0,60})",
        r"(?:my|our|the)\s+(?:final\s+|original\s+)?answer\s+(?:remains|stays)(?:\s*:|\s+at)?\s+"
        r"(?P<value>\S.{0,60})",
        r"i\s+(?:fully\s+|completely\s+)?agree(?:\s+with\s[^:.]{1,40})?:\s+(?P<value>\S.{0,60})",
        r"(?:it is|it's|that is|that's|that would be)\s+(?P<value>\d\S{0,20}(?:\s\S{1,20}){0,2}?)"
        r"(?:,\s+(?:although|though|but)\s+i(?:'m| am)\s.{1,60})?[.!]?",
        r"(?!.*\b(?:not|wrong|if)\b).{1,40}?\b(?:a|the|our|my)\s+(?:final|correct)\s+answer\s+of\s+"
        r"(?P<value>\S+(?:\s\S+){0,2})",
    )
)
_KEPT = _CHOSEN[3:6]
"""Forms in which an author keeps or shares an answer, which may be a name."""
_PRINTS = regex(
    rf"(?P<before>)(?P<turn>){_SO}*(?:(?:the|this|that)\s+)?(?:program|code|script|snippet|function|it)\s+(?:will\s+)?"
    r"(?:print|output|return|display)s?:?\s+(?P<value>\S.*)",
    re.IGNORECASE,
)
_CORRECTED = regex(
    r"(?P<before>)(?P<turn>)(?:(?:wait|no|sorry|oops|hmm|actually|scratch that|hold on|on second thought"
    r"|correction|let me correct (?:that|this|myself)|i (?:made a mistake|was wrong|misread (?:it|that)))\b"
    r"[\s,.;:!–—-]*)+(?:it|that|this|the (?:right |correct )?(?:answer|result|value))"
    r"(?:'s|\s+(?:is|was|should(?: have been| be)|must be|has to be|would be|comes to|equals))\s+"
    r"(?:actually\s+|really\s+)?(?P<value>(?!.*\b(?:too|more|less|fewer|off|short|times)\b)\S+(?:\s+\S+){0,2}?)"
    r"(?:,\s+(?:since|because|as|not)\s.{1,100})?",
    re.IGNORECASE,
)
"""A sentence that takes back the answer before it: "Wait, actually, it should be 15."."""
_CORRECTED_SHORT = regex(
    r"(?P<before>)(?P<turn>)(?:no,? wait|wait[,.]? (?:no|actually)|scratch that|make that|i mean|or rather)"
    r"[\s,.;:!–—-]+(?P<value>(?!(?:that|this|it|the|i|we|you|they)\b)\S+(?:\s+\S+){0,2})",
    re.IGNORECASE,
)
"""The same with nothing but the value: "No wait, Paris."."""
_SUPPOSED = regex(
    r"\W*(?:if(?! i (?:had|have) to guess)|suppose|supposing|when|unless|whether|according"
    r"|(?:as |for )?participant|some|others?|many)\b"
    r"|.*\b(?:say|says|said|claim\w*|think|thinks|argue\w*|wrote|writes|suggest\w*|believes?)"
    r"(?: that)?[,:]?\s*$",
    re.IGNORECASE,
)
_SOMEONES = regex(
    r"\b(?:according to|participants?|(?:say|claim|think|argue|believe|suggest)s)\b", re.IGNORECASE
)


_NAMING = (_ANSWER_IS, _PRINTS, _CORRECTED_SHORT)
"""Forms after which a few words are an answer too."""


def stated_value(sentence: str, is_plausible: Callable[[str], bool]) -> str:
    """The value of a sentence that states the answer; empty if it only supposes or reports one."""
    if inner := boxed_value(sentence):
        return value_of(inner)
    sentence = sentence.lstrip(" #*_|>-•" + SIGNS)
    for form in (_ANSWER_IS, _PRINTS, _CORRECTED, _CORRECTED_SHORT, *_CHOSEN):
        match = form.fullmatch(sentence)
        if match is None or _SOMEONES.search(match["value"]):
            continue
        if not match["turn"] and _SUPPOSED.match(match["before"]):
            continue
        before, _, behind = match["value"].partition(": ")
        value = value_of(behind if is_vague(before, ("en",)) else match["value"])
        said = sentence[: match.start("value")].rstrip(" *_").endswith(_MARKS)
        names = form in _NAMING and (said or not is_vague(value, ("en",)))
        if is_plausible(value) or (names and is_credible(value)):
            return value
        if form in _KEPT and _NAME.fullmatch(value) and is_credible(value):
            return value
    return ""


_MARKS = (":", "=", "→", "->")
"""What separates a label from its value, where a verb would state something of the answer."""


def correction(author_lines: Sequence[str], is_plausible: Callable[[str], bool]) -> str:
    """The value of the last sentence that takes back an answer before `author_lines`; empty without one."""
    for line in reversed(author_lines):
        for sentence in reversed(_english_sentences(line.strip().replace("*", ""))):
            found = _CORRECTED.fullmatch(sentence)
            if found and is_plausible(value := value_of(found["value"])):
                return value
            short = _CORRECTED_SHORT.fullmatch(sentence)
            if short and is_credible(value := value_of(short["value"])):
                return value
    return ""


BULLET = regex(r"\s*(?:[-*+•]|\d+[.)])\s+")
_DIGIT = regex(r"\d")
_NAME = regex(r"[A-Z][\w'&.-]*(?:\s+(?:[A-Z][\w'&.-]*|of|the|de|da|di|van|von|and|la|le)){0,5}")
_PREDICATE = regex(
    r"(?P<before>.*)(?:\s(?:is|are|equals|makes|gives|comes to|amounts to)\s|\bit's\s|(?P<equals>=))"
    r"\s*(?P<value>\S.*)",
    re.IGNORECASE,
)


def _named(claim: str) -> str:
    """The equations at the end of a sentence. What follows from a premise is the last one alone."""
    found = _NAMED.search(claim)
    if found is None or not is_definite(found["value"]):
        return ""
    if found["pause"] and _PREMISE.search(claim[: found.start()]):
        return found["last"] if found["pause"] == ", " else ""
    return found[0].rstrip(".")


def _is_worked_out(before: str) -> bool:
    """Whether `before` an equals sign is a sum or a description, and not a name: `so 6 * 7`, `the cost`."""
    clause = _REMARKS.sub("", _CLAUSES.split(before)[-1]).strip()
    if not clause.strip("*+- "):
        return True  # a line of a calculation, "= 42"
    if clause[-1:] in ("<", ">", "!", "=", "~", ":", "≈") or _VARIABLE.search(_WORDS.split(clause)[-1]):
        return False
    return bool(_DIGIT.search(clause)) or len(clause.split()) > 1


_EQUATION = r"\$?[A-Za-z](?:_?\w|\([a-z]\))?\s*=\s*"
_NAMED = regex(
    rf"(?<![\w=+*/^<>!-])(?<![-+*/] )(?:{_EQUATION}[^\s=<>,]+(?P<pause>,? (?:and|or) |, ))*"
    rf"(?P<last>{_EQUATION}(?P<value>[^\s=<>]+?(?:\s[a-z]+)?))\.?$"
)
"""A name and its value at the end of a sentence, or several: `x = 2 or x = -2`."""
_PREMISE = regex(r"\b(?:since|given|with|because|as|for|when|where|if|let) $", re.IGNORECASE)
_CLAUSES = regex(r"[:;][*_]*\s|(?<!\d),\s|=")
_WORDS = regex(r"[A-Za-z]{3,}[^\w($€£]*\s")
_REMARKS = regex(r"\([^()]*[A-Za-z]{2}[^()]*\)")
_VARIABLE = regex(
    r"(?<![A-Za-z\d'.])(?!x\s*[$€£(\d])(?![AaI]\s)[A-Za-z](?![A-Za-z'.])(?!\s*[)\]]\s[A-Za-z]{2})"
    r"|\d[abcknpqrtwxyz](?![A-Za-z])|[_<>]|--|\^\s*[A-Za-z]"
)
"""A name in a sum: a letter alone or behind a digit, but no sign `x` between numbers and no article."""


def _equated(claim: str) -> str:
    """The value of an equation: the right side of a sum, else the equation; empty for a longer sentence."""
    return value_of(claim) if len(claim) <= _STATEMENT and not _PROSE.search(claim) else ""


_PROSE = regex(r"(?:[A-Za-z]{2,}\W+){3}(?=[^=]*=)|=.*(?:[A-Za-z]{2,}\W+){4}")


def _closing(line: str, sentence: str, only_line: bool, is_plausible: Callable[[str], bool]) -> str:
    """The only value of the last line, or of its last sentence. only_line: whether it is the only line."""

    def only(text: str) -> str:
        if len(text) > _STATEMENT:
            return ""  # an argument; parsing it takes milliseconds
        value = value_of(text)
        return "" if _DIGIT.search(text.replace(value, "", 1)) else value

    if _SOMEONES.search(sentence):
        return ""
    concludes = _CONCLUDES.match(sentence)
    claim = sentence[concludes.end() :] if concludes else sentence
    number = BULLET.match(claim)
    equation = claim[number.end() :] if number else claim
    if "=" in claim and (concludes or claim == line) and is_plausible(value := _equated(equation)):
        return value
    value = only(line if only_line or not BULLET.match(line) else "")
    if is_plausible(value) or (only_line and not concludes and _NAME.fullmatch(value)):
        return value
    if concludes and (is_plausible(value := only(claim)) or _NAME.fullmatch(value)):
        return value
    if (match := _PREDICATE.fullmatch(claim)) and not _SUPPOSED.match(match["before"]):
        worked_out = match["equals"] and is_definite(match["value"]) and _is_worked_out(match["before"])
        if match["equals"] and not worked_out:
            return _named(claim)
        may_state = concludes or worked_out or (only_line and sentence == line)
        if may_state and is_plausible(value := only(match["value"])):
            return value
    return ""
