"""Words by which hosts say that a prompt is too long; other failures are in `failure_words`."""

from __future__ import annotations

import re

from ...core.caching.regex import regex

__all__ = ["OF_MODEL", "OF_TEXT", "OVERFLOW", "TOO_LARGE", "TOO_LONG"]

OF_TEXT = regex(
    r"\A(?:(?=.*\btokens\b)|(?!.*(?:\b(?:images?|pictures?|audio|videos?|files?|pdf|pages|metadata"
    r"|headers?|url|names?|(?<!input.)ids?|queued?)\b|图[片像]|音频|视频|名称|函数名|标识|标签)))",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence about nothing else that has a size."""

TOO_LONG = regex(
    # What there is too much of
    r"context.?(?:length|window|size|limit|overflow|budget|(?:is )?(?:full|exhausted)"
    r"|shift is disabled)(?![a-z])|cannot truncate"
    r"|max(?:imum)?[ _]?(?:prompt|input|sequence|model)[ _]?len(?:gth)?|n_ctx|max_(?:model|seq)_?len"
    r"|(?:prompt|input|message|msg|request|conversation|history|text|context|sequence|document|chat)s?"
    r"(?: \([^)]*\)| tokens?| array| list| length| token length| you \w+)?[ _]?(?:is|are|was)? ?(?:still )?"
    r"(?:too[ _](?:long|large|big)|超长|过长)|(?:prompt|input|text|context|conversation|history)\b[^.]{0,40}"
    r"(?:not|n't|no longer) fits?\b"
    r"|(?:prompt|input|text|message)\b[^.]{0,60}exceeds?\b|input token count"
    r"|too many (?:input |prompt )?tokens|too much (?:input|text)\b|more (?:input|text|words) than"
    r"|tokens in (?:request|prompt|input)s? (?:more|greater|exceed)"
    r"|(?:request|model) tokens exceed(?!s?\b[^.]*(?:rate|minute|second|quota|\b[rt]p[md]\b))"
    r"|too small for (?:this|the|your) (?:prompt|input|request|conversation)|more tokens than (?:the"
    r"|this) model"
    r"|\bctx overflow|budget of the context|longer than (?:what )?the (?:model|context|maximum)"
    r"|range of input length"
    r"|`?inputs`? (?:tokens \+|must have less than)"
    r"|\b(?:prompt|input|messages?|request|conversation|content)\b[^.]{0,80}(?:exceed|longer|larger|greater"
    r"|over the|must be (?:less|no more)|but max)[^.]{0,60}(?:token|length|context|window)"
    r"|exceed\w* (?:the )?token limit\b(?!.*(?:minute|second|hour|day|quota))|(?:larger"
    r"|bigger) than the KV cache"
    r"|message larger than max|token count exceed|tokens size exceed|(?:prompt|input) (?:has|is"
    r"|of) \d+ tokens"
    r"|(?:prompt|input|input_ids) length\b.{0,60}(?:exceed|too long|over the)"
    r"|(?:request|body|payload)\b[^.]{0,40}(?:exceed\w*|larger|over)\b[^.]{0,30} \d+ ?[KMG]i?B\b"
    r"|request (?:body )?size\b[^.]{0,20}exceed|text fields that are too large|payload too large"
    r"|max(?:imum)? tokens of \d+ exceeded"
    r"|(?:unable to|cannot) fit (?:\w+ ){0,2}(?:prompt|input|messages?|conversation)"
    r"|max_tokens must be at least 1, got (?:-|0\b)|tokens? ?(?:总?数量?)?超"
    r"|length limit exceeded|prompt: length"
    # What to do about it
    r"|reduce the (?:length|size) of|shorten (?:your|the) (?:input|prompt|message|conversation|request"
    r"|text|chat)|shorten (?:it|them)\b"
    r"|reduce (?:your )?(?:prompt|message size)|shorter (?:prompt|input)|上下文|输入[^。]{0,6}超[过出限]"
    r"|超长|[过太]长|长度上限|超[过出][^。]{0,12}最大长度",
    re.IGNORECASE,
)
"""A request over the window: OpenAI, Azure, Anthropic, Gemini, Bedrock, xAI, Mistral, TGI, vLLM, SGLang,
llama.cpp, Ollama, LM Studio, Moonshot, Zhipu, DashScope, DeepSeek, Groq, Together, Cohere, MiniMax, ..."""

OVERFLOW = (
    regex(
        r"\bprompts?\b|\binput(?! validation| should| tag)|\bcontext\b(?! deadline)|\bmessages?\b"
        r"|conversation|(?<!stop )(?<!stop_)sequence|payload|\bbody\b|\bquestion\b",
        re.IGNORECASE,
    ),
    regex(
        r"exceed|too (?:long|large|big|many)|(?:long|larg|great|bigg)er than|more than"
        r"|\bover(?:flow\w*)?\b|beyond|at most|\bmax(?:imum)?(?:_?length|\b)|limit|\bfull\b|up to|reduce"
        r"|shorten|(?:less|fewer) than|only|<=",
        re.IGNORECASE,
    ),
    regex(r"(?<!unexpected )tokens?\b|length|context|window|size|character|\bpositions\b", re.IGNORECASE),
    OF_TEXT,
)
"""The same: a word of each in one sentence."""

OF_MODEL = (
    regex("model token limit", re.IGNORECASE),
    regex(r"\A(?!.*max_?(?:\w+_)?tokens)", re.IGNORECASE | re.DOTALL),
)
"""The same, unless it is about the limit of the reply."""

TOO_LARGE = regex(
    r"request too large|tokens must be reduced|request_too_large|required for long context"
    r"|received message larger|context (?:size|length|window) exceeded",
    re.IGNORECASE,
)
"""A request over the tokens per minute of an account: waiting does not help, a shorter request does."""
