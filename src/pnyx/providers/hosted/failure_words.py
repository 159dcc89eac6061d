"""Words by which hosts name their failures; `failure_codes` has their codes.

Collected from the documentation and the source of the hosts and servers named beside the entries, and from
messages that their users report; `tests/hosts/errors.toml` has them. Words are matched in any case.
"""

from __future__ import annotations

import re

from ...core.caching.regex import regex

__all__ = [
    "ADVICE",
    "ALLOWANCE",
    "BAD_KEY",
    "FAILED_GENERATION",
    "FILTERED",
    "FORM",
    "GONE",
    "JUDGED",
    "KEY",
    "LONGER",
    "MODEL",
    "MONEY",
    "NOT_NOW",
    "NO_CHANNEL",
    "NO_MODEL",
    "NO_PLACE",
    "PASSING",
    "PERIOD",
    "PER_MINUTE",
    "PLACE",
    "QUOTA",
    "RATE",
    "SPENT",
    "STARTING",
    "TEMPORARY",
    "THROTTLED",
    "UNABLE",
    "UNSAFE",
]

QUOTA = regex(
    r"insufficient.?(?:user.?)?quota|exceeded.(?:your.)?current.quota|quota.?exhausted"
    r"|billing_|payment.?required|plan.?and.?billing",
    re.IGNORECASE,
)
"""An account without money, unless the host limits requests by these words too; see `THROTTLED`."""

ALLOWANCE = (
    regex(r"quota|(?:usage|request) limit|request allowance", re.IGNORECASE),
    regex(r"exceed|reached|exhaust|over\b|used up", re.IGNORECASE),
)
"""A quota of some kind, for reports that say nothing else: both in one sentence."""

THROTTLED = regex(r"RESOURCE_EXHAUSTED|throttling|limit_?burst_?rate", re.IGNORECASE)
"""Codes of Google and DashScope for a quota that comes back within a minute."""

SPENT = regex(
    r"credit.?balance|spend(?:ing)?.?(?:limit|cap)|credit limit"
    r"|insufficient[ _](?:[a-z0-9]+[ _])?(?:balance|credits?|funds)|balance is insufficient"
    r"|not.enough.(?:balance|credits?|funds)|(?:requires|need) more credits|have a free (?:quota )?tier"
    r"|(?:out[ _]of|no|any)[ _]credits|purchase (?:more )?credits|overdue|in arrears|recharge|top.?up your"
    r"|(?:enter|provide) (?:an? )?payment method"
    r"|budget.{0,20}exceeded|exceeded\w*budget|(?:not have enough quota|quota is not enough)"
    r"|reached (?:your|its|the) (?:\w+ ){0,3}usage limit|regain access on|free (?:tier"
    r"|allocation) [^.]{0,40}(?:exhausted|upgrade)"
    r"|FreeTierOnly|key limit exceeded|(?:monthly|daily|plan|token|subscription)[ _](?:\w+[ _])?quota"
    r"|rate limit set to 0|account is not active|unpaid|past due|PerDay|(?:per.day|\b[RT]PD)\b(?!.*(?:again"
    r"|retry) (?:in|after) \d)"
    r"|limit: 0\b|daily free|billing to be enabled"
    r"|(?:account|organi[sz]ation) (?:is |has been |was )?(?:suspended|locked|disabled|deactivated|restricted"
    r"|banned|frozen)"
    r"|need quota|good standing|api total request limit|usage limit (?:has been )?reached"
    r"|(?:session|hourly) (?:usage )?limit"
    r"|not (?:available|included) (?:on|in) (?:your|the) (?:\w+ ){0,3}plan|quota will be (?!\w+ in 00:)"
    r"|upgrade\b[^.]{0,40} to continue(?! without)"
    r"|plan (?:does not|doesn't|do not)[^.]{0,20} (?:include|cover|allow)"
    r"|(?:daily|weekly|monthly|\d[- ]hour) (?:\w+ ){0,3}(?:limit|quota|cap|allowance)"
    r"|(?:balance|credits?|funds)\b[^.]{0,20}(?:r[ua]n out|exhausted|empty|used up|depleted)"
    r"|(?:free|your) trial\b[^.]{0,20} (?:ended|expired|over)\b"
    r"|pay (?:your|the) (?:invoice|bill)|top.?up (?:is )?required|billing (?:is |has |was )?(?:not|n't)"
    r"|payment (?:method )?(?:was |is |has been )?(?:declined"
    r"|failed|rejected)"
    r"|(?:subscription|plan|package) (?:has |is |was )?(?:expired|ended|inactive|cancel|required)"
    r"|used (?:up )?all (?:of )?(?:your|the) credits|no (?:remaining|more) tokens in"
    r"|requires? an? (?:\w+ )?subscription|from your extra usage|model service has been paused"
    r"|(?:allowance|quota|credits?|budget) (?:(?:is|was|are|has been|have been) )?(?:all )?spent\b"
    r"|套餐[^。]{0,12}[未不](?:开放|包含|支持)|余额|额度(?:不足|已?[用耗][尽完])|欠费|充值|日流控",
    re.IGNORECASE,
)
"""Money or an allowance that is used up for longer than a run waits."""

