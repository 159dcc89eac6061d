"""Labels of a final answer, such as `Final answer:`, in the languages of `words/answers.json`.

One matcher reads all of them: a label may be bold, in brackets, in a table, in a list or a heading, after
words such as `So, the` and before a colon, a dash, an arrow, a verb or the end of its line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ...caching.regex import regex
from ...markup.characters import replacing
from ..words import UNSPACED, table

__all__ = [
    "SIGNS",
    "Label",
    "denial_ends",
    "find_label",
    "flatten",
    "is_denied",
    "labels_in",
    "lower",
    "verb_end",
    "without_ending",
]

SIGNS = "→➡✅✔☑👉🎯🎉\ufe0f"
"""Symbols that point at an answer."""
_LEADS = 4
_FILLER = 60
"""The most characters between a label and its verb: "the answer to the second question is"."""

_HIDDEN = regex("[\u200b\u200e\u200f\u2060\u061c\u202a-\u202e\u2066-\u2069\ufeff]")
"""Marks of direction and characters without width. Joiners stay, since they change how letters look."""
_in_half_width = replacing(
    {chr(0xFF01 + n): chr(0x21 + n) for n in range(94)} | {"\u3000": " ", "\u3002": "."}
)
_MARKS = regex(rf"[\s#*_`|•+>{SIGNS}【〔［「『\[(-]*(?:\d{{1,2}}[.)、]\s*)?[*_`【「『]*")
_GAP = regex(r"[\s,;:，、،؛*_]*")
_REMARK = regex(r"\s*\([^()]{0,80}\)")
_SEPARATOR = regex(
    r"[\s*_`】〕］」』\])\"']*(?:[:|→⇒]|=(?!=)|->|-+\s)[\s|]*"
    r"(?:[*_]+(?=\s|$)|\*+(?!\.\w)(?=[^*]*$)|_+(?=[^_]*$)|`(?=[^`]*$))?[\s|]*"
)
"""Marks behind it close the label's own emphasis, unless they open that of the value."""
_CLOSED = regex(r"\s*[*_`】〕］」』]+[\s*_`】〕］」』]*")
_END = regex(r"[*_`】〕］」』\s]*$")
_SPACE = regex(r"[\s*_`]*")


@dataclass(frozen=True, slots=True)
class Label:
    """A label in a line. rest: the text after it.

    final: it names the final answer, not just an answer. weak: no mark separates it from what follows, which
    may be any sentence. languages: the codes of those in which it is a label. verb: a verb is all that
    separates it.
    """

    rest: str
    final: bool
    weak: bool
    languages: tuple[str, ...]
    verb: bool = False


def flatten(line: str) -> str:
    """`line` with half-width forms and without invisible marks, as labels are matched."""
    return line if line.isascii() else _HIDDEN.sub("", _in_half_width(line))


def find_label(line: str) -> Label | None:
    """The label at the start of `line`, after marks and words such as "so, the"; None without one."""
    line = flatten(line)
    low, at = lower(line), _start(line)
    for _ in range(_LEADS + 1):
        if found := _longest(_labels(), low, at):
            end, (final, languages) = found
            if label := _behind(line, low, end, final, languages):
                return label
        lead = _longest(_leads(), low, at)
        if lead is None:
            return None
        gap = _GAP.match(line, lead[0])
        at = gap.end() if gap else lead[0]
    return None


def labels_in(sentence: str) -> Iterator[Label]:
    """Yield the labels anywhere in `sentence`, the last one first, each with what is said of it.

    Without a separator or a verb, what follows the label is said of it. A label is left out if a word before
    it, or between it and its verb, denies it.
    """
    sentence = flatten(sentence)
    low = lower(sentence)
    for at in range(len(low) - 1, -1, -1):
        found = _longest(_labels(), low, at)
        if found is None or (at and _joined(low[at - 1]) and not _unspaced(low[at])):
            continue
        end, (final, languages) = found
        if is_denied(_before_article(low[:at], languages), languages) or low.count('"', 0, at) % 2:
            continue
        if label := _behind(sentence, low, end, final, languages) or _said(
            sentence, low, end, final, languages
        ):
            yield label


