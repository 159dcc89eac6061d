"""Directives ("FINALIZE: Participant B") and labels in an author's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..caching.regex import regex
from .attribution import LEAD, find_lead, introduces_other, is_conditional, is_imagined, is_reported
from .authorship import OwnWords, Sentence, Unreadable

__all__ = ["Directive", "DirectiveWords", "LabelMatch", "Labels", "Unreadable", "strip_punctuation"]


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive word and the rest of its sentence, the one at `place`.

    firm: it opens the sentence, or follows "I vote" or "my vote is"; else it opens a clause, with a colon.
    plain: its form shows that it is a directive: in capitals, before a colon, or at the end.
    has_lead: it follows "I vote" or "my vote is". discussed: a verb follows, as in "SPLIT is early".
    """

    kind: str
    word: str
    rest: str
    place: int
    firm: bool
    plain: bool
    has_lead: bool
    discussed: bool


_CLAUSE = regex(r"^|[,;:-]\s+(?=(?:(?:and\s+)?(?:so|therefore|thus|hence|consequently))\b)", re.IGNORECASE)
_BEGINS = regex(r"(?:\A|[^\w\s'\"(\[]|\b(?:so|therefore|thus|hence|then|now))\s*\Z", re.IGNORECASE)
_DISCUSSED = regex(r"\s+(?:is|are|was|were|would|could|might|may|seems?|has|had|\w+n't)\b", re.IGNORECASE)
_PARTED = regex(r"\s*(?:[:=|>→]|-+>?(?=\s)|\W*\Z)")