MONEY = (
    regex(
        r"(?<![a-z])credits?\b|\bbalance|\bfunds\b|(?<!thinking )(?<!token )\bbudget\b|\bspend"
        r"|prepa(?:id|yment)"
        r"|\bfree (?:\w+ )?(?:quota|allowance)"
        r"|余[额量]|额度|套餐|资源包",
        re.IGNORECASE,
    ),
    regex(
        r"exceed|exhaust|insufficient|deplet|finished|(?:not|n't) (?:\w+ ){0,2}enough|used up|out of"
        r"|r[au]n out|\bover\b|crossed|reached|requires?\b|\bneeds?\b|too low|empty|\bno\b|not have|expired"
        r"|add"
        r"|top.?up|buy|purchase|recharge|不足|已?用[尽完]|到期|充值|续[订费]",
        re.IGNORECASE,
    ),
)
"""The same: a word of each in one sentence."""

PERIOD = (
    regex(
        r"\bday\b|today|daily|week|month|billing|\d[- ]hour|每[日天周月]|[日周月天]|小时|trial", re.IGNORECASE
    ),
    regex(
        r"quota|usage|limit(?!s? reset)|\bcap\b|allowance|allotment|allocation"
        r"|\b(?:calls|requests|tokens|units)\b|限额|上限"
        r"|配额|流控|次数",
        re.IGNORECASE,
    ),
    regex(
        r"exceed|reached|exhaust|used (?:up|all|\d)|out of|limited to|\bhit\b|not (?:have|enough)|n't have|超"
        r"|已达|用[尽完]",
        re.IGNORECASE,
    ),
)
"""The same: a word of each in one sentence, with no wait that is said."""

ADVICE = regex(
    r"(?:^[^\w\n]{0,4}|(?<=[.!?;:,]) |\bor )(?:please )?"
    r"(?:add|buy|purchase|top.?up|recharge|upgrade|deposit|spend|subscribe|navigate|need more"
    r"|get more|we recommend|consider|you can"
    r"|to (?:increase|raise|unlock|lift))\b(?![^.!?;]* to (?:continue(?! without)|proceed))(?:[^.!?;]"
    r"|[.!?;]\b)*"
    r"|[或\uff0c,](?:请)?(?:充值|升级|购买)[^。]*(?:提升|提高|解锁|获得|更高)[^。]*",
    re.IGNORECASE | re.MULTILINE,
)
"""What would raise a limit, beside its cause: "Add 10 credits to unlock 1000 requests per day"."""

PER_MINUTE = regex(
    r"\bper[ _-]?(?:minute|second|60 ?s)\b|/ ?min(?:ute)?\b|\b(?:[rt]pm|qps)\b|负载已饱和", re.IGNORECASE
)
"""A limit that comes back within a run, whatever its code is called: Cerebras has `token_quota_exceeded`, One
API `insufficient_quota` for accounts that are busy."""