def _before_article(text: str, languages: tuple[str, ...]) -> str:
    """`text` without an article at its end: `o` is one in Portuguese, and "or" in Spanish."""
    before, _, last = text.rstrip().rpartition(" ")
    return before if any(last in table("answers")[code]["leads"] for code in languages) else text


def is_denied(text: str, languages: tuple[str, ...]) -> bool:
    """Whether `text` has a word that denies a value in one of `languages`."""
    low = f" {lower(flatten(text))} "
    return any(
        word in low if code in UNSPACED else _has_word(low, word)
        for code in languages
        for word in table("answers")[code]["deny"]
    )


def denial_ends(value: str, languages: tuple[str, ...]) -> int | None:
    """Where the right value begins after one that is denied, as 7 in "not 5 but 7"; None without one."""
    low, found = lower(value), list[int]()
    for code in languages:
        for denies, then in table("answers")[code]["not_but"]:
            if low.startswith(denies) and not (denies and _joined(low[len(denies) : len(denies) + 1], code)):
                at = _find(low, then, len(denies), code)
                found += [at] if len(denies) < at < len(low) else []
    return max(found, default=None)


def without_ending(value: str, languages: tuple[str, ...]) -> str:
    """`value` without the words that end its sentence, such as です or है."""
    for _ in range(2):
        for code in languages:
            for end in table("answers")[code]["ends"]:
                if len(value) > len(end) and value.rstrip(" .!").endswith(end):
                    value = value.rstrip(" .!")[: -len(end)].rstrip()
    return value


def option_letter(value: str, languages: tuple[str, ...]) -> str:
    """The letter of `die Option B` or 選択肢B; empty if `value` is something else."""
    found = _LETTERED.fullmatch(flatten(value))
    words = found["words"].lower().strip(" :") if found else ""
    named = {word for code in languages for word in table("answers")[code]["option"]}
    return found["letter"] if found and words and (words in named or words.split()[-1] in named) else ""


_LETTERED = regex(r"(?P<words>\D{1,30}?)\s*[(\[]?(?P<letter>[A-Z])[)\]]?")


def _start(line: str) -> int:
    marks = _MARKS.match(line)
    return marks.end() if marks else 0


def lower(text: str) -> str:
    """`text` in lower case, character for character."""
    low = text.replace("İ", "i").lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _joined(after: str, code: str = "") -> bool:
    """Whether a word goes on with the character `after`."""
    return bool(after) and code not in UNSPACED and (after.isalnum() or unicodedata.category(after)[0] == "M")


def _unspaced(character: str) -> bool:
    return character > "\u0e00" and (character < "\u0e80" or "\u3040" <= character <= "\ud7af")


_Terms = Mapping[str, dict[str, tuple[bool, tuple[str, ...]]]]
"""First two characters -> the terms that begin so, the longest first, each with (final, its languages)."""


@cache
def _labels() -> _Terms:
    return _terms("final", "answer")


@cache
def _leads() -> _Terms:
    return _terms("leads")


def _terms(*keys: str) -> _Terms:
    found: dict[str, tuple[bool, tuple[str, ...]]] = {}
    for code, words in table("answers").items():
        for key in keys:
            for word in words[key]:
                for form in {word, lower(word.upper()), _unaccented(word)}:  # capitals have no dotless i
                    final, languages = found.get(form, (key == "final", ()))
                    found[form] = (final, (*languages, code) if code not in languages else languages)
    by_first: dict[str, dict[str, tuple[bool, tuple[str, ...]]]] = {}
    for term in sorted(found, key=len, reverse=True):
        by_first.setdefault(term[:2], {})[term] = found[term]
    return by_first


def _unaccented(word: str) -> str:
    """A word in Latin letters without its accents, which hurried writers leave out."""
    plain = unicodedata.normalize("NFD", word)
    return "".join(c for c in plain if not unicodedata.combining(c)) if plain[0] < "\u0250" else word


