"""Mask model names in the material that seats read.

One rule for every name: it is masked if a model names itself with it, or if it belongs to the panel and is
not subject matter, that is, not in the trusted text. A name of another family identifies the author only
where a model names itself, so elsewhere it stays.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable

from ..caching.regex import regex
from ..markup.characters import replacing
from .brands import (
    FAMILIES,
    FAMILY_WORDS,
    HOUSEHOLD,
    JOIN,
    LEFT,
    ORDINARY,
    RIGHT,
    SPACE,
    STEMS,
    TAIL,
    company,
)
from .self_reference import MARKUP, names_itself, sentence_start

__all__ = ["mask"]

_REACH = 200
_without_dashes = replacing(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015", ""))
_MASK_WORDS = frozenset(("a", "an", "the", "this", "participant"))
_TOKEN = regex(r"[^\W\d_]+|\d+")
_WORD = regex(r"[^\W_]+")
_FILE = regex(r"[/~.]|[a-z]:\\|.*\.(?:gguf|bin|safetensors|onnx)\Z", re.IGNORECASE | re.DOTALL)
_ENDING = regex(r"\.(?:gguf|bin|safetensors|onnx)\Z", re.IGNORECASE)
_QUALIFIERS = regex(
    r"(?:[-_.@](?:latest|preview|exp|instruct|chat|it|free|beta|gguf|fp\d+|bf16|q\d\w*|v\d+|\d{3,8}"
    r"|\d{4}-\d\d-\d\d|\d\d-\d{4}))+\Z",
    re.IGNORECASE,
)
"""Dates, formats and stages at the end of a model's name that are often left out."""

_BEFORE_SIZE = regex(r"[^\W\d_]{2,}?(?:[-_ ][^\W\d_]{2,}?)*(?=[-_ ]?v?\d)", re.IGNORECASE)


def _compile(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.IGNORECASE)


_JOINT = regex(rf"(?:['\u2019]s)?(?:{SPACE}|[:/])")
_KIND = _compile(
    rf"{SPACE}(?:(?:AI|chat|(?:large{SPACE})?language){SPACE})?(?:model|assistant|chatbot|LLM)\b|{SPACE}AI\b|"
)
_DETERMINED = _compile(
    rf"(?:\b(?:this|that|my|your|our|its|their|every|each|another|any|no)\s[{re.escape(MARKUP)}]*|[^\W_]{JOIN})\Z"
)
_OPENING = MARKUP + " \t-+"


def mask(text: str, models: tuple[str, ...], *, trusted: str = "") -> str:
    """`text` without the names that would identify its author on the panel.

    models: the panel's references "provider:model". trusted: the trusted part of the prompt; the names in it
    are subject matter and stay, except where a model names itself. Masking twice changes nothing.
    """
    if not _may_hold_name(text, models):
        return text
    names = _names(models)
    out: list[str] = []
    # Decisions use the masked text before a name, as a second pass would, so that it changes nothing.
    before, done = "", 0
    while found := names.search(text, done):
        start = found.start("name")
        gap, article = text[done : found.start()], text[found.start() : start]
        before = (before + gap)[-_REACH:]
        row = _row(names, text, found)
        stop = row[-1].end()
        itself = names_itself(before + article, text, stop)
        if not itself:
            stop = _masked_end(row, trusted)
        if stop > start:
            piece = _replacement("this participant" if itself else "a participant", before)
            done = stop if stop < row[-1].end() else _end(_KIND, text, stop)
        else:
            done = _end(_WORD, text, start)
            piece = text[found.start() : done]
        out += (gap, piece)
        before = (before + piece)[-_REACH:]
    out.append(text[done:])
    return "".join(out)


@functools.lru_cache(maxsize=32)  # every other seat reads the same proposal
def _may_hold_name(text: str, models: tuple[str, ...]) -> bool:
    """Whether `text` may contain a name, with any spacing."""
    squeezed = _without_dashes("".join(text.split()).replace("-", "")).casefold()
    return any(map(squeezed.__contains__, _stems(models)))


def _row(names: re.Pattern[str], text: str, found: re.Match[str]) -> list[re.Match[str]]:
    """`found` and up to three names joined to it: "OpenAI's GPT-5", "lab:alpha". The bound keeps it
    linear."""
    row = [found]
    while (
        len(row) < 4
        and (joint := _JOINT.match(text, row[-1].end()))
        and (more := names.match(text, joint.end()))
        and more.start("name") == joint.end()
    ):
        row.append(more)
    return row


def _masked_end(row: list[re.Match[str]], trusted: str) -> int:
    """The end of the names in `row` that belong to the panel and are not in `trusted`; its start if none
    are."""
    start, stop = row[0].start("name"), row[-1].end()
    trusted_names = [_contains(name["name"], trusted) for name in row]
    ours = [name["panel"] is not None and not known for name, known in zip(row, trusted_names, strict=True)]
    if not any(ours) or _contains(row[0].string[start:stop], trusted):
        return start
    if not any(trusted_names):
        return stop
    return row[0].end() if ours[0] else start