LONGER = regex(r"\b(?:day|daily|week|weekly|month|monthly|balance|credits?|billing)\b", re.IGNORECASE)
"""Words of a limit that does not."""

RATE = regex(
    r"too many requests|too many tokens, please wait|rate.?limit|throttl|per.(?:min|second)"
    r"|/ ?(?:min(?:ute)?|s|sec(?:ond)?)\b|\b[rt]pm\b|request limit reached|burst limit|spike.?arrest"
    r"|resource (?:has been )?exhausted|rate (?:exceeded|increased)|qps|concurren|parallel requests"
    r"|server limit exceeded|slow down|before (?:the"
    r"|your) next request"
    r"|too (?:quickly|fast|often|frequent|rapid)|限流|并发|频繁|请求过多|每[分秒]|分钟内|速率|频率",
    re.IGNORECASE,
)
"""Too many requests or tokens in some time."""

_STARTING = (
    r"not (?:yet )?(?:fully )?(?:ready|up yet|warm)"
    r"|\b(?:is|are|it's|still|currently|being|be) (?:\w+ )?(?:loading|restarting|starting(?! with)"
    r"|booting|initiali[sz]ing"
    r"|waking|warming|spinning|scaling (?:up|from)|deploying|deployed (?=and)|provision(?:ing|ed)|pulled"
    r"|downloading|updating"
    r"|updated|resuming)\b|(?:is|was|are|being|currently) scaled? to zero|(?:warming|waking|wakes"
    r"|spinning|scaling"
    r"|scaled|start(?:ing|s)) up\b|scaling from zero|cold.?start|loading in progress"
    r"|(?<!error )\bloading model\b"
    r"|not (?:yet )?finished (?:loading|starting)|coming up\b|currently cold|warming (?:it|now)"
    r"|will be (?:ready|available|online|up) (?:shortly|soon|in)|loading now|now loading"
    r"|being (?:re)?loaded|model_?loading|not_?ready"
    r"|(?:正在|仍在)(?:加载|启动|重启|部署)"
)
STARTING = regex(_STARTING, re.IGNORECASE)
"""A model or a server that will be ready soon, even with status 404."""
GONE = regex(
    r"(?:not|n't) (?:exist|found)|no such|unknown|no longer|deprecated|retired|wait a moment", re.IGNORECASE
)
"""Words beside these of one that will not: Azure's is perhaps not there yet, and mostly misspelt."""
_NOT_NOW = (
    r"temporar\w* (?:un|in|not |out of|overloaded|down|off|(?:\w+ )?(?:failure|error|problem|outage))"
    r"|(?:not |un)available (?:at (?:the|this) (?:moment"
    r"|time)"
    r"|right now|for now|just now|momentarily)|momentarily (?:not |un)available"
)
NOT_NOW = regex(_NOT_NOW, re.IGNORECASE)
"""A model that is there again soon."""
_PASSING = (
    r"(?:try|retry)\w*(?: \w+){0,3} (?:later|shortly|soon|(?:in|after) (?:\d|an? ))|\bhas crashed"
    r"|runner process has terminated|model (?:was |is |has been )?(?:un|re)loaded"
    r"|\b(?:returned|status(?: code)?:?) 5\d\d\b"
    rf"|{_NOT_NOW}"
    r"|out of memory|\bbusy\b|overload|over.?capacity|at capacity|network.?error|DEGRADED function"
    rf"|{_STARTING}"
    r"|invocation timed out|queue is full|(?<!not )(?<!non-)retr(?:i|y)able|CUDA error"
    r"|(?:worker|engine|background loop)\w*\b[^.]{0,20}(?:\bdied|\bdead|errored|\bis not running)"
    # The transport behind a gateway, in the words of Envoy, Go and Node
    r"|connect(?:ion)? (?:reset|refused|error|closed|lost|dropped|aborted)|closed (?:the )?connection"
    r"|(?:i/o|handshake|provider|upstream|gateway) timed?[ -]?out|context deadline|unexpected EOF"
    r"|socket hang up|\bchannel error|upstream request failed(?!:)|\bfetch failed\b(?! with)|RST_STREAM"
    r"|closed network connection|broken pipe|GOAWAY"
    r"|(?:server|socket) disconnected|premature close|read timed out|max retries exceeded"
    r"|server (?:is at max|(?:is )?shutting down)"
    r"|(?:workers?|slots?|instances?|replicas?) (?:are |is )?(?:all )?(?:occupied|in use|taken)\b"
    r"|\bE(?:CONN[A-Z]+|TIMEDOUT|AI_AGAIN)\b|繁忙|网络错误|饱和|系统错误|访问量过大|暂时?不可用"
)
PASSING = regex(_PASSING, re.IGNORECASE)
"""A failure that passes, though its status is that of a wrong request or a wrong key: a local server whose
model stopped or starts, hosts without room, and gateways that do not reach the host behind them."""