def _longest(terms: _Terms, low: str, at: int) -> tuple[int, tuple[bool, tuple[str, ...]]] | None:
    """The end of the longest term that stands at `at` as a word, and its facts."""
    for first in (low[at : at + 2], low[at : at + 1]):
        # Most lines begin with no term, and one call finds that out.
        if (some := terms.get(first)) and low.startswith(tuple(some), at):
            for term, facts in some.items():
                end = at + len(term)
                if low.startswith(term, at) and (_unspaced(term[-1]) or not _joined(low[end : end + 1])):
                    return end, facts
    return None


def _behind(line: str, low: str, end: int, final: bool, languages: tuple[str, ...]) -> Label | None:
    """The label that ends at `end`, if a separator, a verb, a closing mark or the line's end follows it."""
    if remark := _REMARK.match(line, end):
        end = remark.end()
    if parted := _SEPARATOR.match(line, end):
        # Where no space ends a verb, what looks like one may begin the value, as in はい.
        spaced = tuple(code for code in languages if code not in UNSPACED)
        verb = verb_end(low, parted.end(), spaced)
        return Label(line[verb or parted.end() :], final, not final, languages)
    at = _after_space(line, end)
    if verb := verb_end(low, at, languages):
        colon = _SEPARATOR.match(line, verb)
        return Label(
            line[colon.end() if colon else verb :], final, not (colon and final), languages, not colon
        )
    if _END.match(line, end):
        return Label("", final, not final, languages)
    if closed := _CLOSED.match(line, end):
        return Label(line[closed.end() :], final, not final, languages)
    return None


def _said(line: str, low: str, end: int, final: bool, languages: tuple[str, ...]) -> Label | None:
    """What is said of the label that ends at `end`: after its verb, or right behind it."""
    begin = _after_space(line, end)
    if (right := denial_ends(low[begin:], languages)) is not None:
        return Label(line[begin + right :], final, True, languages)
    clause = low[end : end + _FILLER]
    stop = next((n for n, c in enumerate(clause) if c in ".;?!\n"), len(clause))
    for at in range(end, end + stop):
        if verb := verb_end(low, at, languages, inside=at > end):
            denied = is_denied(low[end:at], languages)
            return None if denied else Label(line[verb:], final, True, languages)
    return Label(line[begin:], final, True, languages)


def _after_space(line: str, at: int) -> int:
    space = _SPACE.match(line, at)
    return space.end() if space else at


def verb_end(low: str, at: int, languages: tuple[str, ...], inside: bool = False) -> int | None:
    """The end of the longest verb of `languages` that stands at `at`. inside: it needs a space before it."""
    best = None
    for code in languages:
        for verb in table("answers")[code]["is"]:
            end = at + len(verb)
            if not low.startswith(verb, at) or _joined(low[end : end + 1], code):
                continue
            if inside and code not in UNSPACED and low[at - 1].isalnum():
                continue
            # 選項 is a word for an option, and no verb with something behind it.
            if not any(
                len(o) > len(verb) and low.startswith(o, at) for o in table("answers")[code]["option"]
            ):
                best = max(best or 0, end)
    return best


def _has_word(low: str, word: str) -> bool:
    at = low.find(word)
    while at >= 0:
        end = at + len(word)
        if not _joined(low[at - 1 : at]) and not _joined(low[end : end + 1]):
            return True
        at = low.find(word, at + 1)
    return False


def _find(low: str, term: str, start: int, code: str) -> int:
    """The end of `term` in `low`, as a word, after `start`; -1 without it."""
    at = low.find(term, start)
    while at >= 0:
        end = at + len(term)
        # A term with spaces around it is a word; others need none in scripts without spaces.
        if (
            code in UNSPACED
            or term != term.strip()
            or not (_joined(low[at - 1 : at]) or _joined(low[end : end + 1]))
        ):
            return end
        at = low.find(term, at + 1)
    return -1
