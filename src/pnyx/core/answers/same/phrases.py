"""What stands around a literal in an answer: `--depth` of `the --depth flag`, `[]` of `an empty list`.

Only behind a question about code, and only where what is left is code, or the question asks for such a thing.
"""

from __future__ import annotations

import functools

from ...caching.regex import regex
from ..code.literals import is_credibly_code, unfenced

__all__ = ["has_message", "literal_in"]

MAX_CHARS = 160
_NOUN = (
    r"(?:environment variable|flag|option|switch|method|function|class|variable|command|file|module|keyword"
    r"|clause|operator|attribute|property|parameter|argument|package|library|decorator|statement|tag|header"
    r"|field|column|table|event|hook|port|directive|selector|type)"
)
_NOUN_BEHIND = regex(rf"(?:the |a |an )?(?P<code>\S+(?: \S+)?) (?P<noun>{_NOUN})", 2)
_NOUN_BEFORE = regex(rf"(?:the )?(?P<noun>{_NOUN}) (?P<code>\S+)", 2)
_EMPTY = regex(
    r"(?:(?:it |the function |f\(.{0,20}\) )?returns )?(?:an |the )?empty"
    r" (string|list|array|dict|dictionary|object|tuple|set)",
    2,
)
_EMPTY_VALUES = {
    "string": "''", "list": "[]", "array": "[]", "dict": "{}", "dictionary": "{}", "object": "{}",
    "tuple": "()", "set": "set()",
}  # fmt: skip
_TYPED = regex(
    r"(?:the |a |an )?(?:string|integer|int|float|number|bool|boolean|value|list|tuple|dict|dictionary|set)"
    r" (?:value )?(?P<code>[\"'`\[({\d-].*|True|False|None|true|false|null)",
    2,
)
_RETURNS = regex(
    r"(?:it|the (?:function|method|call|expression|code)|`?\w+\(.{0,40}\)`?)"
    r" (?:returns|evaluates to|gives|yields) (?P<code>\S.*)",
    2,
)
_ERROR = r"[A-Za-z_.]*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration)"
_RAISED = regex(
    r"(?:(?:(?i:it|the (?:code|program|call|function|script|line)|this)|`?\w+\(.{0,40}\)`?)(?: code)? )?"
    rf"(?:raises|throws|fails with|crashes with|will raise|will throw) (?:an? )?`?(?P<code>{_ERROR})`?"
    rf"|(?:[Aa]n? )?`?(?P<other>{_ERROR})`? (?:is|will be|gets) (?:raised|thrown)"
)
_MESSAGE = regex(rf"(?P<code>{_ERROR})(?:: [^\n]{{1,100}}|\([^()\n]{{0,100}}\))")
_ASKS_FOR_MESSAGE = regex(r"\b(?:message|exactly|prints?|printed|output|text)\b", 2)
_CALL = regex(r"[A-Za-z_][\w.]*\([^()\"']*\)")
_NAME = regex(r"[A-Za-z_]\w*(?:\.\w+)*")
_VARIABLE = regex(r"\$\{?([A-Z][A-Z0-9_]+)\}?")
_LATER = regex(
    r"(?:[A-Za-z]+ )?(?:version )?v?(?P<number>\d+(?:\.\d+){0,3})"
    r"(?:\+| (?:or|and) (?:later|newer|higher|above|greater|up)(?: versions?)?)",
    2,
)
_NOT_BEFORE = regex(r">= ?(?P<number>\d[\w.]*)")


@functools.lru_cache(maxsize=4096)
def literal_in(text: str, question: str) -> str:
    """The literal that a phrase names, or `text` itself."""
    if not 0 < len(text) <= MAX_CHARS or "\n" in text:
        return text
    asked = question.casefold()
    bare = text.strip().rstrip(".")
    if found := _RETURNS.fullmatch(bare):
        bare = found["code"]
    if found := _EMPTY.fullmatch(bare):
        return _EMPTY_VALUES[found[1].casefold()]
    if found := _RAISED.fullmatch(bare):
        return str(found["code"] or found["other"])
    if (found := _MESSAGE.fullmatch(bare)) and not _ASKS_FOR_MESSAGE.search(question):
        return found["code"]
    if found := _TYPED.fullmatch(bare):
        return unfenced(found["code"]) or found["code"]
    if "version" in asked and (found := _LATER.fullmatch(bare) or _NOT_BEFORE.fullmatch(bare)):
        return f">={found['number']}"
    for form in (_NOUN_BEHIND, _NOUN_BEFORE):
        if (found := form.fullmatch(bare)) and _is_meant(found["code"], found["noun"].casefold(), asked):
            bare = found["code"]
            break
    if "variable" in asked and (found := _VARIABLE.fullmatch(unfenced(bare) or bare)):
        return found[1]
    if "command" in asked and bare.startswith("$ "):
        return bare[2:]
    inner = unfenced(bare) or bare
    if _CALL.fullmatch(inner):
        return ", ".join(part.strip() for part in inner.split(","))
    if ("method" in asked or "function" in asked) and _NAME.fullmatch(inner):
        return f"{inner}()"
    return inner if bare != text.strip().rstrip(".") else text


def has_message(text: str) -> bool:
    """Whether `text` is an exception with what it says: `KeyError: 'a'`."""
    return bool(_MESSAGE.fullmatch(text.strip().rstrip(".")))


def _is_meant(code: str, noun: str, asked: str) -> bool:
    """Whether `code` is a literal, or one word beside what the question asks for."""
    word = " " not in code and code.isascii() and not code[:1].isdigit()
    return is_credibly_code(code) or (word and noun in asked)