TEMPORARY = regex(
    rf"{_PASSING}|capacity (?:exceeded|limit|constraint)|too many requests"
    r"|rate.?limit|throttl|temporar|(?:try|retry)(?: your request)? again|please (?:re)?try|unavailable"
    r"|retry your request|had an error|an? (?:\w+ )?error (?:has )?occurred|encountered an (?:error"
    r"|issue)|timed?[ -]?out|deadline"
    r"|server error|engine is|(?:high|heavy|peak) (?:load|demand|traffic|volume)|upstream|bad gateway"
    r"|\bin time\b|pool (?:is )?exhausted|all (?:\w+ )?(?:providers|upstreams|backends) (?:have )?failed"
    r"|crashed|restart(?:ed|ing)|preempted|evicted|reclaimed|went away"
    r"|(?:not|failed to) (?:respond|answer|reply)"
    r"|internal exception|lost the connection|technical difficult|cancell?ed by|\baborted\b"
    r"|incomplete generation"
    r"|shutting down"
    r"|GPU memory|(?:node|worker|instance|connection)\b[^.]{0,40} (?:was )?lost\b|draining"
    r"|cool(?:ing)?[ _]?down|maintenance|engine error|interrupted|went wrong"
    r"|unable to (?:reach|process your request)|(?:try|retry) once more|too much load"
    r"|internal error|\block\b|exhausted all available|no (?:healthy|available|\w+ available)|queue"
    r"|限流|稍后|后重试|无可用|内部错误|超时|过载|排队|服务异常",
    re.IGNORECASE,
)
"""A failure that may pass, for reports without a status or a known code."""

JUDGED = regex(
    r"\bflagged (?:as|for|by)\b|violat\w* (?:our|the|usage|content)|blocked by (?:\w+ )?(?:content|safety"
    r"|moderation)|data.?inspection.?failed",
    re.IGNORECASE,
)
"""A filter that has judged the request, and has not failed itself."""

FILTERED = regex(
    r"content.?(?:filter|policy|management)|responsibleai|requires moderation|moderation (?:policy|failed"
    r"|blocked)|by moderation|by our safety|safety[ _](?:system|filter|policy|check)"
    r"|data.?inspection.?failed"
    r"|inappropriate content|sensitive(?: ?content|.?word|.{0,3}information)|new_sensitive|flagged"
    r"|prohibited_content|blocked (?:input|output)"
    r"|censorship|threat detected|(?:input|output|prompt|content|response)(?: pattern)? (?:was |is )?blocked"
    r"|unsafe[ _](?:request|content|input|prompt|output)|audit (?:is |was |has )?not (?:approved|passed)|审核"
    r"|guardrail"
    r"|prohibited (?:words?|content|topics?|terms?)|usage (?:guidelines|polic)|exists? risk|high risk|敏感"
    r"|违规|违反[^。]{0,8}政策",
    re.IGNORECASE,
)
"""A filter that refuses the request: another attempt is refused too."""

