"""Words by which hosts refuse a parameter, and the patterns of its name.

Collected like the words of `failure_words`, and matched in any case.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...core.caching.regex import regex
from . import bodies

__all__ = [
    "ANY_OF_THEM",
    "CONDITION",
    "ENGLISH",
    "HARDWARE",
    "IN_PASSING",
    "LISTS",
    "NOT_BOTH",
    "NOT_OFFERED",
    "NOUNS",
    "OTHER_NAME",
    "OUTPUT_CONFIG",
    "PLAIN_WORDS",
    "REFUSED",
    "ROUTING",
    "SCHEMA",
    "SCHEMA_REFUSED",
    "SERDE",
    "TOOL_SCHEMA",
    "UNKNOWN_NAME",
    "WORDS_BY_ACCIDENT",
    "bare",
    "listed",
    "quoted",
]

WORDS_BY_ACCIDENT = frozenset(("tools", "thinking", "reasoning", "n", "stop", "user", "store", "usage"))

_BEFORE_OTHERS = (
    r"(?! (?!(?:is|are|was|were|be|has|had|does|do|did|may|might|must|should|shall|can|could|will|would"
    r"|not|isn|doesn|cannot|in|from|to|of|for|with|without|on|at|by|when|while|if|as|than|above|below"
    r"|over|under|between|within|outside|and|or|but|because|which|that|only|also|both|needs"
    r"|adjustments?|changes?|overrides?|parameters?|params?|values?|fields?|arguments?|settings?|options?|keys?|propert(?:y|ies)|inputs?"
    r"|support|range|greater|less|higher|lower|equal|other|different|invalid|out|too|being|having|using"
    r"|[a-z]+ed)\b)[a-z])"
)
NOUNS = {
    name: regex(rf"(?<![a-z]){name}(?!-?[a-z]){_BEFORE_OTHERS}", re.IGNORECASE)
    for name in ("seed", "temperature")
}
"""Parameters that are everyday nouns: a "seed phrase" or a "temperature limit" is something else."""
ENGLISH = regex(
    r"\b(?:the|your|this|it|is(?! not supported| invalid)|was|are|of|(?<!equal )to)\b", re.IGNORECASE
)
"""A word of an English sentence, and none of what `in_english` writes: in other languages, any word may
follow."""
HARDWARE = regex(
    r"\b(?:[cgtn]pus?|nodes?|cores?|chips?|boards?|hardware|sensors?|racks?|devices?|cards?|junction"
    r"|throttl\w*"
    r"|thermal\w*|overheat\w*|cool(?:ing|ed|er|ant)?|fans?|celsius|degrees|\d ?°)(?![a-z])",
    re.IGNORECASE,
)
"""Words of a machine that is too hot, whose temperature is no parameter."""

REFUSED = regex(
    r"\bnot\b|n't\b|\b(?:cannot|no longer|no such|no endpoints|must|should|only|without|remove|omit|unset"
    r"|leave out|fixed|either)\b|\bun[a-z]+(?:ed|able|own)\b|incompatible|invalid|additional propert|disabled"
    r"|deprecated|illegal|forbidden|reject|disallow|prohibit|range|mismatch|expected|requires|obsolete"
    r"|replaced|superseded|renamed|with --|needs to be|\bno \w+ support\b|不|无|非法|必须|有误|仅",
    re.IGNORECASE,
)
"""Words of a refusal, for names that may stand in a sentence by accident."""
NOT_OFFERED = regex(
    r"(?:not|n't) (?:\w+ ){0,2}(?:support|enabled|available|permitted|allowed|accept|offer|do )|unsupported"
    r"|(?<!service )(?<!temporarily )(?<!currently )unavailable|\bno \w+ support\b|(?:\bcannot"
    r"|can't) (?:call|use)|(?:requires|with) --"
    r"|no endpoints found that|extra inputs|cannot be used with (?:this|the) model|disabled|不支持",
    re.IGNORECASE,
)
SCHEMA_REFUSED = regex(
    r"too (?:complex|many|large|deep)|exceed|nesting|fail|conversion|unrecogni[sz]ed|constraint|features"
    r"|combined|requires?|missing|must contain",
    re.IGNORECASE,
)
TOOL_SCHEMA = regex(r"schema (?:for|of) (?:function|tool)|function_declarations|tools\[", re.IGNORECASE)
IN_PASSING = regex(
    r"\brequests?(?: body)?,? (?:with|had|has|contain(?:s|ed|ing)?|includ\w+)\b"
    r"(?! (?:an? )?(?:error|forbidden|unknown|unsupported|invalid|unexpected|unrecogni))",
    re.IGNORECASE,
)
CONDITION = regex(r"\b(?:when|if|unless|while)\b", re.IGNORECASE)
OUTPUT_CONFIG = regex(r"\boutput_config\b(?!\.)", re.IGNORECASE)
"""All of it, and not one of its fields."""
LISTS = regex(r"\b(?:supported|optional|allowed|valid|known|accepted|examples?)\b", re.IGNORECASE)
"""Words of a sentence that lists what a request may have."""
NOT_BOTH = regex(r"both|combin|together|same time|simultaneous|only one|either|同时", re.IGNORECASE)
ROUTING = regex(r"no endpoints found that", re.IGNORECASE)
ANY_OF_THEM = regex(r"that can handle the requested parameters", re.IGNORECASE)
"""OpenRouter's words where no host of a model knows all parameters of a request."""

