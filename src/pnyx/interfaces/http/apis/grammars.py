"""The grammars of custom tools, which say which texts a tool takes.

A regular expression is checked in what the panel writes, as a pattern of the tool's schema. A grammar in the
notation of Lark is shown to the seats. Of its definition only the notation is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ....core.caching.regex import regex
from ....run.options.schema_keywords import is_pattern
from .conversation import refuse

__all__ = ["REGEX", "grammar_of"]

LARK, REGEX = "lark", "regex"
MOST_CHARS = 100_000

_TOKEN = regex(
    r"""(?P<space>[ \t\f\r]+|//[^\n]*|\#[^\n]*)
    | (?P<line>\n)
    | (?P<literal>"(?:\\.|[^"\\\n])*"i?|/(?![/*?])(?:\\.|[^/\\])+/[imslux]*)
    | (?P<directive>%[a-z]+)
    | (?P<alias>->[ \t]*[A-Za-z_]\w*)
    | (?P<name>[?!]*_*[A-Za-z]\w*)
    | (?P<sign>\.\.|[-:|()\[\]{}*+?~.,=]|\d+)""",
    re.VERBOSE,
)
_DEFINED = regex(r"(?m)^[ \t]*[?!]*(\w+)[ \t]*(?:\{[^}\n]*\}[ \t]*)?(?:\.[ \t]*-?\d+[ \t]*)?:")
_PARAMETERS = regex(r"(?m)^[ \t]*[?!]*\w+[ \t]*\{([^}\n]*)\}[ \t]*(?:\.[ \t]*-?\d+[ \t]*)?:")
_DIRECTIVE = regex(r"(?m)^[ \t]*%(import|declare|extend|override|ignore)\b([^\n]*)")
_NAMES = regex(r"[A-Za-z_]\w*")
_LITERAL = regex(r'"(?:\\.|[^"\\\n])*"i?|/(?![/*?])(?:\\.|[^/\\])+/[imslux]*')
_EXTENDED = regex(r"%(?:llguidance|json|regex|lark)\b|<\[|<\||@|(?m:^[ \t]*[?!]*\w+[ \t]*\[)")
"""What hosts have added to Lark; such a grammar is taken as it is."""


def grammar_of(form: object, param: str) -> Mapping[str, Any] | None:
    """The syntax and definition of the `format` of a custom tool, None for text of any form.

    Raises `RefusedError`.
    """
    if form is None:
        return None
    if not isinstance(form, Mapping):
        raise refuse(param, "must be an object with a type")
    if form.get("type", "text") == "text":
        return None
    if form.get("type") != "grammar":
        raise refuse(f"{param}.type", f"must be text or grammar, not {str(form.get('type'))[:40]!r}")
    inner = form.get("grammar")
    # Chat completions have an object around the two.
    grammar, where = (inner, f"{param}.grammar") if isinstance(inner, Mapping) else (form, param)
    syntax, definition = grammar.get("syntax"), grammar.get("definition")
    if syntax not in (LARK, REGEX):
        raise refuse(f"{where}.syntax", f"must be {LARK} or {REGEX}, not {str(syntax)[:40]!r}")
    if not isinstance(definition, str) or not definition.strip():
        raise refuse(f"{where}.definition", "must be a text that defines the grammar")
    if len(definition) > MOST_CHARS:
        raise refuse(f"{where}.definition", f"must have at most {MOST_CHARS} characters")
    if syntax == REGEX and not is_pattern(definition):
        raise refuse(f"{where}.definition", "is not a regular expression")
    if syntax == LARK and (flaw := _flaw(definition)):
        raise refuse(f"{where}.definition", f"is not a grammar of Lark: {flaw}")
    return {"syntax": syntax, "definition": definition}


def _flaw(definition: str) -> str | None:
    """What is wrong with the notation of a grammar, or None."""
    if _EXTENDED.search(_LITERAL.sub('""', definition)):
        return None
    used = list[tuple[str, int]]()
    depth = 0
    for kind, text, line in _tokens(definition):
        if kind == "":
            return f"line {line}: {text!r} is not expected"
        if kind == "name":
            used.append((text.lstrip("?!"), line))
        depth += (text in "([{") - (text in ")]}") if kind == "sign" else 0
        if depth < 0:
            return f"line {line}: {text!r} closes nothing"
    if depth:
        return "a bracket is not closed"
    bare = _LITERAL.sub('""', definition)
    known = set(_DEFINED.findall(bare))
    for parameters in _PARAMETERS.findall(bare):
        known |= set(_NAMES.findall(parameters))
    for word, rest in _DIRECTIVE.findall(bare):
        if word != "ignore":
            known |= set(_NAMES.findall(rest))
    if "start" not in known:
        return "no rule is named start"
    return next((f"line {line}: {name} is not defined" for name, line in used if name not in known), None)


def _tokens(definition: str) -> Iterator[tuple[str, str, int]]:
    """Each token with its kind and line; the kind is empty where there is none."""
    at, line = 0, 1
    while at < len(definition):
        found = _TOKEN.match(definition, at)
        if found is None:
            yield "", definition[at], line
            return
        kind = found.lastgroup or ""
        yield kind, found[0], line
        line += found[0].count("\n")
        at = found.end()
