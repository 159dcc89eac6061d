"""Output limits that a host refuses: its model writes less, or the prompt leaves less room."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.caching.regex import regex
from .reports.report import Report

__all__ = [
    "USEFUL_TOKENS",
    "Room",
    "affordable",
    "fitting_share",
    "is_about_limit",
    "is_about_sizes",
    "is_above",
    "lower_limit",
    "plain_numbers",
    "read_room",
]

LEAST_TOKENS = 16
"""Fewer output tokens are no reply."""
USEFUL_TOKENS = 256
"""With less room for a reply, the prompt is shortened instead."""
MARGIN_TOKENS = 32
"""Left free of a window, since hosts count a prompt in more than one way."""

_N = r"\d(?:[\d,]{0,13}\d)?"
_WINDOW = rf"(?:context length|context window|context limit)\D{{0,40}}?(?P<window>{_N})(?: tokens)?"
_ROOMS = [
    regex(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # OpenAI, Azure, DeepSeek, vLLM, OpenRouter: (4096 in the messages, 100 in the functions, ...)
        _WINDOW + rf".{{0,60}}?requested(?: about)? {_N}(?: tokens)?[^(]{{0,20}}\("
        rf"(?P<input>{_N})[^;,)\d]{{0,40}}(?:[;,] (?P<tools>{_N})[^;,)\d]{{0,30}}(?:function|tool)[^;,)\d]*)?"
        rf"[;,]? (?:and )?{_N}[^;,)\d]{{0,20}}(?:completion|output)",
        # vLLM
        _WINDOW + rf".{{0,80}}?(?:has|contains|have)(?: at least)? (?P<input>{_N}) (?:input|prompt) tokens",
        _WINDOW + rf".{{0,60}}?requested {_N} output tokens.{{0,60}}?(?P<input>{_N}) input tokens",
        rf"passed (?P<input>{_N}) input tokens and requested {_N} output tokens.{{0,80}}?{_WINDOW}",
        rf"passed (?P<input>{_N}) input tokens and requested {_N} output tokens.{{0,60}}?context length is "
        rf"only (?P<window>{_N})",
        # SGLang
        _WINDOW + rf".{{0,60}}?total of {_N} tokens: (?P<input>{_N}) tokens from the input",
        # Anthropic
        rf"exceed context limit: (?P<input>{_N}) \+ {_N} > (?P<window>{_N})",
        rf"prompt tokens \((?P<input>{_N})\) and max_tokens \({_N}\).{{0,40}}?context length "
        rf"(?P<window>{_N})",
        # TGI, Together
        rf"\+ `?max_new_tokens`? must be <= (?P<window>{_N})\. given: (?P<input>{_N})",
        # Mistral
        rf"prompt contains (?:at least )?(?P<input>{_N}) tokens.{{0,100}}?model with "
        rf"(?P<window>{_N}) maximum",
    )
]
_TOTAL = regex(r"completion|output|max_total|current length|request(?:ed|s)?\b[^.\d]{0,4}\d", re.IGNORECASE)
"""Words beside a number that is the prompt and the output limit together."""
_ALONE = regex(
    r"(?:input|prompt)s? (?:token|length|is\b|has\b|contains|size)|in the (?:messages|prompt)"
    r"|request \(\d+ tokens\)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens of a window, and of the prompt. total: what that was read from, 0 if it is said."""

    window: int
    prompt: int
    total: int = 0

    @property
    def output(self) -> int:
        return self.window - self.prompt - MARGIN_TOKENS


def read_room(message: str, now: int) -> Room | None:
    """The window and the prompt of a request for `now` output tokens, if the host says both."""
    for match in filter(None, (pattern.search(message) for pattern in _ROOMS)):
        prompt = _number(match["input"]) + _number(match.groupdict().get("tools") or "0")
        return Room(_number(match["window"]), prompt)
    return _room_beside(message, now)


def _room_beside(message: str, now: int) -> Room | None:
    """The same, of other words with the numbers of the prompt and the window beside `now`, and no more."""
    numbers = list(dict.fromkeys(_number(found[0]) for found in _NUMBER.finditer(message)))
    others = sorted(number for number in numbers if number != now and number - now not in {*numbers} - {now})
    if now not in numbers and len(large := [n for n in numbers if n >= USEFUL_TOKENS]) == 2:
        window, total = sorted(large)
        if now < total < window + now and _TOTAL.search(message) and not _ALONE.search(message):
            return Room(window, total - now, total)
    if now not in numbers or len(others) != 2 or not (_REPLY.search(message) and _INPUT.search(message)):
        return None
    prompt, window = others if now + others[1] not in numbers else reversed(others)
    return Room(window, prompt) if window < prompt + now else None


