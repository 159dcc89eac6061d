"""Patterns of refusals, and of the padding around them.

Each is matched against one whole sentence of plain text, without case and without its final mark.
"""

from __future__ import annotations

__all__ = ["DECLINES", "PADDING", "POLICY", "SUBSTANCE"]

_SORRY = (
    r"(?:i'm|i am) (?:\w+ )?sorry(?: about (?:that|this)| for (?:any|the)[^,]{0,60}| to (?:say|hear"
    r"|disappoint)[^,]{0,40})?|(?:so |very )?sorry(?: about (?:that|this)| for (?:any|the)[^,]{0,60})?"
    r"|(?:my )?apologies(?: for[^,]{0,60})?|i (?:sincerely )?apologi[sz]e(?: for[^,]{0,60})?"
)
_LEAD = (
    rf"(?:(?:{_SORRY}|unfortunately|regrettably|sadly|i regret(?: to say)?(?: that)?|i'm afraid(?: that)?"
    r"|i am afraid(?: that)?|(?:as|being) an? (?:ai|artificial|large|language|responsible|helpful|virtual"
    r"|chat)[^,]{0,80}|thank you[^,]{0,60}|thanks[^,]{0,60}|(?:while |although )?i (?:understand"
    r"|appreciate|hear|see|know)[^,]{0,120}|given [^,]{0,80}|due to [^,]{0,100}|for (?:safety|legal"
    r"|ethical|privacy|security)[^,]{0,60}|at this time|currently|no|nope|hi|hello"
    r"|i must inform you(?: that)?|please note(?: that)?|i need to be (?:clear"
    r"|transparent)(?: that)?)(?:[,:]| -|\u2014|\u2013)? ?(?:but |and |however,? |that )?){0,4}"
)
_CANNOT = (
    r"i (?:really |simply |just |also |therefore )?(?:can(?:not|'t| not)|could(?: not|n't)|will not|won't"
    r"|should not|shouldn't)(?: \w+ly| really| simply| just| currently)?|i(?: am"
    r"|'m) (?:\w+ly )?(?:not able|unable|not allowed|not permitted|not comfortable|not willing|not going"
    r"|not in a position|not authori[sz]ed|not programmed|not designed)(?: to)?|i (?:do not"
    r"|don't) (?:feel comfortable|think i (?:can|should)|have the ability to|wish to|want to)"
)
_DO = (
    r"(?:help(?!s? but)\b|assist|comply\b(?! with (?!(?:this|that|your|the|such) (?:request|instruction"
    r"|demand)))|provid|answer|fulfil|complet|respond|continu|discuss|engag|participat|generat|creat"
    r"|produc|writ|shar(?:e|ing)|giv(?:e|ing)|offer|process|proceed|talk|speak|comment|take part"
    r"|accommodat|carry out|perform|address|aid\b|tell you|advise|reveal|disclos|facilitat|role-?play"
    r"|be (?:of )?(?:help|assistance|part)|do (?:that|this|so|it)\b|doing (?:that|this|so|it)\b|grant"
    r"|execut|satisfy|honou?r|access|browse|review this|evaluate this)"
)

_REQUEST = (
    r"(?:(?:this|that|these|those|your|the|any|such|an?|my)(?: \w+)? (?:one|kind|sort|type|question|request"
    r"|topic|subject|matter|demand|task|instruction|prompt|query|advice|opinion|view|answer|response)s?\b.*"
    r"|this|that|it|(?:advice|opinions?)\b.*)"
)
_ASKED = (
    r"(?:answer|help|assist|comply|discuss|engage|participate|take part|respond|reply|comment|say|speculate"
    r"|talk|speak|advise|(?:give|offer|share|provide|express)(?= (?:an?|any|my|advice|opinions?)\b)"
    r"|do(?= (?:this|that|so)\b)|(?:fulfil+|process|grant|satisfy|honou?r|accommodate|complete|carry out"
    rf"|execute)(?= (?:this|that|your|the|such)\b))(?: (?:you|on|with|in|to|about|so))*(?: {_REQUEST})?"
)
_WOULD_NOT = (
    rf"i (?:would not|wouldn't)(?: \w+ly| really| simply| just)?(?: {_ASKED})?"
    rf"|i(?:'d| would)? (?:rather not|prefer not to)(?: (?:{_ASKED}|(?:discuss|comment|speculate"
    rf"|(?:talk|speak) about|(?:get|go) into)\b.*))?|i(?:'ll| will)? pass on {_REQUEST}"
)
"""Only about the request: about anything else it may be an answer, `I would rather not buy it`."""