_TOOLS = regex(
    r"\"auto\" tool choice|\btools?\b|function.?call(?:ing|s)?|\bfunctions\b|函数调用|工具调用",
    re.IGNORECASE,
)
SCHEMA = regex(
    r"response.?format|response.?(?:json.?)?schema|json.?schema|structured.?outputs?|json.?mode|grammar"
    r"|output.?format|required for format|schema in format|guided.?(?:decoding|json)|response.?mime.?type"
    r"|application/json"
    r"|(?:specified|response) schema|schema (?:keyword|could not|cannot|is not)"
    r"|结构化(?:输出|响应)|schema in generation.?config|schema is too|schemas contains? too"
    r"|the word '?json",
    re.IGNORECASE,
)
_THINKING = regex(r"reasoning|thinking|\bbudget\b|思考", re.IGNORECASE)
PLAIN_WORDS = {
    **dict.fromkeys(bodies.SCHEMA, SCHEMA),
    **dict.fromkeys(("reasoning", "thinking", "thinkingConfig", "enable_thinking"), _THINKING),
    "thinking_budget": regex(r"thinking budget", re.IGNORECASE),
    "chat_template_kwargs": regex(r"chat.?template", re.IGNORECASE),
    "reasoning_effort": regex(
        r"(?<!with )(?<!by )(?<!for )reasoning(?!_content)|thinking|\bthink\b|\beffort\b|思考", re.IGNORECASE
    ),
    "tools": _TOOLS,
    "output_config.effort": regex(r"\beffort\b", re.IGNORECASE),
    "stream_options": regex(r"include_usage", re.IGNORECASE),
    "n": regex(r"completion choices?|(?:number of|multiple|several) (?:choices|completions)", re.IGNORECASE),
    "stop": regex(r"stop.?sequences?", re.IGNORECASE),
    "presence_penalty": regex(r"\bpenalty\b", re.IGNORECASE),
    "frequency_penalty": regex(r"\bpenalty\b", re.IGNORECASE),
}
"""Words for a parameter other than its name."""

SERDE = regex(r"target type: ([\w.\[\]]+): (?:invalid|unknown|expected)", re.IGNORECASE)
"""How servers in Rust say where a request is wrong."""
UNKNOWN_NAME = regex(
    r"un(?:supported|known|recogni[sz]ed|expected)\b"
    r"|not (?:\w+ )?(?:supported|permitted|allowed|accepted|recogni[sz]ed)|extra[ _](?:inputs?|fields?"
    r"|forbidden)"
    r"|extraneous|\b(?:use|set|send|pass|try|mean|specify|provide) ['\"`]?max_?(?:completion|tokens)"
    r"|deprecated|不支持"
    r"|(?:replaced|superseded) by|renamed|obsolete",
    re.IGNORECASE,
)

OTHER_NAME = regex(
    r"\b(?:use|send|pass|try|specify|provide|did you mean) (?:the )?['\"`]?(max_?(?:completion_?)?tokens)\b",
    re.IGNORECASE,
)
"""The name of an output limit that the host asks for."""


def _words(name: str) -> list[str]:
    """The words of a name: "top" and "P" of "topP"."""
    return re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)


@lru_cache(maxsize=128)
def bare(name: str) -> re.Pattern[str]:
    """A parameter's name as a message may write it: "top_p", "topP" or "top p"."""
    parts = _words(name)
    return re.compile(r"(?<![a-z])" + r"[\s_.-]?".join(parts) + r"(?!-?[a-z])", re.IGNORECASE)


@lru_cache(maxsize=128)
def quoted(name: str) -> re.Pattern[str]:
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
def listed(name: str) -> re.Pattern[str]:
    """The name in a list of several after "parameters:"."""
    list_start = r"(?:supplied|param(?:eter)?s?|arguments?|fields?|keys?|properties"
    list_start += r"|not (?:supported|allowed|permitted|accepted|recogni[sz]ed)(?: [\w'.-]+){0,5}(?=:)):? "
    behind = rf"(?:[\w.]+, ){{1,8}}(?P<name>{name})(?![\w-])"
    return re.compile(rf"{list_start}(?:{behind}|(?P<first>{name})(?=, ))", re.IGNORECASE)
