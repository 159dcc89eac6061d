r"""Answers in an envelope: a JSON object, a tag, `#### 7`, `[[7]]`, \boxed{7}."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from ...caching.regex import regex
from ...parsing.json_objects import find_objects, read_object
from ..words import table

__all__ = ["asserted", "boxed_value", "bracketed", "hashed", "object_answer", "tagged", "whole_object_answer"]

MAX_CHARS = 20_000
"""Characters at the end of a reply in which an object inside the text is searched."""

_FENCED = regex(
    r"\s*(?:(```|~~~)[ \t]*\w*[ \t]*\n)?\s*(?P<object>\{.*\})\s*(?:\n[ \t]*(?:```|~~~))?\s*", re.DOTALL
)
_FIELD = regex(r"[\"'”]\s*:")
_TAG = regex(
    r"[<\[](?P<tag>(?:final[_-]?)?(?:answer|result|solution|output|response)|final)[>\]]"
    r"(?P<value>.{0,2000}?)[<\[]/(?P=tag)[>\]]",
    re.IGNORECASE | re.DOTALL,
)
_HASHED = regex(r"\s*####(?!#)\s*(?P<value>\S.*)")
_ASSERTED = regex(r"\s*assert\s[^\n]{1,400}?\s==\s+(?P<value>\S.*?)\s*")
_BRACKETED = regex(r".{0,200}?\[\[(?P<value>[^\[\]]{1,80})\]\][\s.*_]*")
_BOX = regex(r"\\(?:boxed|fbox|framebox)\b\s*(?:(?P<brace>\{)|(?P<value>[^\s{}\\$]+))")


def whole_object_answer(text: str) -> str | None:
    """The answer in a reply that is one JSON object, alone or in a fence; "" if the object says it has none.

    None if `text` is something else, or if the object has no answer under a name that `words/answers.json`
    has.
    """
    found = _FENCED.fullmatch(text) if text.lstrip()[:1] in ("{", "`", "~") else None
    if found is None:
        return None
    document = read_object(found["object"])
    return None if document is None else _answer_in(document, found["object"], weak=True)


def object_answer(text: str) -> str | None:
    """The answer in the last JSON object in `text` that has one; None without one, "" for an empty one."""
    text = text[-MAX_CHARS:]
    if not _FIELD.search(text):
        return None
    answers = (_answer_in(one.value, text[one.start : one.end]) for one in reversed(list(find_objects(text))))
    return next((answer for answer in answers if answer is not None), None)


def tagged(text: str) -> tuple[int, str] | None:
    """The content of the last tag such as `<answer>7</answer>`, and where the tag ends."""
    found = _last(_TAG, text) if "</" in text or "[/" in text else None
    if found and (inner := _last(_TAG, found["value"])):
        return found.end(), inner["value"].strip()  # <response><answer>7</answer></response>
    return (found.end(), found["value"].strip()) if found else None


def hashed(line: str) -> str:
    """The value of a line `#### 7`; empty if it is not one."""
    found = _HASHED.fullmatch(line)
    return found["value"] if found else ""


def asserted(line: str) -> str:
    """The right side of a line `assert f(1) == 2`, an answer about a program; empty for another line."""
    found = _ASSERTED.fullmatch(line.strip("`"))
    return found["value"] if found else ""


def bracketed(line: str) -> str:
    """The value of a line that ends with `[[7]]`; empty if it does not."""
    found = _BRACKETED.fullmatch(line) if "[[" in line else None
    return found["value"].strip() if found else ""


def boxed_value(text: str) -> str:
    r"""The content of the last \boxed{} or \fbox{} in `text`; empty without one."""
    found = _last(_BOX, text) if "box" in text else None
    if found is None or not found["brace"]:
        return found["value"].rstrip(".,;") if found else ""
    depth = 0
    for at in range(found.start("brace"), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[found.end() : at].strip()
    return ""


def _last(form: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(form.finditer(text), maxlen=1)), None)


def _answer_in(document: dict[str, Any], source: str, weak: bool = False) -> str | None:
    """The last answer under the best name in `document` or in an object inside it; None without one."""
    fields = list(_fields(document))
    for names in (_names(weak=False), _names(weak=True)) if weak else (_names(weak=False),):
        for wanted in names:
            for key, value in reversed(fields):
                if _key(key) == wanted and not isinstance(value, dict):
                    return _text(key, value, source)
    return None


def _fields(document: Any) -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        yield key, value
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, dict):
                yield from _fields(inner)


def _text(key: str, value: Any, source: str) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case bool():
            return str(value).lower()
        case int() | float():
            # As it is written: 7.10 is not 7.1 where digits count.
            written = re.findall(rf"{re.escape(key)}[\"'”]?\s*:\s*(-?\d[\d.eE+-]*)", source)
            return str(written[-1]) if written else str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


@cache
def _names(weak: bool) -> Sequence[str]:
    """Names of fields that hold an answer. weak: names that hold it only if the object is the whole reply."""
    answers = table("answers")
    if not weak:
        return (
            "finalanswer",
            "answer",
            *dict.fromkeys(_key(words["final"][0]) for words in answers.values()),
        )
    written = (_key(word) for words in answers.values() for word in (*words["final"], *words["answer"]))
    return tuple(dict.fromkeys((*written, "response", "prediction", "value")))
