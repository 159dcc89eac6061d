"""What a host refuses of a request, remembered for each of its models.

A host that does not know a parameter, or not the value of it, answers 400 or 422 and names it. The request is
then sent again without the parameter, under its other name, or with a value that the host accepts; so are
later requests to that model. A parameter without which the request means something else is never left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...core.lru import LRU
from ...core.regex import regex
from .failures import HostError, Report

__all__ = ["Adjustments", "Change", "Learned"]

MODELS = 1_000
LEAST_TOKENS = 16
"""Fewer output tokens are no reply."""
MARGIN_TOKENS = 32
"""Left free of a window, since hosts count a prompt in more than one way."""

RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
REQUIRED = frozenset(
    ("model", "messages", "contents", "stream", "system", "systemInstruction", "input", "generationConfig")
)
SCHEMA = frozenset(("response_format", "output_config", "responseJsonSchema", "responseSchema"))
"""Parameters that hold the schema of a reply, which is then described in the prompt."""
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "max_output_tokens")

_REFUSED = regex(
    r"un(?:supported|known|recognized|recognised|expected|available)|not (?:\w+ )?(?:supported?|permitted"
    r"|allowed"
    r"|available|enabled|accept(?:ed)?|valid|compatible|recognized|implemented|found|a valid)"
    r"|n't (?:\w+ )?(?:support"
    r"|accept|allow)|invalid|extra (?:inputs?|fields?)|deprecated|no longer|cannot (?:be|use|specify)"
    r"|can ?not"
    r"|must (?:be|not)|may only|only (?:the )?(?:default|supports?|one|1)|no such|use '?\"?`?max|illegal"
    r"|forbidden"
    r"|does not (?:exist|support|accept)|unrecognized|rejected|disallow|out of range|不支持|无效",
    re.IGNORECASE,
)
_SYSTEM = regex(
    r"system (?:role|message|prompt|instruction)s?[^.]{0,60}(?:not|only|must|isn't|unsupported|disabled)"
    r"|(?:not|n't|unsupported|unexpected|invalid)[^.]{0,40}\bsystem\b(?: role| message| instruction)?"
    r"|['\"`]system['\"`][^.]{0,60}not|developer instruction|roles must alternate|unexpected role"
    r"|invalid role"
    r"|role[^.]{0,30}system|first message must be",
    re.IGNORECASE,
)
_PLAIN_WORDS = {
    "tools": regex(
        r"tool (?:use|choice|calling|calls?)|function.?calling|\btools?\b|\bfunctions?\b", re.IGNORECASE
    ),
    "response_format": regex(
        r"response.?format|json.?schema|structured.?outputs?|json.?mode|guided|grammar", re.IGNORECASE
    ),
    "output_config": regex(r"output.?(?:config|format)|structured.?outputs?|json.?schema", re.IGNORECASE),
    "responseJsonSchema": regex(
        r"response.?(?:json.?)?schema|json.?mode|response.?mime.?type|application/json", re.IGNORECASE
    ),
    "reasoning_effort": regex(r"reasoning.?effort|reasoning", re.IGNORECASE),
    "thinking": regex(r"thinking|budget_tokens", re.IGNORECASE),
    "thinkingConfig": regex(r"thinking.?(?:config|budget|level)|thinking", re.IGNORECASE),
    "stream_options": regex(r"stream.?options|include_usage", re.IGNORECASE),
}
"""Words for a parameter other than its name."""

_WINDOWS = [
    # Window, input and output, in any order of names.
    regex(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:context length|context window)[^.]{0,30}?(?P<window>\d+) tokens.{0,80}?requested[^(]{0,40}\("
        r"(?P<input>\d+)[^;,)]{0,40}(?:messages|prompt|input)[;,]? ?(?:and )?(?P<output>\d+)",
        r"max_tokens`? exceed context limit: (?P<input>\d+) \+ (?P<output>\d+) > (?P<window>\d+)",
        r"max_new_tokens`? must be <= (?P<window>\d+)\. given: (?P<input>\d+)",
        r"(?:context length|context window)[^.]{0,30}?(?P<window>\d+)(?: tokens)?.{0,60}?(?:has|have|with) "
        r"(?P<input>\d+) (?:input|prompt) tokens",
        r"prompt contains (?:at least )?(?P<input>\d+).{0,80}?(?:context length"
        r"|window)\D{0,20}(?P<window>\d+)",
        r"\((?P<window>\d+)\).{0,60}?(?P<input>\d+) input tokens",
    )
]
_NUMBER = regex(r"\d[\d,_]*")
_TOO_MUCH = regex(
    r"too (?:large|big|high|long|many)|at most|less than|<=|maximum|exceed|range|upper bound|greater"
    r"|larger|above"
    r"|up to|limit|> ?\d",
    re.IGNORECASE,
)


_LIMIT_WORDS = regex(
    r"max(?:imum)?[_ ]?(?:output|new|completion|generation|generated)?[_ ]?tokens|(?:output"
    r"|completion) tokens",
    re.IGNORECASE,
)
USEFUL_TOKENS = 256
"""With less room for a reply, the prompt is shortened instead."""


@dataclass(slots=True)
class Learned:
    """What a model refuses. dropped: parameters of the body, and of its `generationConfig`.

    renamed: old name -> new. max_tokens: its most output tokens, None if unknown. plain_schema: describe
    schemas in the prompt. no_system: it has no system role. reasons: it has written thoughts.
    """

    dropped: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    max_tokens: int | None = None
    plain_schema: bool = False
    no_system: bool = False
    reasons: bool = False

    def apply(self, body: dict[str, Any]) -> None:
        """Change the body of a request accordingly."""
        for holder in _holders(body):
            for name in self.dropped & holder.keys():
                del holder[name]
            for name in self.renamed.keys() & holder.keys():
                holder[self.renamed[name]] = holder.pop(name)
            for name in OUTPUT_LIMITS:
                if self.max_tokens is not None and isinstance(holder.get(name), int):
                    holder[name] = min(holder[name], self.max_tokens)
        if not body.get("tools"):
            for name in ("tool_choice", "parallel_tool_calls", "toolConfig"):
                body.pop(name, None)
        if self.no_system:
            _merge_system(body)


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a request. note: a sentence for the user. max_tokens: for this request alone."""

    note: str
    max_tokens: int | None = None


