"""The ballots of a council: a seat's vote, and its ranking of the proposals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from ..caching.regex import regex
from ..context.reply_sizes import BALLOT
from ..steps import Schema
from .attribution import is_reported
from .authorship import OwnWords, own_words
from .directives import Directive, DirectiveWords, Labels, Unreadable, strip_punctuation
from .form import Form
from .json_objects import field, object_schema
from .places import placed

__all__ = ["Ballot", "ballot_form", "ballot_schema", "read_ballot"]


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote: to finalize the proposal `label`, to revise with a focus, or to split for a reason.

    text: the focus or the reason, empty if there is none. ranking: labels, best first, possibly not all.
    """

    kind: Literal["finalize", "revise", "split"]
    label: str | None = None
    text: str = ""
    ranking: tuple[str, ...] = ()


def ballot_schema(labels: Sequence[str]) -> Schema:
    """The schema of a ballot on the proposals `labels`; `label` is empty unless the vote is FINALIZE."""
    # Models with structured output write the fields in this order: the reason comes before the decision.
    properties = {
        "text": {"type": "string"},
        "vote": {"type": "string", "enum": ["FINALIZE", "REVISE", "SPLIT"]},
        "label": {"type": "string", "enum": [*labels, ""]},
        "ranking": {"type": "array", "items": {"type": "string", "enum": list(labels)}},
    }
    return object_schema("ballot", properties)


def ballot_form(labels: Sequence[str], author: str) -> Form[Ballot]:
    """The form of a ballot on the proposals `labels` by the seat with the label `author`."""

    def from_data(data: Mapping[str, Any]) -> Ballot:
        kind = cast(Literal["finalize", "revise", "split"], data["vote"].lower())
        label = data["label"] if kind == "finalize" else None
        if label == "":
            raise Unreadable(f"FINALIZE does not name a proposal: it must be one of {Labels(labels).listing}")
        ranking = tuple(dict.fromkeys(data["ranking"]))
        return Ballot(kind, label, strip_punctuation(data["text"]), ranking)

    read = partial(read_ballot, labels=labels, author=author)
    return Form(ballot_schema(labels), from_data, read, "none", BALLOT.limit)


@dataclass(frozen=True, slots=True)
class _Vote:
    """A vote as far as it could be read. problem: what is wrong with its label."""

    kind: str
    label: str = ""
    text: str = ""
    problem: str = ""
    firm: bool = True

    @property
    def description(self) -> str:
        return f"{self.kind.upper()}: {self.label or self.problem}" if self.names else self.kind.upper()

    @property
    def names(self) -> bool:
        return bool(self.label or self.problem)


_WORDS = DirectiveWords(finalize=r"finali[sz]ed?", revise="revise", split="split")
_WANTED = "give exactly one line `FINALIZE: <label>`, `REVISE: <focus>` or `SPLIT: <reason>`"
_PLACEHOLDER = regex(
    r"[\s\W]*(?:label|focus|reason|name|participant(?:\s+(?:x|label|name|letter))?|(?:your|insert)\b[^>\])]*"
    r"|\.{3}|…|\d+(?:\s+(?:votes?|seats?|ballots?))?)"
    r"\W*\Z",
    re.IGNORECASE,
)
_DOUBT = regex(
    r"(?!\W*(?:what|how|why|which|who|when|where|whether|is|are|does|do|did|can|should|would)\b)[^?]*\?\W*\Z",
    re.IGNORECASE,
)
"""A focus that is only a doubt ("costs?"), not a question to work on."""

