"""Which parameter of a request a host refuses, by its own field for it or by its words.

With status 400 or 422, a sentence that names a parameter as the request writes it refuses it: a mistake costs
one request that is not billed. With another status, or where other words stand for the name ("a budget"), the
sentence must also have words of a refusal, since an error may name a parameter in passing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ...core.caching.regex import regex
from . import bodies
from .reports.report import Report

__all__ = [
    "RENAMED",
    "refused_names",
    "refuses_no_stream",
    "refuses_stream",
    "refuses_system",
    "without_model",
]

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
WORDS_BY_ACCIDENT = frozenset(("tools", "thinking", "reasoning", "n", "stop", "user", "store", "usage"))

_BEFORE_OTHERS = (
    r"(?! (?!(?:is|are|was|were|be|has|had|does|do|did|may|might|must|should|shall|can|could|will|would"
    r"|not|isn|doesn|cannot|in|from|to|of|for|with|without|on|at|by|when|while|if|as|than|above|below"
    r"|over|under|between|within|outside|and|or|but|because|which|that|only|also|both|needs"
    r"|parameters?|params?|values?|fields?|arguments?|settings?|options?|keys?|propert(?:y|ies)|inputs?"
    r"|support|range|greater|less|higher|lower|equal|other|different|invalid|out|too|being|having|using|[a-z]+ed)\b)[a-z])"
)
_NOUNS = {
    name: regex(rf"(?<![a-z]){name}(?!-?[a-z]){_BEFORE_OTHERS}", re.IGNORECASE)
    for name in ("seed", "temperature")
}
"""Parameters that are everyday nouns: a "seed phrase" or a "temperature limit" is something else."""
_ENGLISH = regex(
    r"\b(?:the|your|this|it|is(?! not supported| invalid)|was|are|of|(?<!equal )to)\b", re.IGNORECASE
)
"""A word of an English sentence, and none of a phrase that `in_english` has put there: in other languages, any
word may follow a parameter."""

_REFUSED = regex(
    r"\bnot\b|n't\b|\b(?:cannot|no longer|no such|no endpoints|must|should|only|without|remove|omit|unset"
    r"|leave out|fixed|either)\b|\bun[a-z]+(?:ed|able|own)\b|incompatible|invalid|additional propert|disabled"
    r"|deprecated|illegal|forbidden|reject|disallow|prohibit|range|mismatch|expected|requires|obsolete"
    r"|replaced|superseded|renamed|with --|needs to be|\bno \w+ support\b|不|无|非法|必须|有误|仅",
    re.IGNORECASE,
)
"""Words of a refusal, for names that may stand in a sentence by accident."""
_NOT_OFFERED = regex(
    r"(?:not|n't) (?:\w+ ){0,2}(?:support|enabled|available|permitted|allowed|accept)|unsupported"
    r"|unavailable|\bno \w+ support\b|(?:\bcannot|can't) call|(?:requires|with) --"
    r"|no endpoints found that|extra inputs|disabled|不支持",
    re.IGNORECASE,
)
_SCHEMA_REFUSED = regex(
    r"too (?:complex|many|large|deep)|exceed|nesting|fail|conversion|unrecogni[sz]ed|constraint|features"
    r"|combined|requires?|missing|must contain",
    re.IGNORECASE,
)
_TOOL_SCHEMA = regex(r"schema (?:for|of) (?:function|tool)|function_declarations|tools\[", re.IGNORECASE)
_IN_PASSING = regex(
    r"\brequests?(?: body)?,? (?:with|had|has|contain(?:s|ed|ing)?|includ\w+)\b"
    r"(?! (?:an? )?(?:forbidden|unknown|unsupported|invalid|unexpected|unrecogni))",
    re.IGNORECASE,
)
_OUTPUT_CONFIG = regex(r"\boutput_config\b(?!\.)", re.IGNORECASE)
"""All of it, and not one of its fields."""
_LISTS = regex(r"\b(?:supported|optional|allowed|valid|known|accepted|examples?)\b", re.IGNORECASE)
"""Words of a sentence that lists what a request may have."""
_NOT_BOTH = regex(r"both|combin|together|same time|simultaneous|only one|either|同时", re.IGNORECASE)
_ROUTING = regex(r"no endpoints found that", re.IGNORECASE)
_ANY_OF_THEM = regex(r"that can handle the requested parameters", re.IGNORECASE)
"""OpenRouter's words where no host of a model knows all parameters of a request."""