class Adjustments:
    """What each model of one host refuses."""

    def __init__(self) -> None:
        self._learned = LRU[str, Learned](MODELS, make=lambda model: Learned())

    def of(self, model: str) -> Learned:
        return self._learned[model]

    def learn(self, model: str, refused: HostError, body: dict[str, Any]) -> Change | None:
        """Remember what the host refuses of `body`. Returns None if no other request can help."""
        found, learned = refused.report, self._learned[model]
        if found.status not in (0, *STATUSES):
            return None
        if change := _lower_limit(learned, found, body):
            return change
        if refused.kind not in ("refused", "not_found", "malformed"):
            return None
        if _SYSTEM.search(found.message) and not learned.no_system and _has_system(body):
            learned.no_system = True
            return Change("has no system role: instructions are sent in the first message")
        return _drop_parameter(learned, found, body)


STATUSES = (400, 404, 413, 422, 500, 501)
"""Statuses of a refused parameter. Routers answer 404 if no host of a model accepts all of them."""


def _holders(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield body
    inner = body.get("generationConfig")
    if isinstance(inner, dict):
        yield inner


def _lower_limit(learned: Learned, found: Report, body: dict[str, Any]) -> Change | None:
    """Lower the output limit if the host refuses it, or if the prompt leaves less room in its window."""
    place = next(((h, n) for h in _holders(body) for n in OUTPUT_LIMITS if isinstance(h.get(n), int)), None)
    if place is None:
        return None
    now = place[0][place[1]]
    for match in filter(None, (pattern.search(found.message) for pattern in _WINDOWS)):
        room = int(match["window"]) - int(match["input"]) - MARGIN_TOKENS
        if min(USEFUL_TOKENS, now) <= room < now:
            return Change(f"has room for {room} output tokens beside this prompt", room)
        return None
    if not _LIMIT_WORDS.search(f"{found.param} {found.message}") or not _TOO_MUCH.search(found.message):
        return None
    allowed = [n for n in _numbers(found.message) if LEAST_TOKENS <= n < now]
    if not allowed and (RENAMED.get(place[1], "-") in found.message or now // 2 < USEFUL_TOKENS):
        return None
    learned.max_tokens = max(allowed) if allowed else now // 2
    return Change(f"writes at most {learned.max_tokens} output tokens")


def _numbers(message: str) -> Iterator[int]:
    """Yield the numbers in a message; of an exclusive bound, the last one inside."""
    for match in _NUMBER.finditer(message):
        number = int(re.sub("[,_]", "", match[0]))
        yield number - message[match.end() :].lstrip().startswith("(exclusive")


def _drop_parameter(learned: Learned, found: Report, body: dict[str, Any]) -> Change | None:
    """Leave out, or rename, the parameter that the host names first."""
    if not (_REFUSED.search(found.message) or _REFUSED.search(found.code.replace("_", " "))):
        return None
    name = _named(found, [n for holder in _holders(body) for n in holder if n not in REQUIRED])
    if name is None or name in learned.dropped:
        return None
    if name in RENAMED and name not in learned.renamed.values():
        learned.renamed[name] = RENAMED[name]
        return Change(f"calls {name} {RENAMED[name]}")
    if name in OUTPUT_LIMITS and "system" in body:
        return None  # Anthropic's API requires it
    learned.dropped.add(name)
    if name in SCHEMA:
        learned.dropped.update(SCHEMA | {"responseMimeType"})
        learned.plain_schema = True
        return Change(f"does not accept {name}: the form of a reply is described in the prompt")
    return Change(f"does not accept {name}: it is left out")


def _named(found: Report, names: list[str]) -> str | None:
    """The parameter that the host names, by its field for it or else in its words."""
    last = re.split(r"[.\[\]]", found.param.strip("]"))[-1]
    if last in names:
        return last
    places = {}
    for name in names:
        for rank, words in enumerate((_name_pattern(name), _PLAIN_WORDS.get(name))):
            if name not in places and words is not None and (match := words.search(found.message)):
                places[name] = (rank, match.start())
    return min(places, key=places.__getitem__, default=None)


def _name_pattern(name: str) -> re.Pattern[str]:
    """A parameter's name as a message may write it: "top_p", "topP" or "top p"."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+", name)
    return re.compile(r"(?<![a-z])" + r"[\s_.-]?".join(parts) + r"(?![a-z])", re.IGNORECASE)


def _has_system(body: dict[str, Any]) -> bool:
    messages = body.get("messages") or ()
    roles = {message.get("role") for message in messages if isinstance(message, dict)}
    return bool(roles & SYSTEM_ROLES or body.get("systemInstruction") or body.get("system"))


SYSTEM_ROLES = {"system", "developer"}


def _merge_system(body: dict[str, Any]) -> None:
    """Put the system message before the text of the first user message."""
    texts = [_text(body.pop(name, None)) for name in ("system", "systemInstruction")]
    key = "contents" if "contents" in body else "messages"
    turns = [turn for turn in body.get(key, ()) if isinstance(turn, dict)]
    texts += [_text(turn.get("content")) for turn in turns if turn.get("role") in SYSTEM_ROLES]
    turns = [turn for turn in turns if turn.get("role") not in SYSTEM_ROLES]
    body[key] = turns
    system = "\n\n".join(filter(None, texts))
    if not system:
        return
    first = next((turn for turn in turns if turn.get("role") == "user"), None)
    if first is None:
        first = {"role": "user", "parts": []} if key == "contents" else {"role": "user", "content": ""}
        turns.insert(0, first)
    part = "parts" if key == "contents" else "content"
    if isinstance(first[part], str):
        first[part] = "\n\n".join(filter(None, (system, first[part])))
    else:
        first[part] = [
            {"text": system} if key == "contents" else {"type": "text", "text": system},
            *first[part],
        ]


def _text(content: Any) -> str:
    """The text of a message's content, or of an instruction."""
    if isinstance(content, dict):
        content = content.get("parts") or content.get("text")
    if isinstance(content, list):
        return "\n\n".join(_text(part) for part in content)
    return content if isinstance(content, str) else ""
