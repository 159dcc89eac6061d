"""Verdicts that code reads from replies: approvals, picks, classes.

Each verdict has a schema, for providers with structured output, and a reader, which accepts the JSON object
of the schema or the directive in plain text, since models garble either. A reader counts the decision of the
author once, and nothing that the reply quotes, reports or imagines. It raises `Unreadable` if the decision is
unclear; the message is for the author of the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from ..caching.regex import regex
from ..context import reply_sizes
from .attribution import is_imagined
from .authorship import OwnWords, own_words
from .directives import DirectiveWords, LabelMatch, Labels, Unreadable, strip_punctuation
from .form import Form
from .json_objects import field, object_schema
from .translations import truth

__all__ = [
    "APPROVAL",
    "QUESTION_CLASS",
    "QUESTION_CLASS_FORM",
    "ROUTING_CLASS_FORM",
    "Approval",
    "QuestionClass",
    "RoutingClass",
    "Unreadable",
    "approval_form",
    "read_approval",
    "read_class",
    "read_pick",
    "read_routing_class",
]


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether a seat approves a text, and its reason; empty if it gives none."""

    approved: bool
    reason: str = ""


APPROVAL = object_schema(
    "approval",
    {"verdict": {"type": "string", "enum": ["APPROVE", "REJECT"]}, "reason": {"type": "string"}},
)
_NOT = r"(?:(?:can|do|will)\s*not|can't|don't|won't|not)"
_APPROVALS = DirectiveWords(
    approve=r"approve[ds]?", reject=rf"reject(?:ed|s)?|disapproved?|{_NOT}\s+approved?"
)


def read_approval(text: str, *, author: str = "") -> Approval:
    """The approval in `text`: APPROVE or REJECT, with the reason. author: the label of the seat that wrote
    it.

    Raises `Unreadable` if `text` has neither or both.
    """
    reply = own_words(text, _APPROVALS.any, author)
    strong = [found for document in reply.objects for found in _approvals_in_object(document)]
    weak = list[tuple[str, str]]()
    for found in _APPROVALS.find(reply, author):
        if not found.discussed and not re.match(r"\W*\?", found.rest):
            truth = _truth(strip_punctuation(found.rest))
            kind = found.kind if truth is not False else "reject" if found.kind == "approve" else "approve"
            reason = (strip_punctuation(found.rest) if truth is None else "") or strip_punctuation(
                reply.after(found.place)
            )
            (strong if found.plain and found.firm else weak).append((kind, reason))
    counted = strong or [one for one in weak if _sole([one[0]], _APPROVALS, reply)]
    kind = _one([kind for kind, _ in counted], "give exactly one line `APPROVE` or `REJECT: <reason>`")
    return Approval(kind == "approve", next(filter(None, (reason for _, reason in counted)), ""))


def approval_form(author: str) -> Form[Approval]:
    """The form of an approval by the seat with the label `author`."""

    def from_data(data: Mapping[str, Any]) -> Approval:
        return Approval(data["verdict"] == "APPROVE", data["reason"].strip())

    read = partial(read_approval, author=author)
    return Form(APPROVAL, from_data, read, "none", reply_sizes.APPROVAL.limit)


def _approvals_in_object(document: dict[str, Any]) -> Iterable[tuple[str, str]]:
    reason = field(document, "reason", "rationale", "why", "text", "comment", "explanation")
    reason = reason.strip() if isinstance(reason, str) else ""
    kind, rest = _APPROVALS.opening(
        field(document, "verdict", "decision", "vote", "approval", "status", "answer")
    )
    if kind:
        yield kind, reason or strip_punctuation(rest)
    for key, value in document.items():
        kind, _ = _APPROVALS.opening(key)
        truth = _truth(value)
        if kind and (truth or (kind == "approve" and truth is False)):
            yield kind if truth else "reject", reason


_THING = (
    r"(?:answer|proposal|response|reply|reasoning|argument|participant|option|choice|pick|candidate"
    r"|overall|one)"
)
_BEST = (
    r"(?:best|strongest|winning|top|preferred|chosen|winner|pick|choice|selection|most\s+convincing)"
    rf"(?:\s+{_THING}){{0,3}}(?:\s+(?:of|among)\s+(?:all|them|the\s+\w+))?"
)
_PICKS = DirectiveWords(
    best=rf"(?:(?:the|my|our|overall|final|single)\s+){{0,3}}{_BEST}",
    choose=r"pick|choose|select|prefer|favou?r|endorse|vote\s+for|go\s+with",
)
# "My verdict:", "After weighing all three,"
_BEFORE = regex(
    r"(?:(?:my|the|final)\s+){0,2}(?:verdict|judge?ment|vote|decision|conclusion)\s*:\s*|[^,:]{1,60},\s+",
    re.IGNORECASE,
)
_OF_OPTIONS = regex(r"\s(?:answer|option|choice|response|one)\Z", re.IGNORECASE)
_GOES_TO = regex(
    r"\W{0,3}(?:\s*(?:[:=→|]|-+>?(?=\s)|\Z)|\s+(?:is|was|goes\s+to|comes\s+from|belongs\s+to)\b)",
    re.IGNORECASE,
)
_WINS = regex(
    rf"(?:'s\s+{_THING})?\s+(?:wins\b|(?:is|has|gives|gave|makes|offers|provides)"
    rf"(?:\s+(?:clearly|easily|by\s+far))?\s+(?:the\s+|overall\s+){{0,3}}{_BEST})\W*\Z",
    re.IGNORECASE,
)