_TOOLS = regex(
    r"\"auto\" tool choice|\btools?\b|function.?call(?:ing|s)?|\bfunctions\b|函数调用|工具调用",
    re.IGNORECASE,
)
_SCHEMA = regex(
    r"response.?format|response.?(?:json.?)?schema|json.?schema|structured.?outputs?|json.?mode|grammar"
    r"|output.?format|required for format|schema in format|guided.?(?:decoding|json)|response.?mime.?type"
    r"|application/json"
    r"|(?:specified|response) schema|schema is too|schemas contains? too|the word '?json",
    re.IGNORECASE,
)
_THINKING = regex(r"reasoning|thinking|\bbudget\b|思考", re.IGNORECASE)
_PLAIN_WORDS = {
    **dict.fromkeys(bodies.SCHEMA, _SCHEMA),
    **dict.fromkeys(("reasoning", "thinking", "thinkingConfig", "enable_thinking"), _THINKING),
    "thinking_budget": regex(r"thinking budget", re.IGNORECASE),
    "chat_template_kwargs": regex(r"chat.?template", re.IGNORECASE),
    "reasoning_effort": regex(r"reasoning(?!_content)|thinking|\bthink\b|\beffort\b|思考", re.IGNORECASE),
    "tools": _TOOLS,
    "output_config.effort": regex(r"\beffort\b", re.IGNORECASE),
    "stream_options": regex(r"include_usage", re.IGNORECASE),
    "stop": regex(r"stop.?sequences?", re.IGNORECASE),
    "presence_penalty": regex(r"\bpenalty\b", re.IGNORECASE),
    "frequency_penalty": regex(r"\bpenalty\b", re.IGNORECASE),
}
"""Words for a parameter other than its name."""

_SERDE = regex(r"target type: ([\w.\[\]]+): (?:invalid|unknown|expected)", re.IGNORECASE)
"""How servers in Rust say where a request is wrong."""
_CLAUSES = regex(r"(?<=[.!?;])\s+|\n|[。\uff1b]")


def refused_names(found: Report, body: dict[str, Any], model: str, kind: str) -> list[str]:
    """The parameters of `body` that the host refuses; none if it refuses something else. kind: of the error.

    `max_tokens` and its kin are among them only if their name is refused, not their value.
    """
    if found.status == 404 and not _ROUTING.search(found.english):
        return []
    names = [name for name in bodies.names(body) if name in RENAMED or _is_droppable(name, body)]
    if _ANY_OF_THEM.search(found.english):
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
    path = found.param or (place[1] if (place := _SERDE.search(text)) else "")
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
    if not refused and inside and _OUTPUT_CONFIG.search(text) and _is_refusal(inside[0], found, text):
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
    if _SCHEMA.search(text) and "json" in text.lower():
        return False  # "'messages' must contain the word 'json'"
    head = re.split(r"[.\[]", param)[0]
    return head in KEPT or head in ("tools", "prompt", "input_tokens")


def _is_refusal(name: str, found: Report, text: str) -> bool:
    if name in RENAMED:
        return _is_unknown(text) or "unsupported_parameter" in found.code
    codes = found.code.replace("_", " ")
    refused = _REFUSED.search(text) or _REFUSED.search(codes) or name in DISPENSABLE
    return bool(refused or (name in bodies.SCHEMA and _SCHEMA_REFUSED.search(text)))


_UNKNOWN_NAME = regex(
    r"un(?:supported|known|recogni[sz]ed|expected)\b"
    r"|not (?:\w+ )?(?:supported|permitted|allowed|recogni[sz]ed)|extra[ _](?:inputs?|fields?|forbidden)"
    r"|extraneous|use '?\"?`?max_?completion|use '?\"?`?max_?tokens|deprecated|不支持"
    r"|(?:replaced|superseded) by|renamed|obsolete",
    re.IGNORECASE,
)


