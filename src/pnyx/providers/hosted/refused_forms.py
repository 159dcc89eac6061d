"""Forms of a request that a host refuses: instructions with a role of their own, a stream, or no stream."""

from __future__ import annotations

import re
from typing import Any

from ...core.caching.regex import regex
from . import bodies
from .reports.report import Report

__all__ = ["refuses_no_stream", "refuses_stream", "refuses_system"]

_SYSTEM = regex(
    r"(?:system|developer)[ _]?(?:role|message|prompt|instruction|field)s?\b[^.]{0,40}(?:\bnot\b|n't"
    r"|unsupported"
    r"|disabled)|(?:\bnot|n't) (?:\w+ ){0,2}(?:support|accept|allow)\w* (?:\w+ ){0,2}?"
    r"(?:['\"`](?:system|developer)['\"`]|(?:system|developer) (?:role|message|prompt|instruction|field))"
    r"|developer instruction|(?<!optional system message, )(?:conversation roles|messages) must alternate"
    r"|\bno system (?:role|message|prompt)|['\"`]system['\"`] is not\b"
    r"|only ['\"`]?user['\"`]?(?:,| and) ['\"`]?assistant\b|can only be user or assistant"
    r"|role\b[^.]{0,20}should be 'user' or 'assistant'|system message must be at the"
    r"|first message\b(?:[^.]{0,20}\brole\b[^.]{0,20})? must be (?:from )?(?:the |an? )?['\"`]?user"
    r"|messages\[0\]\W{1,3}role must be user|role:? ['\"`]?system['\"`]? (?:is )?not"
    r"|(?:unsupported|unexpected|invalid|unknown) (?:message )?(?:role|value)\b:? ['\"`\\]*"
    r"(?:system|developer)\b"
    r"|unknown variant `(?:system|developer)`|不支持 ?['\"`]?(?:system|系统)",
    re.IGNORECASE,
)


_ROLE = (
    regex(r"\broles?\b|system (?:message|prompt|instruction)|角色", re.IGNORECASE),
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