UNSAFE = (
    regex(
        r"moderat|safety|polic(?:y|ies)|\bguard(?:s|rails?)?\b|sensitive|inappropriate|harmful"
        r"|terms of (?:service|use)|审核|敏感|违规",
        re.IGNORECASE,
    ),
    regex(
        r"block|flag|reject|refus|violat|not (?:approved|passed)|trigger|detect|filter|fail",
        re.IGNORECASE,
    ),
)
"""The same: a word of each in one sentence."""

NO_PLACE = regex(
    r"unsupported_country|not (?:available|supported) in (?:your|this) (?:country|region)"
    r"|you have been blocked|attention required",
    re.IGNORECASE,
)
"""A host that serves nobody from here, whatever the key."""

PLACE = (
    regex(
        r"countr(?:y|ies)|(?:your|this|supported|allowed) regions?\b|territor|location|network/firewall",
        re.IGNORECASE,
    ),
    regex(r"\bnot\b|n't|unsupported|denied|restrict|block|unavailable|forbid", re.IGNORECASE),
)
"""The same: a word of each in one sentence."""

BAD_KEY = regex(
    r"(?:invalid|incorrect|wrong|missing|expired?|unknown|no) (?:\w+ (?:or )?)?(?:x-)?(?:api|auth|access"
    r"|subscription"
    r"|security)[ -]?(?:key|token|credentials)"
    r"|(?:api|access|security|secret)[ -]?(?:key|token)[^.]{0,40}(?:not valid|invalid|expired|incorrect"
    r"|missing)"
    r"|(?:api|access) key[^.]{0,40}(?:(?:not|un)[ -]?recogni[sz]ed|required)"
    r"|(?:must|need to) (?:provide|supply|send|include|set) (?:an? |your )?(?:valid )?(?:api|access|auth)"
    r"|api_?key_?invalid|pass a valid api key|\bauth(?:entication)? error"
    r"|authentication (?:failed|parameter)|authfailure|not authorized to"
    r"|\blogin fail|signature (?:does not match|check failed|has expired)|\bunauthori[sz]ed\b|unauthenticated"
    r"|(?:malformed|invalid|missing|bad|no|empty) authori[sz]ation\b|\bheader\.(?:authori[sz]ation"
    r"|x-api-key)\b"
    r"|无效的?(?:令牌|密钥)|(?:令牌|密钥)(?:无效|已?过期)"
    r"|not authenticated|NoAuthError|\bno permission\b|请先登录"
    r"|\b(?:key|token|jwt)\b (?:\w+ ){0,2}(?:revoked|expired|disabled|deactivated)",
    re.IGNORECASE,
)
"""A key that is refused with a status of its own."""

KEY = (
    regex(
        r"(?:api|access|secret)[ _-]?(?:key|id\b)"
        r"|(?<!unexpected )(?<!special )\btoken\b(?! (?:limit|length|count|bucket))"
        r"|credential|authori[sz]|authenticat|permission|access to|for (?:this |your )?key|密钥|令牌"
        r"|授权|鉴权|身份",
        re.IGNORECASE,
    ),
    regex(
        r"invalid|incorrect|expired|missing"
        r"|not (?:valid|active|allowed|found|authori[sz]ed|permitted|correct)|denied|fail|revoked|wrong"
        r"|disabled|deleted|(?:not|n't) have access|未收到|未提供|提供有效|缺少|无法|错误|无效|非法|失效"
        r"|失败|过期",
        re.IGNORECASE,
    ),
    regex(r"\A(?!.*\b(?:tools?|schema|propert(?:y|ies))\b)", re.IGNORECASE | re.DOTALL),
)
"""The same: a word of each in one sentence."""