def _is_unknown(text: str) -> bool:
    """Whether a name is refused, and not a value."""
    return _UNKNOWN_NAME.search(text) is not None


def _in_clause(clause: str, names: list[str], named_is_refused: bool) -> list[str]:
    """The parameters that one sentence refuses: mostly the first that it names, or a list of them."""
    if place := _place(clause, names):
        return [place]
    if _IN_PASSING.search(clause):
        return []
    if not _LISTS.search(clause):
        both = [n for n in names if n in RENAMED and _bare(n).search(clause)]
        if both and _bare(RENAMED[both[0]]).search(clause):
            return both[:1]
    refuses = _REFUSED.search(clause) or _SCHEMA_REFUSED.search(clause)
    if not refuses and (not named_is_refused or _LISTS.search(clause)):
        return []
    places = sorted(place for name in names for place in _places(name, clause, named_is_refused))
    if not refuses:
        places = [place for place in places if place[0] < 2]
    if not places:
        return []
    rank, start, end, first = places[0]
    if first in RENAMED:
        return [first] if _is_unknown(clause) else [p[3] for p in places if p[3] not in RENAMED][:1]
    if _NOT_BOTH.search(clause):
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


def _place(clause: str, names: list[str]) -> str:
    """The parameter at the start of a clause as validators write it, "temperature: …", whatever follows."""
    # LiteLLM has the exception of the host before it: "OpenAIException - temperature: ...".
    starts = {start.rpartition(" - ")[2] for start in clause.split(": ")[:-1]}
    return next((name for name in names if name in starts and name not in RENAMED), "")


def _places(name: str, clause: str, named_is_refused: bool) -> Iterator[tuple[int, int, int, str]]:
    """Where `clause` names a parameter, the surest way first: quoted, by its name, or by other words."""
    if match := _quoted(name).search(clause):
        yield 0, *match.span(match.lastgroup or 0), name
        return
    bare = _NOUNS[name] if name in _NOUNS and _ENGLISH.search(clause) else _bare(name)
    if name not in WORDS_BY_ACCIDENT and (match := bare.search(clause)):
        if named_is_refused or name in bodies.SCHEMA or _REFUSED.search(clause):
            yield 1, match.start(), match.end(), name
        return
    if name in WORDS_BY_ACCIDENT and (match := _listed(name).search(clause)):
        yield 1, *match.span(match.lastgroup or 0), name
        return
    plain = _PLAIN_WORDS.get(name)
    if plain is None or not (match := plain.search(clause)):
        return
    if name == "tools":
        if _NOT_OFFERED.search(clause):
            yield (0 if match[0].startswith('"') else 3), match.start(), match.end(), name
    elif name in bodies.SCHEMA:
        if not _TOOL_SCHEMA.search(clause):
            yield 2, match.start(), match.end(), name
    elif _REFUSED.search(clause):
        yield 2, match.start(), match.end(), name


def _mentions(name: str, text: str) -> bool:
    pattern = _quoted if name in WORDS_BY_ACCIDENT else _bare
    return pattern(name).search(text) is not None


def _words(name: str) -> list[str]:
    """The words of a name: "top" and "P" of "topP"."""
    return re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)


@lru_cache(maxsize=128)
def _bare(name: str) -> re.Pattern[str]:
    """A parameter's name as a message may write it: "top_p", "topP" or "top p"."""
    parts = _words(name)
    return re.compile(r"(?<![a-z])" + r"[\s_.-]?".join(parts) + r"(?!-?[a-z])", re.IGNORECASE)


@lru_cache(maxsize=128)
def _quoted(name: str) -> re.Pattern[str]:
    """The name in quotes or brackets, called a parameter, or as the last word after a colon."""
    parts = r"[\s_.-]?".join(_words(name))
    before = (
        r"['\"`\[(](?:body\.|/)?|-> |(?:param(?:eter)?|field|argument|property|input)s?(?: name)?:? ['\"`]?"
    )
    after = rf"(?<![\w-])(?P<before>{parts})(?= ?(?:param|field|argument|=|参数))"
    start = rf"(?:^|(?<=[:-] ))(?P<start>{parts})"
    start += "(?= (?:is|are) (?:unsupported|not (?:supported|permitted|available)))"
    return re.compile(
        rf"(?:{before}|参数 ?)(?P<name>{parts})(?![\w-])|{after}|{start}|: (?P<last>{parts})\W*$",
        re.IGNORECASE,
    )