_INPUT = regex(r"(?<![a-z])(?:input|prompt|messages)(?![a-z])|输入", re.IGNORECASE)
_OUTPUT = (
    r"max(?:imum)?[_ ]?(?:output|new|completion|generation|generated)?[_ ]?tokens|max_gen_len"
    r"|(?:output|completion) (?:tokens?|may|must|can(?:not)?)\b|generation length|output length (?:is"
    r"|must|may|can)\b|(?:only "
    r"|can )generates? (?:only |at most |up to )*|tokens to generate"
    r"|(?<=\d )(?:completion|output)\b|输出长度|最大输出"
)
_LIMIT = regex(_OUTPUT, re.IGNORECASE)
_REPLY = regex(rf"{_OUTPUT}|\b(?:completion|output)\W{{0,3}}\d|输出", re.IGNORECASE)
"""The same, and the part of a sum that is the reply."""
_BESIDE = regex(rf"(?:{_OUTPUT})[^.;,]{{0,60}}?(?<![\w-])(\d[\d,]*)", re.IGNORECASE)
"""A number beside it; one of a longer list of parameters says where the list ends."""
_TOO_MUCH = regex(
    r"too (?:large|big|high|long|many)|at most|less (?:than|or equal)|lower than|<=|maximum|exceed|range"
    r"|upper bound|over the limit|capped|not be (?:greater|more|higher|longer)"
    r"|(?:should|must) be in\b|larger|above"
    r"|(?:output|completion) tokens? limit|(?:allow\w*|limit)\b[^.\d]{0,30}\d{3}|up to|between|limited to"
    r"|is limited|[<>] ?\d|[\[(]\d+ ?[,~-] ?\d+[\])]|范围|过大|超过|不能大于|小于|最大|限制|上限",
    re.IGNORECASE,
)
_TOO_LITTLE = regex(
    r"(?<!is )(?<!not be )(?<!no )(?:greater|more|higher|larger) than|higher max|at least|below min"
    r"|minimum value|>= ?\d|required",
    re.IGNORECASE,
)
_LESS = regex(r"less than|lower than|at most|<=?", re.IGNORECASE)


_PROMPT = regex(
    r"\b(?:prompt|input)s? (?:is|are) (?:too (?:long|large)|longer)[^.]{0,20}\bmax(?:imum)? tokens",
    re.IGNORECASE,
)


def is_about_limit(found: Report, message: str, now: int) -> bool:
    """Whether the host finds the output limit `now` too high. message: its words, without the model."""
    if _PROMPT.search(message):
        return False  # of the prompt
    if _TOO_LITTLE.search(message) and not _LESS.search(message):
        return False
    if any(USEFUL_TOKENS <= _number(match[1]) < now for match in _BESIDE.finditer(message)):
        return True
    if _is_beside_less(message, now):
        return True
    return bool(_LIMIT.search(f"{found.param} {message}") and _TOO_MUCH.search(message))


def _is_beside_less(message: str, now: int) -> bool:
    """Whether a message has two numbers, the limit `now` and a lower one, and does not name the prompt."""
    numbers = {number for match in _NUMBER.finditer(message) if (number := _number(match[0])) > 1}
    return (
        len(numbers) == 2
        and max(numbers) == now
        and min(numbers) >= USEFUL_TOKENS
        and not _INPUT.search(message)
    )


def lower_limit(message: str, now: int) -> int | None:
    """The output limit that the host names, or half of `now`; None if that is too little for a reply."""
    allowed = [n for n in _bounds(message) if LEAST_TOKENS <= n < now]
    if not allowed and now // 2 < USEFUL_TOKENS:
        return None
    return max(allowed) if allowed else now // 2


def affordable(message: str) -> int | None:
    """The output tokens that an account has credit for, if the host says so: OpenRouter."""
    match = _CREDIT.search(message)
    return _number(match[1]) if match else None


def fitting_share(message: str, prompt: int) -> float | None:
    """The share of a prompt that fits; None if the host names no limit. prompt: its tokens, as estimated."""
    over = next((_number(found[1] or found[2]) for found in _OVER.finditer(message)), 0)
    message = _ASIDE.sub("", _OVER.sub("", message))
    limits = [_number(match[1] or match[2]) for match in _MOST.finditer(message)]
    numbers = sorted({_number(match[0]) for match in _NUMBER.finditer(message)} - {0})
    large = [number for number in numbers if number >= USEFUL_TOKENS]
    if not limits and (len(large) == 2 or (len(large) == 1 and (over or _HOLDS.search(message)))):
        limits = large[:1]  # in other words: the lower one of two
    limit = min((number for number in limits if number >= USEFUL_TOKENS), default=0)
    length = limit + over if over else max(numbers, default=0)
    longest = length if length > limit else prompt
    return limit / longest if 0 < limit < longest else None