DECLINES = (
    rf"(?P<lead>{_LEAD})(?:(?:{_CANNOT})(?: {_DO}.*)?|{_WOULD_NOT}|(?:{_SORRY})(?:,? but no)?|i(?:'ll| will"
    r"| must| have to|'d have to| am going to| need to)? ?(?:respectfully |politely |have to )?(?:decline"
    r"|refuse)\b.*|i (?:do not"
    r"|don't) have (?:any )?(?:personal |my own )?(?:opinions?|beliefs?|feelings?|preferences?|views?)\b.*"
    r"|(?:that|this|it)(?:'s| is) (?:not )?(?:something|a (?:topic|request"
    r"|question)) (?:that )?i (?:can(?:not|'t)?|am (?:un|not )able|won't|will not)\b.*|(?:request|response"
    r"|content|message) (?:declined|refused|blocked|rejected|filtered)\b.*|no comment)"
)
"""The author refuses to answer. The group `lead` is the text before the refusal."""

POLICY = (
    r"polic|guideline|terms of|\brules?\b|harm|illegal|unlawful|unsafe|danger|unethical|ethic"
    r"|inappropriate|not appropriate|offensive|\bai\b|language model|safety|programm|designed|trained"
    r"|sensitive|violat|privacy|personal|professional|\bagainst\b|copyright|explicit|hate|abus|weapon"
    r"|self-harm|misinformation|outside (?:of )?my|beyond my|my (?:purpose|scope)"
)
"""A reason that does not depend on the question."""

PADDING = (
    rf"(?:{_SORRY})(?:[,:]? .{{0,80}})?|no|hi|hello|thank you.{{0,60}}|thanks.{{0,60}}|(?:please|kindly"
    r"|you (?:may|might|should|could)(?: (?:wish|want) to)?|i(?:'d| would)? (?:suggest|recommend"
    r"|encourage)(?: you)?(?: to)?|it(?:'s| is| would be) (?:best|better|important) to|if you(?:'re| are"
    r"| need| have| would)?\b[^,]{0,120}, (?:please|i|you|consider))\b.{0,40}\b(?:consult\w*"
    r"|contact\w*|seek\w*|reach\w* out|speak\w*|talk\w*|ask\w*|rephras\w+|let me know|feel free|provide"
    r"|help|assist|try (?:again|another|a different))\b.*|(?:is there|would you like|can i|may i"
    r"|how (?:else )?can i|what else|let me know|feel free|if you (?:have|need|would|'d)|i(?:'d"
    r"| would)? be (?:happy|glad)|i(?:'m| am) (?:happy|glad|here|designed|programmed|committed|an? (?:ai"
    r"|language|large)|just an?|only an?|always)|let's (?:talk|discuss|change|move)|(?:instead,? "
    r"|however,? |but )?i can (?:help|assist|offer|provide|discuss|share|suggest|try))\b.*|(?:that|this|it"
    r"|doing so|such|my|the (?:request|question|topic|content)|your (?:request"
    rf"|question))\b.*(?:{POLICY}).*|final answer: ?(?:none|n/?a|unknown|null|-|no answer|declined"
    r"|i can(?:'t|not).*)?"
)
"""Padding of a refusal: apologies, offers, referrals, reasons of policy."""

SUBSTANCE = (
    r"(?<!final answer):|;|\d|\b(?:but|however|because|since|unless|until|without|so|therefore|given|while"
    r"|as it|as the|due to|when|only)\b"
)
"""Signs that a sentence says something about the question, other than policy."""