@lru_cache(maxsize=128)
def _listed(name: str) -> re.Pattern[str]:
    """The name in a list of several after "parameters:"."""
    list_start = r"(?:supplied|param(?:eter)?s?|arguments?|fields?|keys?|properties):? "
    behind = rf"(?:[\w.]+, ){{1,8}}(?P<name>{name})(?![\w-])"
    return re.compile(rf"{list_start}(?:{behind}|(?P<first>{name})(?=, ))", re.IGNORECASE)


_SYSTEM = regex(
    r"(?:system|developer)[ _](?:role|message|prompt|instruction)s?\b[^.]{0,40}(?:\bnot\b|n't|unsupported"
    r"|disabled)|(?:\bnot|n't) (?:\w+ ){0,2}(?:support|accept|allow)\w* (?:\w+ ){0,2}?"
    r"(?:['\"`](?:system|developer)['\"`]|(?:system|developer) (?:role|message|prompt|instruction))"
    r"|developer instruction|(?<!optional system message, )(?:conversation roles|messages) must alternate"
    r"|\bno system (?:role|message|prompt)|['\"`]system['\"`] is not\b"
    r"|only ['\"`]?user['\"`]?(?:,| and) ['\"`]?assistant\b|can only be user or assistant"
    r"|role\b[^.]{0,20}should be 'user' or 'assistant'|system message must be at the"
    r"|first message\b(?:[^.]{0,20}\brole\b[^.]{0,20})? must be (?:from )?user"
    r"|messages\[0\]\W{1,3}role must be user|role:? ['\"`]?system['\"`]? (?:is )?not"
    r"|(?:unsupported|unexpected|invalid|unknown) (?:role|value)\b:? ['\"`\\]*(?:system|developer)\b"
    r"|unknown variant `(?:system|developer)`|不支持 ?['\"`]?(?:system|系统)",
    re.IGNORECASE,
)


_ROLE = (
    regex(r"\brole\b|system (?:message|prompt|instruction)|角色", re.IGNORECASE),
    regex(r"\bsystem|developer|\buser\b|assistant|系统", re.IGNORECASE),
    regex(r"\bnot\b|n't|\bonly\b|\bmust\b|\bshould\b|unsupported|unexpected|unknown|不支持", re.IGNORECASE),
)
"""The same: a word of each in one sentence, if the message has none of `_ELSEWHERE`."""
_ELSEWHERE = regex(r"\btools?\b|optional|be the first|reasoning_", re.IGNORECASE)


def refuses_system(found: Report, body: dict[str, Any]) -> bool:
    """Whether the host's model has no system role, and `body` uses one."""
    refused = _SYSTEM.search(found.english) or (found.has(_ROLE) and not _ELSEWHERE.search(found.english))
    return bool(refused) and bodies.has_system(body)


_STREAM = regex(r"\bstream(?:ing|ed)?\b(?! ?_?options)|流式", re.IGNORECASE)
_NO_STREAM = (_STREAM, regex(r"\bnot\b|n't|unsupported|disabled|verified", re.IGNORECASE))
_ONLY_STREAM = (_STREAM, regex(r"\bonly\b|requir|\bmust\b|non-|= ?false|仅|必须", re.IGNORECASE))
"""No stream, or nothing else: a word of each in one sentence."""


def refuses_stream(found: Report, body: dict[str, Any]) -> bool:
    return bool(body.get("stream")) and found.has(_NO_STREAM)


def refuses_no_stream(found: Report, body: dict[str, Any]) -> bool:
    """Whether the host answers only with a stream, and `body` asks for none."""
    wanted = "messages" in body and not body.get("stream")
    return bool(wanted and found.has(_ONLY_STREAM))


def without_model(message: str, model: str) -> str:
    """`message` without the model's name, which may contain the name of a parameter or a number."""
    for name in filter(None, dict.fromkeys((model, model.rpartition("/")[2]))):
        message = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "…", message)
    return message