class DirectiveWords:
    """The directive words of one kind of verdict. forms: kind -> the pattern of its word."""

    def __init__(self, **forms: str) -> None:
        either = "|".join(forms.values())
        alternatives = "|".join(f"(?P<{kind}>{form})" for kind, form in forms.items())
        listed = rf"(?:(?:{either})(?:\s*(?:[/|,]|\bor\b)\s*(?:{either}))+\s*[:=-]+\s*)?"
        self.kinds = tuple(forms)
        self.any = regex(rf"\b(?:{either})\b", re.IGNORECASE)
        self._opening = regex(rf"{listed}{LEAD}(?:{alternatives})\b", re.IGNORECASE)
        self._named = regex(rf"\b(?:{either})\s*:", re.IGNORECASE)
        self._inside = regex(rf"(?<!\w)(?:{alternatives})\b", re.IGNORECASE)
        self._start = regex(rf"[\W_]*(?:{alternatives})\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
        self._alternative = regex(rf"(?:[/|,]|\bor\b)\s*(?P<word>{either})\b(?P<colon>\s*:)?", re.IGNORECASE)

    def find(self, reply: OwnWords, author: str = "") -> list[Directive]:
        """The author's directives in order, without those that only offer a choice.

        author: the label of the seat that wrote the reply.
        """
        return [
            found
            for sentence in reply.sentences
            if self.any.search(sentence.text)
            for found in self._in(sentence, author)
        ]

    def opening(self, value: Any) -> tuple[str, str]:
        """The kind of the word at the start of a JSON value, "" for none, and the text after the word."""
        match = self._start.match(value) if isinstance(value, str) else None
        return (self._kind(match), match["rest"]) if match else ("", "")

    def _kind(self, match: re.Match[str]) -> str:
        return next(kind for kind in self.kinds if match[kind])

    def _in(self, sentence: Sentence, author: str) -> Iterator[Directive]:
        text, opened = sentence.text, False
        for clause in _CLAUSE.finditer(text):
            before = text[: clause.start()]
            if opening := self._opening.match(text, clause.end()):
                opened = True
                after = text[opening.end() :]
                if not is_reported(before, after, author=author) and not is_conditional(
                    opening["led"] or "", before, after
                ):
                    yield from self._directive(opening, sentence, has_lead=bool(opening["led"]), firm=True)
        several = len(self._named.findall(text)) > 1
        for inside in [] if opened else self._inside.finditer(text):
            before, after = text[: inside.start()], text[inside.end() :]
            at = find_lead(before)
            if at is not None:
                yes = not introduces_other(before[:at], author) and not is_conditional(
                    before[at:], before[:at], after
                )
            else:
                is_marked = inside[0].isupper() or before.rstrip().endswith(":")
                yes = is_marked and not several and bool(_BEGINS.search(before) and re.match(r"\s*:", after))
                yes = yes and not is_imagined(before) and not is_reported(before, after, author=author)
            if yes:
                yield from self._directive(inside, sentence, has_lead=at is not None, firm=at is not None)

    def _directive(
        self, match: re.Match[str], sentence: Sentence, *, has_lead: bool, firm: bool
    ) -> Iterator[Directive]:
        kind = self._kind(match)
        rest = sentence.text[match.end() :]
        offers_choice = any(
            m["colon"] or m["word"].isupper() or not rest[: m.start()].strip()
            for m in self._alternative.finditer(rest)
        )
        if not offers_choice:
            plain = match[kind].isupper() or bool(_PARTED.match(rest))
            yield Directive(
                kind, match[kind], rest, sentence.place, firm, plain, has_lead, bool(_DISCUSSED.match(rest))
            )


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """The label at the start of a text, or the `problem` with it. rest: the text after it.

    bare: it is only a letter, which may also mean something else, such as an option of the question.
    """

    label: str
    rest: str
    problem: str = ""
    bare: bool = False


_BEFORE = regex(
    r"[\s:=|>→\"'<\[({*.,#_-]*"
    r"(?:(?:the|with|for|on|by|of|from|as|one|label|target|proposal|answer|response|version|draft|text|is)\b"
    r"[\s:\"'<\[(]*)*",
    re.IGNORECASE,
)
_NOUN = r"(?:participant|option|candidate|seat|author|member)"
_GAP = r"[\s_-]*"
_ENDED = regex(
    r"\s*(?:[^\s\w]|\Z)|\s+(?:because|since|for|as|is|was|with|over|and|or|has|gives|on|by|it|if|when)\b",
    re.IGNORECASE,
)
_AND = regex(r"[\s\"'*>\])]*(?:\b(?:and|or)\b|[&/|+=]|,(?:\s*(?:and|or)\b)?)", re.IGNORECASE)
_DOUBT = regex(
    r"\W*\?|[\s,]*\b(?:would|could|might|may|was|were|seems|(?:is|are)\s+not)\b|[\s,]*\b\w+n't\b",
    re.IGNORECASE,
)


class Labels:
    """The labels on a ballot, as seats write them: Participant B, B, participant_b, Option B's proposal."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._known = {_squeezed(name): label for label in labels for name in (label.split()[-1], label)}
        whole = "|".join(_GAP.join(map(re.escape, label.split())) for label in sorted(labels, key=len)[::-1])
        self._name = regex(
            rf"(?<!\w)(?:(?P<whole>{whole})|{_NOUN}s?[\s_#.:'\"-]*(?P<key>[A-Z]{{1,2}}|\d{{1,2}})"
            r"|(?P<bare>[A-Z]{1,2}))(?![\w&])",
            re.IGNORECASE,
        )

    @property
    def listing(self) -> str:
        """The labels as a list for messages."""
        return ", ".join(self.labels)

    def first(self, text: str) -> LabelMatch | None:
        """The label at the start of `text`, after words such as "the proposal of"; None without one.

        The match has a problem if the label is not on the ballot, or if "and" or "or" joins another label to
        it. A label that is only questioned or supposed ("B?", "B would be") does not count.
        """
        one = self._at(text)
        if one is None or one.problem:
            return one
        if _DOUBT.match(one.rest):
            return None
        joint = _AND.match(one.rest)
        two = self._at(one.rest[joint.end() :]) if joint else None
        # After a comma, another label may begin a clause about itself, unless a list continues after it.
        if (
            joint
            and two
            and two.label != one.label
            and (joint[0].strip() != "," or not strip_punctuation(two.rest) or self._continued(two.rest))
        ):
            return LabelMatch("", "", f"{one.label} and {two.label or 'somebody else'} are both named")
        return one

    def chains(self, text: str, joint: str) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield the start and the labels of each run of two or more labels in `text` joined by `joint`.

        A run ends before two labels that are ranked equal, with an equals sign.
        """
        link = regex(
            rf"(?:'s)?(?:\s+(?:proposal|answer))?[\"'\])*]*\s*(?:{joint})\s*[\"'\[(*]*", re.IGNORECASE
        )
        start = 0
        while name := self._name.search(text, start):
            start, run = name.end(), [self._label(name)]
            while (joined := link.match(text, start)) and (following := self._name.match(text, joined.end())):
                run.append(self._label(following))
                start = following.end()
            if re.match(r"\s*[=~]", text[start : start + 20]):
                run.pop()
            if len(run) > 1 and not text[: name.start()].rstrip().endswith(("=", "~")):
                yield name.start(), tuple(dict.fromkeys(filter(None, run)))

    def _label(self, name: re.Match[str]) -> str:
        return self._known.get(_squeezed(name["whole"] or name["key"] or name["bare"]), "")

    def _continued(self, rest: str) -> bool:
        """Whether the text after a label joins another label to it."""
        joint = _AND.match(rest)
        return bool(joint and self._at(rest[joint.end() :]))

    def _at(self, text: str) -> LabelMatch | None:
        before = _BEFORE.match(text)
        name = self._name.match(text, before.end() if before else 0)
        if name is None:
            return None
        label, rest, key, bare = self._label(name), text[name.end() :], name["key"] or "", name["bare"] or ""
        # "A better answer", "I think", "to be shown".
        article = bare.upper() in ("A", "I") and not _ENDED.match(rest)
        if article or (bare.islower() and strip_punctuation(rest)):
            return None
        if label:
            return LabelMatch(label, rest, bare=bool(bare))
        word = len(key or bare) > 1 and not key.isdigit()
        if word or (bare and (rest.startswith("/") or not _ENDED.match(rest))):
            return None
        return LabelMatch("", rest, f"{name[0].strip()} is not on the ballot")


_AROUND = " \t\n:=|>→\"'*_-.,;"


def _squeezed(name: str) -> str:
    return re.sub(_GAP, "", name).casefold()


def strip_punctuation(value: Any) -> str:
    """`value` without surrounding punctuation; empty if nothing else is left, or if it is not a string."""
    text = value.strip(_AROUND) if isinstance(value, str) else ""
    while text[:1] in ("(", "[", "<") and text[-1:] in (")", "]", ">"):
        text = text[1:-1].strip(_AROUND)
    if ")" in text[-1:] and "(" not in text:
        text = text[:-1]
    return text.lstrip("([<") if re.search(r"\w", text) else ""
