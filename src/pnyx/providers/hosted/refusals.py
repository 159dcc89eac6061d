"""Which parameter of a request a host refuses, by its own field for it or by its words.

With status 400 or 422, a sentence that names a parameter as the request writes it refuses it: a mistake costs
one request that is not billed. With another status, or where other words stand for the name ("a budget"), the
sentence must also have words of a refusal, since an error may name a parameter in passing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...core.caching.regex import regex
from . import bodies
from .refusal_words import (
    ANY_OF_THEM,
    CONDITION,
    ENGLISH,
    HARDWARE,
    IN_PASSING,
    LISTS,
    NOT_BOTH,
    NOT_OFFERED,
    NOUNS,
    OTHER_NAME,
    OUTPUT_CONFIG,
    PLAIN_WORDS,
    REFUSED,
    ROUTING,
    SCHEMA,
    SCHEMA_REFUSED,
    SERDE,
    TOOL_SCHEMA,
    UNKNOWN_NAME,
    WORDS_BY_ACCIDENT,
    bare,
    listed,
    quoted,
)
from .reports.report import Report

__all__ = ["RENAMED", "refused_names", "without_model"]

RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
KEPT = frozenset(
    (
        *("model", "messages", "contents", "stream", "system", "systemInstruction", "input"),
        *("generationConfig", "output_config", "plugins", "web_search_options", *bodies.OUTPUT_LIMITS),
    )
)
"""Parameters without which a request means something else, or nothing."""
ESSENTIAL = frozenset(("temperature", "tools", "tool_choice", *bodies.OUTPUT_LIMITS))
"""Parameters that are kept if the host does not say which one it refuses."""
DISPENSABLE = frozenset(("cache_control", "prompt_cache_key", "stream_options", "store", "user"))
"""Parameters that change no answer: any refused request that names one is tried without it."""
NAMING = (400, 422)
"""Statuses of a request that is wrong, whose sentences name what is wrong about it."""
_CLAUSES = regex(r"(?<=[.!?;])\s+|\n|[。\uff1b]")


def refused_names(found: Report, body: dict[str, Any], model: str, kind: str) -> list[str]:
    """The parameters of `body` that the host refuses; none if it refuses something else. kind: of the error.

    `max_tokens` and its kin are among them only if their name is refused, not their value.
    """
    if found.status == 404 and not ROUTING.search(found.english):
        return []
    names = [name for name in bodies.names(body) if name in RENAMED or _is_droppable(name, body)]
    if ANY_OF_THEM.search(found.english):
        return [name for name in names if name not in ESSENTIAL]
    reports = found.items or (found,)
    named_is_refused = found.status in NAMING and kind == "refused"
    refused = [name for one in reports for name in _named(one, names, body, model, named_is_refused)]
    return list(dict.fromkeys(refused))


def _is_droppable(name: str, body: dict[str, Any]) -> bool:
    if name == "tools":
        return not (_has_tool_turns(body) or any(_is_of_host(tool) for tool in body["tools"]))
    return name not in KEPT


def _has_tool_turns(body: dict[str, Any]) -> bool:
    """Whether the model has called a tool, without which the conversation makes no sense."""
    turns = body.get("messages") or body.get("contents") or ()
    text = str(turns)
    return any(f"'{key}'" in text for key in ("tool_calls", "tool_use", "functionCall", "function_call"))


def _is_of_host(tool: Any) -> bool:
    """Whether the host runs the tool: a search, whose results the answer cites."""
    return isinstance(tool, dict) and not tool.keys() & {"function", "input_schema", "functionDeclarations"}


def _named(
    found: Report, names: list[str], body: dict[str, Any], model: str, named_is_refused: bool
) -> list[str]:
    # A report of pydantic has the place of a mistake on one line, and its words, indented, on the next one.
    text = _ADDRESS.sub("…", _PART_OF_A_TOOL.sub("…", without_model(found.english, model)))
    text = re.sub(r"\n\s+", ": ", text)
    path = found.param or (place[1] if (place := SERDE.search(text)) else "")
    if path and path != "output_config":
        by_path = _by_path(path, names)
        if by_path:
            # The host's own field for what it refuses needs no words that say so.
            refused_by_field = bool(found.param) and by_path[0] not in RENAMED
            return by_path if refused_by_field or _is_refusal(by_path[0], found, text) else []
        if _is_elsewhere(path, text):
            return []
    refused = [
        name for clause in _CLAUSES.split(text) for name in _in_clause(clause, names, named_is_refused)
    ]
    dispensable = [name for name in names if name in DISPENSABLE and _mentions(name, text)]
    if dispensable:
        return [*dispensable, *(refused if set(dispensable) & set(refused) else ())]
    inside = [name for name in names if name.startswith("output_config.")]
    if not refused and inside and OUTPUT_CONFIG.search(text) and _is_refusal(inside[0], found, text):
        return inside
    return refused


_ADDRESS = regex(r"https?://\S+")
_PART_OF_A_TOOL = regex(r"\btools(?:\[\d+\]|\.\d+)[\w.\[\]]*", re.IGNORECASE)
"""It is ours to write properly, and no reason to do without tools."""


def _by_path(param: str, names: list[str]) -> list[str]:
    """The parameter that a path leads to: "response_format.type", "generation_config.seed"."""
    parts = [part for part in re.split(r"[.\[\]]+", param) if part]
    paths = {_plain(name): name for name in names}
    for end in range(len(parts), 0, -1):
        for start in range(end):
            if name := paths.get(_plain(".".join(parts[start:end]))):
                return [] if name == "tools" and end < len(parts) else [name]
    return []


def _plain(name: str) -> str:
    return name.replace("_", "").replace(".", "").lower()


def _is_elsewhere(param: str, text: str) -> bool:
    """Whether the path leads to the conversation, or to another part that is kept."""
    if SCHEMA.search(text) and "json" in text.lower():
        return False  # "'messages' must contain the word 'json'"
    head = re.split(r"[.\[]", param)[0]
    return head in KEPT or head in ("tools", "prompt", "input_tokens")


def _is_refusal(name: str, found: Report, text: str) -> bool:
    if name in RENAMED:
        return _is_unknown(text) or "unsupported_parameter" in found.code
    codes = found.code.replace("_", " ")
    refused = REFUSED.search(text) or REFUSED.search(codes) or name in DISPENSABLE
    return bool(refused or (name in bodies.SCHEMA and SCHEMA_REFUSED.search(text)))


def _is_unknown(text: str) -> bool:
    """Whether a name is refused, and not a value."""
    return UNKNOWN_NAME.search(text) is not None


def _in_clause(clause: str, names: list[str], named_is_refused: bool) -> list[str]:
    """The parameters that one sentence refuses: mostly the first that it names, or a list of them."""
    if place := _place(clause, names):
        return [place]
    if IN_PASSING.search(clause):
        return []
    if not LISTS.search(clause):
        both = [n for n in names if n in RENAMED and bare(n).search(clause)]
        if both and bare(RENAMED[both[0]]).search(clause):
            return both[:1]
        if wanted := OTHER_NAME.search(clause):
            return [n for n in names if n in RENAMED and bare(RENAMED[n]).fullmatch(wanted[1])]
    clause = _without_condition(clause, names)
    refuses = REFUSED.search(clause) or SCHEMA_REFUSED.search(clause)
    if not refuses and (not named_is_refused or LISTS.search(clause)):
        return []
    places = sorted(place for name in names for place in _places(name, clause, named_is_refused))
    if not refuses:
        places = [place for place in places if place[0] < 2]
    if not places:
        return []
    rank, start, end, first = places[0]
    if first in RENAMED:
        return [first] if _is_unknown(clause) else [p[3] for p in places if p[3] not in RENAMED][:1]
    if NOT_BOTH.search(clause):
        # The temperature is the user's choice.
        exact = [place[3] for place in places if place[0] < 2]
        return [next((name for name in exact if name != "temperature"), first)]
    chosen = [first]
    for other, at, until, name in places[1:]:
        same = (at, until) == (start, end)
        if (other == rank or max(other, rank) < 2) and (
            same or re.fullmatch(r"[\s'\"`,\[\]]*(?:and|&|or)?[\s'\"`]*", clause[end:at])
        ):
            chosen.append(name)
            end = until
    return chosen


def _without_condition(clause: str, names: list[str]) -> str:
    """`clause` up to "when" or "if", if it names a parameter before it: those behind are not refused."""
    if (condition := CONDITION.search(clause)) is None:
        return clause
    head = clause[: condition.start()]
    is_named = any(bare(name).search(head) for name in names if name not in WORDS_BY_ACCIDENT)
    return head if is_named else clause


def _place(clause: str, names: list[str]) -> str:
    """The parameter at the start of a clause as validators write it, "temperature: …", whatever follows."""
    # LiteLLM has the exception of the host before it: "OpenAIException - temperature: ...".
    starts = {start.rpartition(" - ")[2] for start in clause.split(": ")[:-1]}
    return next((name for name in names if name in starts and name not in RENAMED), "")


def _places(name: str, clause: str, named_is_refused: bool) -> Iterator[tuple[int, int, int, str]]:
    """Where `clause` names a parameter, the surest way first: quoted, by its name, or by other words."""
    if match := quoted(name).search(clause):
        yield 0, *match.span(match.lastgroup or 0), name
        return
    by_name = NOUNS[name] if name in NOUNS and ENGLISH.search(clause) else bare(name)
    if name == "temperature" and HARDWARE.search(clause):
        return
    if name not in WORDS_BY_ACCIDENT and (match := by_name.search(clause)):
        if named_is_refused or name in bodies.SCHEMA or REFUSED.search(clause):
            yield 1, match.start(), match.end(), name
        return
    if name in WORDS_BY_ACCIDENT and (match := listed(name).search(clause)):
        yield 1, *match.span(match.lastgroup or 0), name
        return
    plain = PLAIN_WORDS.get(name)
    if plain is None or not (match := plain.search(clause)):
        return
    if name == "tools":
        if NOT_OFFERED.search(clause):
            yield (0 if match[0].startswith('"') else 3), match.start(), match.end(), name
    elif name in bodies.SCHEMA:
        if not TOOL_SCHEMA.search(clause):
            yield 2, match.start(), match.end(), name
    elif REFUSED.search(clause):
        yield 2, match.start(), match.end(), name


def _mentions(name: str, text: str) -> bool:
    pattern = quoted if name in WORDS_BY_ACCIDENT else bare
    return pattern(name).search(text) is not None


def without_model(message: str, model: str) -> str:
    """`message` without the model's name, which may contain the name of a parameter or a number."""
    for name in filter(None, dict.fromkeys((model, model.rpartition("/")[2]))):
        message = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "…", message)
    return message