def _replacement(who: str, before: str) -> str:
    if _DETERMINED.search(before):
        return "participant"
    return who if before[sentence_start(before) :].strip(_OPENING) else who.capitalize()


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


@functools.lru_cache(maxsize=64)
def _stems(models: tuple[str, ...]) -> tuple[str, ...]:
    """Stems of which a text with a name must contain one, without spaces and case; checked first, for
    speed."""
    certain, uncertain = _spellings(models)
    firsts = (token[0].casefold() for name in certain | uncertain if (token := _TOKEN.search(name)))
    return tuple({*STEMS, *firsts})


@functools.lru_cache(maxsize=64)
def _names(models: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of one name with its article: group `name`, and `panel` if it belongs to the panel."""
    words = frozenset(word for ref in models for word in _words(ref))
    ours = [family for family in FAMILIES if not words.isdisjoint(family.words)]
    others = [family for family in FAMILIES if family not in ours]
    certain, uncertain = _spellings(models)
    branded = [name for name in certain if not FAMILY_WORDS.isdisjoint(_words(name))]
    panel = (
        _versioned(*_patterns(branded), *(family.heads for family in ours)),
        *_patterns(certain.difference(branded)),
        *(family.makers for family in ours),
        *(company(ref.partition(":")[0]) for ref in models if ref.partition(":")[0].casefold() in HOUSEHOLD),
    )
    foreign = (
        _versioned(*(family.heads for family in others)),
        *_patterns(uncertain),
        *(family.makers for family in others),
        *(family.others for family in FAMILIES),
    )
    article = rf"(?:(?:an?|the){SPACE})?"
    name = rf"(?P<name>(?P<panel>{_either(panel)}){RIGHT}|(?:{_either(foreign)}){RIGHT})"
    return _compile(rf"{LEFT}{article}{LEFT}{name}")


def _either(patterns: Iterable[str]) -> str:
    return "|".join(filter(None, patterns)) or "(?!)"


def _versioned(*patterns: str) -> str:
    return f"(?:{_either(patterns)}){TAIL}"


def _words(name: str) -> set[str]:
    """The words of `name`, with and without the digits in them."""
    folded = name.casefold()
    return {*_WORD.findall(folded), *_TOKEN.findall(folded)}


def _spellings(models: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """The names in the references: those to mask everywhere, and those that are too common for that."""
    certain: set[str] = set()
    uncertain: set[str] = set()
    for ref in models:
        provider, colon, model = ref.partition(":")
        if not colon:
            provider, model = "", ref
        owners, name = _located(model)
        tagless = name.partition(":")[0]
        certain |= {model, name, tagless, _QUALIFIERS.sub("", tagless)}
        # zephyr-7b-beta may write "As Zephyr, I ..."; elsewhere it may be an ordinary word.
        uncertain |= {short[0] for short in [_BEFORE_SIZE.match(tagless)] if short}
        for owner in (provider, *owners):
            (uncertain if owner.casefold() in ORDINARY | HOUSEHOLD else certain).add(owner)
        if provider in uncertain or _vague(name):
            certain.add(ref)
    vague = set(filter(_vague, certain))
    return certain - vague, uncertain | vague


def _vague(name: str) -> bool:
    return len(name) < 2 or not any(map(str.isalpha, name))


def _located(model: str) -> tuple[list[str], str]:
    """The owners before a model's name (none for a file), and the name."""
    *folders, name = re.split(r"[/\\]", model)
    return ([], _ENDING.sub("", name)) if _FILE.match(model) else (folders, name)


def _patterns(names: Iterable[str]) -> list[str]:
    return [_pattern(name) for name in sorted(names, key=lambda name: (-len(name), name))]


def _pattern(name: str) -> str:
    """The pattern of `name` with its parts joined in any way; empty if it cannot be distinguished from the
    mask."""
    tokens = list(_TOKEN.finditer(name))
    folded = [token[0].casefold() for token in tokens]
    if "participant" in folded or _MASK_WORDS.issuperset(folded):
        return ""
    # A space joins the parts only of names that are too long to occur in prose by chance.
    space = f"|{SPACE}" if sum(map(len, folded)) > 3 else ""
    out = re.escape(tokens[0][0])
    for last, token in itertools.pairwise(tokens):
        own = name[last.end() : token.start()]
        joins = JOIN + (f"|{re.escape(own)}" if own else "")
        # The mask writes "a participant": if a name could end in " a", masking again would match it.
        joins += "" if token[0].casefold() in _MASK_WORDS else space
        optional = "" if last[0].isdigit() and token[0].isdigit() else "?"
        out += f"(?:{joins}){optional}{re.escape(token[0])}"
    return out


@functools.lru_cache(maxsize=1024)
def _contains(name: str, trusted: str) -> bool:
    """Whether `trusted` contains the words and numbers of `name` in sequence."""
    return f" {_flat(name)} " in f" {_flat(trusted)} "


@functools.lru_cache(maxsize=16)
def _flat(text: str) -> str:
    return " ".join(token[0] for token in _TOKEN.finditer(text.casefold()))
