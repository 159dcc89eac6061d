"""Codes and words by which hosts name their failures.

Collected from the documentation and the source of the hosts and servers named beside the entries, and from
messages that their users report. Words are matched in any case.
"""

from __future__ import annotations

import re

from ...core.regex import regex

__all__ = ["CODES", "FILTERED", "QUOTA", "TEMPORARY", "TOO_LARGE", "TOO_LONG"]

CODES: tuple[tuple[frozenset[str], int], ...] = (
    (frozenset(("invalidrequesterror", "invalidargument", "badrequest", "validationexception")), 400),
    (frozenset(("failedprecondition", "outofrange", "invalidparameter", "badrequesterror")), 400),
    (frozenset(("invalidrequest", "unprocessableentityerror", "unprocessableentity")), 400),
    (frozenset(("authenticationerror", "unauthenticated", "unauthorized", "invalidapikey")), 401),
    (frozenset(("invalidauthentication", "invalidauthenticationerror", "incorrectapikeyerror")), 401),
    (frozenset(("permissionerror", "permissiondenied", "forbidden", "accessdeniedexception")), 403),
    (frozenset(("permissiondeniederror", "accessdenied")), 403),
    (frozenset(("billingerror", "paymentrequired")), 402),
    (frozenset(("notfounderror", "notfound", "modelnotfound", "resourcenotfoundexception")), 404),
    (frozenset(("resourcenotfounderror", "modelnotfounderror")), 404),
    (frozenset(("requesttimeout", "modeltimeoutexception")), 408),
    (frozenset(("conflict", "conflicterror", "aborted", "conflictexception")), 409),
    (frozenset(("requesttoolarge", "contextlengthexceeded", "stringabovemaxlength")), 413),
    (frozenset(("contextwindowexceedederror", "exceedcontextsizeerror", "contentlengthlimit")), 413),
    (frozenset(("ratelimiterror", "ratelimitexceeded", "ratelimit", "resourceexhausted")), 429),
    (frozenset(("throttlingexception", "throttling", "throttlingratequota", "toomanyrequests")), 429),
    (frozenset(("requestlimitexceeded", "ratelimitreachederror", "tokensratelimitexceeded")), 429),
    (frozenset(("modelnotreadyexception", "limitrequests", "throttlingallocationquota")), 429),
    (frozenset(("apierror", "servererror", "internal", "internalerror", "internalservererror")), 500),
    (frozenset(("internalserverexception", "modelerrorexception", "modelstreamerrorexception")), 500),
    (frozenset(("unknown", "unknownerror")), 500),
    (frozenset(("unavailable", "serviceunavailable", "serviceunavailableexception")), 503),
    (frozenset(("serviceunavailableerror", "engineoverloadederror", "engineoverloaded")), 503),
    (frozenset(("modeloverloaded", "serveroverloaded", "busy", "insufficientsystemresource")), 503),
    (frozenset(("deadlineexceeded", "timeouterror", "gatewaytimeout", "timeout")), 504),
    (frozenset(("overloadederror", "overloaded")), 529),
)
"""Codes, types and statuses without anything but letters -> the HTTP status that they stand for."""

QUOTA = regex(
    r"insufficient_quota|billing_(?:hard_limit|error|not_active)|credit.?balance|spend(?:ing)?.?limit"
    r"|exceeded_current_quota|exceeded your current quota|insufficient (?:balance|credits?|funds|quota)"
    r"|(?:requires|need) more credits|out of credits|no credits|payment.?required|arrearage"
    r"|account.{0,20}overdue"
    r"|recharge|top.?up your|quota.?exhausted|budget_exceeded|余额不足|欠费",
    re.IGNORECASE,
)
"""An account without money. Google's and DashScope's "quota" of requests per minute is none of these."""

TOO_LONG = regex(
    r"context.?(?:length|window|size|limit)|maximum context|max(?:imum)?.?(?:prompt|input|sequence).?length"
    r"|(?:prompt|input|message|request|conversation|text|context)s?(?: \([^)]*\))? (?:is|are"
    r"|was) (?:still )?"
    r"too (?:long|large|big)"
    r"|(?:prompt|input)[^.]{0,60}exceeds?|too many (?:input )?tokens|input token count|prompt token count"
    r"|number of tokens allowed|reduce the (?:length|size)|shorten (?:your|the) (?:input|prompt|message)"
    r"|request_too_large|too large for model|range of input length|max_(?:model|seq)_?len|input.?length"
    r"|inputs? tokens? \+|inputs?` (?:tokens|must have)|tokens? limit(?: of| exceeded|:)|token limit"
    r"|maxlength: ?\d+, actual: ?\d+|exceeds? (?:the )?(?:model'?s?|maximum|max)[^.]{0,30}(?:tokens"
    r"|length|context)"
    r"|greater than the context length|longer than the (?:model|context|maximum)|exceed_context_size"
    r"|content_length_limit|string_above_max_length|n_ctx|exceeded model token limit|tokens to keep"
    r"|上下文|输入长度",
    re.IGNORECASE,
)
"""A request over the window: OpenAI, Azure, Anthropic, Gemini, Bedrock, xAI, Mistral, TGI, vLLM, llama.cpp,
Ollama, LM Studio, Moonshot, Zhipu, DashScope, DeepSeek, Groq, Together, MiniMax, OpenRouter."""

TOO_LARGE = regex(r"request too large|tokens must be reduced|request_too_large", re.IGNORECASE)
"""A request over the tokens per minute of an account: waiting does not help, a shorter request does."""

TEMPORARY = regex(
    r"overload|over.?capacity|at capacity|capacity (?:exceeded|limit|constraint)|too many requests"
    r"|rate.?limit|throttl|temporar|(?:try|retry)(?: your request)? again|please (?:re)?try|unavailable"
    r"|timed? ?out|timeout|server (?:is )?(?:busy|error)|engine is|high (?:load|demand|traffic|volume)"
    r"|upstream|bad gateway|internal (?:server )?error|connection (?:reset|refused|error|closed)"
    r"|network.?error|\block|warming up|is (?:currently )?loading|still loading|not ready|no (?:healthy"
    r"|available)"
    r"|busy|queue|cold start|繁忙|限流|稍后",
    re.IGNORECASE,
)
"""A failure that may pass, for reports without a status or a known code."""

FILTERED = regex(
    r"content.?(?:filter|policy|management)|responsibleai|moderation|safety (?:system|filter|policy)"
    r"|data_inspection_failed|sensitive (?:content|word|information)|flagged|prohibited_content|敏感",
    re.IGNORECASE,
)
"""A filter that refuses the request: another attempt is refused too."""