_MOST = regex(
    r"(?:max(?!.{0,3}sampled)|limit|most|less than|no more than|up to|(?<= )[<>]=?|only|length (?:is|of)"
    rf"|context|allowed|\[1,)(?:(?! by |requested|need)[^\d]){{0,40}}?(?<!-)({_N})"
    rf"|({_N}) (?:tokens? )?(?:max|limit|allowed)",
    re.IGNORECASE,
)
"""The most tokens of a prompt."""
_OVER = regex(
    rf"\b(?:by|over by) (?:about |at least )?({_N})(?![\d.])|({_N}) (?:more )?(?:tokens? )?"
    r"(?:over|above|beyond|too many|in excess)\b(?! \d)",
    re.IGNORECASE,
)
"""How many tokens a prompt has above that."""
_HOLDS = regex(
    rf"\b(?:window|fits|holds?|room|capacity|handles?|takes|reads|process|accepts?)\b[^\d.;]{{0,20}}{_N}",
    re.IGNORECASE,
)
"""Words before a number that is the most, if it is the only one."""
_ASIDE = regex(
    r"(?:\b(?:error|status|code|http)\b\W{0,4}|^\W?|[<\[(])[1-5]\d\d(?![\d,]| ?tokens?)|\b\d{4}-\d\d-\d\d\b",
    re.IGNORECASE,
)
"""Statuses and dates."""


def is_about_sizes(message: str) -> bool:
    """Whether a message has two sizes of a text, or the size of a window beside what does not fit it."""
    if not (_TEXT.search(message) and _SIZE.search(message)) or _OTHER.search(message):
        return False
    over, rest = _OVER.search(message), _ASIDE.sub("", _OVER.sub("", message))
    large = {number for found in _NUMBER.finditer(rest) if (number := _number(found[0])) >= USEFUL_TOKENS}
    return len(large) == 2 or (len(large) == 1 and bool(over or _FULL.search(message)))


_TEXT = regex(
    r"prompt|input|request|conversation|message|text|document|sequence|you (?:gave|sent)|too many"
    r"|window|cannot process|total.?tokens|eingabe|输入",
    re.IGNORECASE,
)
_SIZE = regex(
    r"(?<!unexpected )tok(?:en)?s?\b|window|context|positions|slots|(?:seq|input|model)_?len|\bctx\b"
    r"|toolong|窗口",
    re.IGNORECASE,
)
_FULL = regex(r"not fit|n't fit|cannot hold|(?:window|context) (?:holds?|has|fits|is|of)\b", re.IGNORECASE)
_OTHER = regex(
    r"max_?(?:new_|gen_|completion_|output_)?tokens|max_gen|output|completion|generat|minute|second|hour"
    r"|\bday\b|month"
    r"|quota|rate|credit|balance|budget|image|pixel|audio|video|byte|thinking|embed|seed|timeout|batch"
    r"|\btools?\b",
    re.IGNORECASE,
)
"""Words of messages about other sizes."""


def is_above(message: str, now: int) -> bool:
    """Whether all numbers that the host names are above the output limit of the request."""
    return min(_bounds(message), default=0) > now


_CREDIT = regex(rf"can only afford ({_N})", re.IGNORECASE)
_NUMBER = regex(r"(?<![A-Za-z0-9_])(?<!(?<!\.)\.)(?:\d{1,3}(?:,\d{3}){1,3}|\d{1,12})(?![A-Za-z0-9_]|\.\d)")
"""A number that is no part of a name. Chinese has no spaces around it."""


_BELOW = regex(r"(?:(?:less|lower|smaller|fewer) than|<)\s*$", re.IGNORECASE)


def _bounds(message: str) -> Iterator[int]:
    """Yield the numbers in a message; of an exclusive bound, the last one inside."""
    for match in _NUMBER.finditer(message):
        is_outside = message[match.end() :].lstrip().startswith("(exclusive")
        is_outside = is_outside or _BELOW.search(message[: match.start()]) is not None
        yield _number(match[0]) - is_outside


_THOUSANDS = regex(
    r"(?<![\w.,])(\d{1,4}(?:[.,]\d{1,3})?)(?: ?(k)(?![\w])|(M)(?![\w])| ?(m)(?= tokens))", re.IGNORECASE
)
_GROUPS = regex(r"(?<![\w.,])[1-9]\d{0,2}(?:[ \u00a0\u202f'\u2019_.]\d{3})+(?![\w]|[.,]\d)")


def plain_numbers(message: str) -> str:
    """`message` with "8K" and "1.5M" as 8000 and 1500000, and "8 192", "8.192" and "8_192" as 8192."""
    message = _GROUPS.sub(lambda match: re.sub(r"\D", "", match[0]), message)
    return _THOUSANDS.sub(_in_full, message)


def _in_full(match: re.Match[str]) -> str:
    return str(round(float(match[1].replace(",", ".")) * (1_000 if match[2] else 1_000_000)))


def _number(text: str) -> int:
    return int(text.replace(",", ""))