NO_MODEL = regex(
    r"model(?:[^.]|\.(?=\w)){0,80}(?:not exist|not found|unknown|decommissioned|is not available(?! with"
    r"| when)"
    r"|reached the end of its life|is blocked|disabled|not (?:servable|deployed)|does not support this api)"
    r"|\bmodel\W{1,3}(?:name )?(?:\S{1,60} )?(?:(?:is|was|has|been) )*(?:not"
    r"|no longer) (?:\w+ ){0,2}(?:available(?! with| when)|supported|enabled|registered|served|loaded"
    r"|configured"
    r"|recogni[sz]ed|permitted)\b"
    r"|(?:has been|is|was) (?:retired|discontinued)|could not route to|with on-demand throughput"
    r"|(?:unknown|unsupported|not supported|invalid|no such|unexpected) model\b|model identifier is invalid"
    r"|no endpoints found for (?!your)|specified version does not exist|\bno model (?:called|named|with"
    r"|is)|(?:not|n't) have (?:an? "
    r"|the )?model|(?:not"
    r"|n't) (?:one )?of the (?:\w+ )?models"
    r"|supported api model names|no models (?:are )?(?:currently )?loaded"
    r"|does not work with the (?:\w+ )?model|unexpected endpoint|invalid url \(|cannot post /"
    r"|模型[^。]{0,40}(?:不存在|未开通)|找不到[^。]{0,4}模型"
    r"|could not find (?:\w+ )?model|llm provider not provided"
    r"|unsupported openapi method|已下线|failed to get model|您无权访问",
    re.IGNORECASE,
)
"""A model that the host does not have, or not for this key."""

MODEL = (
    regex(r"(?<!for this )(?<!with this )(?<!by this )\bmodels?\b|deployment|模型", re.IGNORECASE),
    regex(
        r"not (?:exist|found|available(?! with| when)|loaded|deployed|configured|registered|enabled|running"
        r"|installed|hosted|served|a valid)|(?:not|n't) find|shut ?down|no such|retired|deprecated"
        r"|unavailable|no longer|unable to access|decommission"
        r"|end of life|unrecogni|sunset|removed"
        r"|不存在|下线|停止服务|已停用|无权|未开通|无可用",
        re.IGNORECASE,
    ),
)
"""The same: a word of each in one sentence."""

NO_CHANNEL = regex(r"no available channels? for model|无可用渠道", re.IGNORECASE)
"""What New API and One API say, with status 503, of a model that none of their accounts has."""

UNABLE = regex(
    r"\b(?:image|vision|multimodal)\w*\b[^.]{0,40}(?:not supported|unsupported|only supported|not support)"
    r"|(?:not|n't) support\w*[^.]{0,40}\b(?:image|vision|multimodal)|requires? more (?:\w+ ){0,2}memory"
    r"|insufficient system resources|image: unknown format",
    re.IGNORECASE,
)
"""What a model cannot do, though its server sends status 500: read images, or fit into the memory."""

FORM = (
    regex(r"json.?(?:schema|mode)|response.?format|structured.?output|\bstream", re.IGNORECASE),
    regex(r"(?:not|n't) s\w{1,5}ort|unsupported", re.IGNORECASE),
)
"""A form of the reply that a model has not, which Cloudflare reports like a key: a word of each in one
sentence."""

FAILED_GENERATION = regex(
    r"json_validate_failed|tool_use_failed|invalid sequence as part of tool|failed_generation"
    r"|could not finish the message|no valid response generated"
    r"|(?:failed|unable|error|could ?n[o']t)(?: to)? pars\w+ (?:the )?(?:(?:model|generated|llm)\w*\b.{0,20}"
    r"|input at pos|tool.?calls?\b(?! arg\w* (?:in|of) (?:the )?(?:messages?|request))|function.?calls?\b)"
    r"|generated (?:an? )?(?:invalid|malformed) (?:tool|function)"
    r"|(?:malformed|unparsable) (?:tool|function).?call",
    re.IGNORECASE,
)
"""Groq, OpenAI, llama.cpp and vLLM report that a model wrote nothing usable like a refused request."""