_RANK = regex(r"\brank\w*\b[^:]{0,60}:\W*\Z", re.IGNORECASE)
_ABOVE = r">+|≻|→|->|=>"
_BELOW = r"<+|≺|←|<-"
_WORST_FIRST = regex(
    r"\bworst(?:[- ](?:to|through)|\s*(?:→|->)|[- ]first)\b"
    r"|\b(?:least|lowest|weakest|poorest)\b[^:.,]{0,20} to (?:the )?(?:most|best|highest|strongest)\b"
    r"|schlechteste\w* (?:zu[mr]?|bis)\b|\b(?:du pire|du moins bon) au\b"
    r"|\bde(?:l| la| lo)? peor a\b|\bdal peggiore al\b|\bd[oa] pior (?:para|a)\b|\bvan slechtst\w* naar\b"
    r"|от худш\w+ к|від найгірш\w+ до|\bod najgorsz\w+ do\b|\ben kötüden\b|\bfrån sämst\w* till\b"
    r"|最差到最好|[从從由](?:最)?差到(?:最)?好|悪い順|나쁜 순|من الأسوأ",
    re.IGNORECASE,
)
"""What says that a ranking is written from its end: "Ranking (worst to best): C, A, B"."""


def read_ballot(text: str, labels: Sequence[str], *, author: str = "") -> Ballot:
    """The ballot in `text` on the proposals `labels`. author: the label of the seat that wrote it.

    Raises `Unreadable` if there is no vote, more than one, or a vote for something that is not on the ballot.
    The ranking is optional: an unclear one is left out.
    """
    reply, names = own_words(text, _WORDS.any, author), Labels(labels)
    votes = [
        *(vote for document in reply.objects for vote in _in_object(document, names)),
        *(vote for found in _WORDS.find(reply, author) for vote in _in_words(found, reply, names, author)),
    ]
    full = [vote for vote in votes if vote.names or vote.kind != "finalize"]
    counted = [vote for vote in full if vote.firm] or full
    if not counted:
        if votes:
            raise Unreadable(f"FINALIZE does not name a proposal: it must be one of {names.listing}")
        raise Unreadable(f"no vote was found: {_WANTED}")
    if len({(vote.kind, vote.label, vote.problem) for vote in counted}) > 1:
        listing = ", ".join(dict.fromkeys(vote.description for vote in counted))
        raise Unreadable(f"it votes more than once ({listing}): {_WANTED}")
    vote = counted[0]
    if vote.problem:
        raise Unreadable(f"{vote.problem}: FINALIZE must name one of {names.listing}")
    text = "; ".join(dict.fromkeys(vote.text for vote in counted if vote.text))
    kind = cast(Literal["finalize", "revise", "split"], vote.kind)
    return Ballot(kind, vote.label or None, text, _ranking(reply, names, author))


def _in_object(document: Mapping[str, Any], names: Labels) -> Iterator[_Vote]:
    text = field(document, "text", "focus", "reason", "rationale", "why", "explanation", "justification")
    target = field(document, "label", "proposal", "target", "participant", "candidate", "winner", "for")
    for kind, values in _votes_of(document, target):
        texts = [value for value in values if isinstance(value, str) and value.strip()]
        if kind != "finalize":
            # A label beside REVISE is its subject, not its focus.
            yield _Vote(kind, text=strip_punctuation(text or next((v for v in texts if v != target), "")))
            continue
        match = {one.label or one.problem: one for one in map(names.first, texts) if one}
        yield from (
            _Vote(kind, one.label, strip_punctuation(text or one.rest), one.problem) for one in match.values()
        )
        if not match:
            yield _Vote(kind)


