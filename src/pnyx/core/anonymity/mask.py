"""Masking of model names in text that other seats read.

One rule for every name found. It is hidden where a model names itself with it; otherwise where it is
the panel's and not subject matter, which is what the trusted text holds. A name of another family is
a claim about who speaks only where a model names itself, so elsewhere it stays.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable

from ..regex import regex
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
_DASHES = dict.fromkeys((0x2D, *range(0x2010, 0x2016)))
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
"""Dates, formats and stages at the end of a model's name, which it is also called without."""

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
    """`text` without the names that would tell who on the panel wrote it.

    models: panel references "provider:model". told: the trusted part of the prompt; what it names is
    subject matter and stays, except where a model names itself. Masking again changes nothing.
    """
    if not _suspect(text, models):
        return text
    names = _names(models)
    out: list[str] = []
    # Decisions look back at what is already masked, as a second pass would, so that it finds no more.
    before, done = "", 0
    while found := names.search(text, done):
        start = found.start("name")
        gap, article = text[done : found.start()], text[found.start() : start]
        before = (before + gap)[-_REACH:]
        row = _row(names, text, found)
        stop = row[-1].end()
        itself = names_itself(before + article, text, stop)
        if not itself:
            stop = _hidden(row, trusted)
        if stop > start:
            piece = _worded("this participant" if itself else "a participant", before)
            done = stop if stop < row[-1].end() else _end(_KIND, text, stop)
        else:
            done = _end(_WORD, text, start)
            piece = text[found.start() : done]
        out += (gap, piece)
        before = (before + piece)[-_REACH:]
    out.append(text[done:])
    return "".join(out)


@functools.lru_cache(maxsize=32)  # a proposal is shown to every other seat
def _suspect(text: str, models: tuple[str, ...]) -> bool:
    """Whether `text` may hold a name, however it is spaced."""
    squeezed = "".join(text.split()).translate(_DASHES).casefold()
    return any(stem in squeezed for stem in _stems(models))


def _row(names: re.Pattern[str], text: str, found: re.Match[str]) -> list[re.Match[str]]:
    """`found` and the names joined to it: "OpenAI's GPT-5", "lab:alpha". Few, or long rows cost a square."""
    row = [found]
    while (
        len(row) < 4
        and (joint := _JOINT.match(text, row[-1].end()))
        and (more := names.match(text, joint.end()))
        and more.start("name") == joint.end()
    ):
        row.append(more)
    return row


def _hidden(row: list[re.Match[str]], trusted: str) -> int:
    """Where the names of `row` stop that are the panel's and not held by `trusted`; its start if none is."""
    start, stop = row[0].start("name"), row[-1].end()
    trusted_names = [_contains(name["name"], trusted) for name in row]
    ours = [name["panel"] is not None and not known for name, known in zip(row, trusted_names, strict=True)]
    if not any(ours) or _contains(row[0].string[start:stop], trusted):
        return start
    if not any(trusted_names):
        return stop
    return row[0].end() if ours[0] else start


def _worded(who: str, before: str) -> str:
    if _DETERMINED.search(before):
        return "participant"
    return who if before[sentence_start(before) :].strip(_OPENING) else who.capitalize()


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


@functools.lru_cache(maxsize=64)
def _stems(models: tuple[str, ...]) -> tuple[str, ...]:
    """What a text must hold, written together and folded, to hold a name: looked for first, for speed."""
    sure, unsure = _spelled(models)
    firsts = (token[0].casefold() for name in sure | unsure if (token := _TOKEN.search(name)))
    return tuple({*STEMS, *firsts})


@functools.lru_cache(maxsize=64)
def _names(models: tuple[str, ...]) -> re.Pattern[str]:
    """Matches one name and its article: group `name`, and `panel` where it belongs to the panel."""
    words = frozenset(word for ref in models for word in _words(ref))
    ours = [family for family in FAMILIES if not words.isdisjoint(family.words)]
    others = [family for family in FAMILIES if family not in ours]
    sure, unsure = _spelled(models)
    branded = [name for name in sure if not FAMILY_WORDS.isdisjoint(_words(name))]
    panel = (
        _versioned(*_patterns(branded), *(family.heads for family in ours)),
        *_patterns(sure.difference(branded)),
        *(family.makers for family in ours),
        *(company(ref.partition(":")[0]) for ref in models if ref.partition(":")[0].casefold() in HOUSEHOLD),
    )
    foreign = (
        _versioned(*(family.heads for family in others)),
        *_patterns(unsure),
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
    """The words of `name`, with the digits in them and without."""
    folded = name.casefold()
    return {*_WORD.findall(folded), *_TOKEN.findall(folded)}


def _spelled(models: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """The names in the references: those hidden wherever they stand, and those too common for that."""
    sure: set[str] = set()
    unsure: set[str] = set()
    for ref in models:
        provider, colon, model = ref.partition(":")
        if not colon:
            provider, model = "", ref
        owners, name = _located(model)
        tagless = name.partition(":")[0]
        sure |= {model, name, tagless, _QUALIFIERS.sub("", tagless)}
        # "As Zephyr, I ..." of zephyr-7b-beta; elsewhere it may be a word like others.
        unsure |= {short[0] for short in [_BEFORE_SIZE.match(tagless)] if short}
        for owner in (provider, *owners):
            (unsure if owner.casefold() in ORDINARY | HOUSEHOLD else sure).add(owner)
        if provider in unsure or _vague(name):
            sure.add(ref)
    vague = set(filter(_vague, sure))
    return sure - vague, unsure | vague


def _vague(name: str) -> bool:
    return len(name) < 2 or not any(map(str.isalpha, name))


def _located(model: str) -> tuple[list[str], str]:
    """The owners in front of a model's name, none where it is a file, and the name."""
    *folders, name = re.split(r"[/\\]", model)
    return ([], _ENDING.sub("", name)) if _FILE.match(model) else (folders, name)


def _patterns(names: Iterable[str]) -> list[str]:
    return [_pattern(name) for name in sorted(names, key=lambda name: (-len(name), name))]


def _pattern(name: str) -> str:
    """Matches `name` however its parts are joined; empty when it cannot be told from the mask itself."""
    tokens = list(_TOKEN.finditer(name))
    folded = [token[0].casefold() for token in tokens]
    if "participant" in folded or _MASK_WORDS.issuperset(folded):
        return ""
    # A space joins the parts only of names long enough not to be found in prose by chance.
    space = f"|{SPACE}" if sum(map(len, folded)) > 3 else ""
    out = re.escape(tokens[0][0])
    for last, token in itertools.pairwise(tokens):
        own = name[last.end() : token.start()]
        joins = JOIN + (f"|{re.escape(own)}" if own else "")
        # Masking writes "a participant": were " a" the end of a name, it would find that again.
        joins += "" if token[0].casefold() in _MASK_WORDS else space
        optional = "" if last[0].isdigit() and token[0].isdigit() else "?"
        out += f"(?:{joins}){optional}{re.escape(token[0])}"
    return out


@functools.lru_cache(maxsize=1024)
def _contains(name: str, trusted: str) -> bool:
    """Whether `trusted` has the words and numbers of `name` in a row."""
    return f" {_flat(name)} " in f" {_flat(trusted)} "


@functools.lru_cache(maxsize=16)
def _flat(text: str) -> str:
    return " ".join(token[0] for token in _TOKEN.finditer(text.casefold()))