def read_pick(text: str, labels: Sequence[str]) -> str:
    """The one of `labels` that a judge picks ("BEST: Participant C").

    Raises `Unreadable` if it picks none or several, or if its pick is not a label.
    """
    reply, names = own_words(text, _PICKS.any), Labels(labels)
    firm, alone, sole = list[LabelMatch](), list[LabelMatch](), len(reply.sentences) == 1
    for document in reply.objects:
        value = field(document, "best", "pick", "winner", "choice", "label", "selected", "verdict", "vote")
        firm += filter(None, [names.first(str(value))])
    for found in _PICKS.find(reply):
        to = _GOES_TO.match(found.rest)
        value = found.rest[to.end() :] if to else found.rest
        match = names.first(value if strip_punctuation(value) else reply.after(found.place))
        # A letter alone may be an option of the question, as in "The best choice is B".
        if match and (to or found.has_lead) and not (match.bare and _OF_OPTIONS.search(found.word)):
            firm.append(match)
    for sentence in reply.sentences:
        before = _BEFORE.match(sentence.text)
        start = before.end() if before else 0
        match = names.first(sentence.text[start:])
        if match and match.label and not is_imagined(sentence.text[:start]) and (sole or not match.bare):
            firm += [match] if _WINS.match(match.rest) else []
            alone += [match] if not strip_punctuation(match.rest) else []
    counted = firm or alone
    instruction = f"give exactly one line `BEST: <label>`, the label one of {names.listing}"
    picked = _one([match.label or match.problem for match in counted], instruction)
    if picked not in labels:
        raise Unreadable(f"{picked}: {instruction}")
    return picked


QuestionClass = Literal["reasoning", "judgment", "compound"]
QUESTION_CLASS = object_schema(
    "question_class", {"class": {"type": "string", "enum": ["reasoning", "judgment", "compound"]}}
)
_FALLS = (
    r"(?:(?:(?:this|it|the\s+question)\s+)?"
    r"(?:falls?\s+(?:under|into)|calls?\s+for|requires?|belongs?\s+to)\s+"
    r"|(?:classify|class|call)\s+(?:this|it|the\s+question)\s+(?:as\s+)?)?(?:an?\s+|the\s+)?"
)
_CLASSES = DirectiveWords(
    reasoning=rf"{_FALLS}reasoning",
    judgment=rf"{_FALLS}judge?ment(?:al)?",
    compound=rf"{_FALLS}(?:compound|multi-?part)",
)


RoutingClass = Literal["checkable", "open", "writing", "compound"]
ROUTING_CLASS = object_schema(
    "question_class", {"class": {"type": "string", "enum": ["checkable", "open", "writing", "compound"]}}
)
_ROUTING_CLASSES = DirectiveWords(
    checkable=rf"{_FALLS}checkable",
    open=rf"{_FALLS}open(?:[\s-]?ended)?",
    writing=rf"{_FALLS}writing",
    compound=rf"{_FALLS}(?:compound|multi-?part)",
)


def read_class(text: str) -> QuestionClass:
    """The class of a question. Raises `Unreadable` if the reply names none or several."""
    return cast(QuestionClass, _read_class(text, _CLASSES, "reasoning, judgment or compound"))


def read_routing_class(text: str) -> RoutingClass:
    """The class of a question, for its route. Raises `Unreadable` if the reply names none or several."""
    return cast(RoutingClass, _read_class(text, _ROUTING_CLASSES, "checkable, open, writing or compound"))


def _read_class(text: str, words: DirectiveWords, listing: str) -> str:
    reply = own_words(text, words.any)
    strong, weak = list[str](), list[str]()
    for document in reply.objects:
        value = field(
            document, "class", "category", "type", "kind", "classification", "label", "route", "answer"
        )
        strong += filter(None, [words.opening(value)[0]])
    for found in words.find(reply):
        # Many replies explain themselves under "Reasoning:" before they name another class.
        explains = found.kind == "reasoning" and not found.has_lead and found.rest.lstrip().startswith(":")
        if found.has_lead or (found.plain and not explains):
            strong.append(found.kind)
        elif explains and strip_punctuation(found.rest):
            weak.append(found.kind)
    return _one(strong or weak, f"answer with one word: {listing}")


QUESTION_CLASS_FORM: Form[QuestionClass] = Form(
    QUESTION_CLASS, lambda data: data["class"], read_class, "none", reply_sizes.QUESTION_CLASS.limit
)
ROUTING_CLASS_FORM: Form[RoutingClass] = Form(
    ROUTING_CLASS, lambda data: data["class"], read_routing_class, "none", reply_sizes.QUESTION_CLASS.limit
)


def _sole(weak: list[str], words: DirectiveWords, reply: OwnWords) -> list[str]:
    """`weak`; empty if the reply also has a word of another kind, which may retract it."""
    kinds = {words.opening(word[0])[0] for s in reply.sentences for word in words.any.finditer(s.text)}
    return weak if len(kinds) == 1 else []


def _one(found: Iterable[str], instruction: str) -> str:
    """The only distinct item of `found`. Raises `Unreadable`, with `instruction` in the message, if there is
    none."""
    match list(dict.fromkeys(found)):
        case [only]:
            return only
        case []:
            raise Unreadable(f"no verdict was found: {instruction}")
        case several:
            raise Unreadable(f"it says more than one thing ({', '.join(several)}): {instruction}")


def _truth(value: Any) -> bool | None:
    """A JSON value, or a word in any language, as yes or no; None if it is neither."""
    text = str(value).strip().casefold()
    return True if text in ("true", "yes") else False if text in ("false", "no") else truth(text)