def _votes_of(document: Mapping[str, Any], target: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the kinds of vote in an object, each with the values that may name its target."""
    vote = field(
        document, "vote", "ballot", "directive", "decision", "verdict", "action", "choice", "kind", "type"
    )
    if isinstance(vote, dict):
        yield from _votes_of(vote, field(vote, "label", "proposal", "target", "participant") or target)
    kind, rest = _WORDS.opening(vote)
    if kind:
        yield kind, (rest, target)
    for key, value in document.items():
        kind, rest = _WORDS.opening(key)
        if kind and str(value).strip().casefold() not in ("", "none", "n/a", "null", "no", "false", "[]"):
            yield kind, (rest, value, target)


_MINE = regex(r"\W*(?:my(?:\s+own)?\s+(?:proposal|answer|version|draft)|myself|mine)\b", re.IGNORECASE)
_RANKS = regex(r"(?:\A|\W+)rank(?:ing|ed)?\W.*", re.IGNORECASE | re.DOTALL)


def _in_words(found: Directive, reply: OwnWords, names: Labels, author: str) -> Iterator[_Vote]:
    kind, value = found.kind, found.rest
    if found.discussed:
        return
    if found.plain and not strip_punctuation(value):
        below = reply.after(found.place)
        value = "" if _WORDS.any.match(below) else below
    other, rest = _WORDS.opening(value)
    if kind == "finalize" and other and rest.lstrip().startswith(":"):
        # In "FINALIZE: REVISE: ..." the first word is only a header.
        kind, value = other, rest
    if kind == "finalize":
        yield from _finalizing(found, value, names, author)
    elif found.plain and not _PLACEHOLDER.match(value) and not _DOUBT.match(value):
        yield _Vote(kind, text=strip_punctuation(_RANKS.sub("", value)), firm=found.firm)


def _finalizing(found: Directive, value: str, names: Labels, author: str) -> Iterator[_Vote]:
    match = names.first(value)
    if author and _MINE.match(value):
        yield _Vote("finalize", author, firm=found.firm)
    elif match and (found.plain or found.has_lead or not strip_punctuation(match.rest)):
        text = strip_punctuation(_RANKS.sub("", match.rest))
        yield _Vote("finalize", match.label, text, match.problem, found.firm)
    elif match is None and found.plain and not _PLACEHOLDER.match(value):
        yield _Vote("finalize", firm=found.firm)


def _ranking(reply: OwnWords, names: Labels, author: str) -> tuple[str, ...]:
    """The author's only ranking; if several differ, the only one that is called a ranking; else empty."""
    called = [*_listed(reply, names)]
    body = "\n".join(reply.lines)
    for at, order in placed(body, names, author):
        line = body[body.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
        called.append(order[::-1] if _WORST_FIRST.search(line) else order)
    other = list[tuple[str, ...]]()
    for document in reply.objects:
        ranks = field(document, "ranking", "ranked", "rank", "order")
        if isinstance(ranks, str):
            called += [order for _, order in names.chains(ranks, rf"{_ABOVE}|,")]
        elif isinstance(ranks, list):
            found = [names.first(str(rank)) for rank in ranks]
            called.append(tuple(dict.fromkeys(one.label for one in found if one and one.label)))
    for sentence in reply.sentences:
        reverse = bool(_WORST_FIRST.search(sentence.text))
        called_so = reverse or re.search(r"\brank", sentence.text, re.IGNORECASE)
        if not called_so and not re.search(rf"{_ABOVE}|{_BELOW}", sentence.text):
            continue
        chains = [*names.chains(sentence.text, rf"{_ABOVE}|,(?:\s*then)?|;" if called_so else _ABOVE)]
        orders_of = [(at, order[::-1] if reverse else order) for at, order in chains]
        orders_of += [(at, order[::-1]) for at, order in names.chains(sentence.text, _BELOW)]
        for at, order in orders_of:
            before = sentence.text[:at]
            if not is_reported(before, author=author):
                (called if _RANK.search(before) or reverse else other).append(order)
    orders = set(filter(None, called)) or set(other)
    return orders.pop() if len(orders) == 1 else ()


def _listed(reply: OwnWords, names: Labels) -> Iterator[tuple[str, ...]]:
    """Yield rankings in list form: one label per line, under a line that announces a ranking."""
    for sentence in reply.sentences:
        reverse = bool(_WORST_FIRST.search(sentence.text))
        if not _RANK.search(sentence.text) and not (reverse and sentence.text.rstrip(" *_").endswith(":")):
            continue
        order = list[str]()
        for item in reply.sentences[sentence.place + 1 :]:
            one = names.first(item.text)
            if one is None or not one.label:
                break
            order.append(one.label)
        if len(order) > 1:
            yield tuple(dict.fromkeys(order[::-1] if reverse else order))
