"""Patterns of objections in English, and of phrases that only sound like one.

Each is matched against one clause of plain text in lower case.
"""

from __future__ import annotations

from .esteem import VALUED

__all__ = ["APPROVES", "CONCESSION", "DENIED", "EMPTY", "NOT_ONLY", "OBJECTS", "PARTIAL", "TURN"]

_FAULT = (
    r"(?:faults?|flaws?|errors?|mistakes?|problems?|issues?|weakness(?:es)?|objections?|criticisms?|gaps?"
    r"|changes?|corrections?|additions?|improvements?|revisions?|reservations|concerns|downsides?|drawbacks?)"
)
_BAD = (
    r"(?:wrong|missing|incorrect|inaccurate|lacking|left out|overlooked|misleading|to (?:add|change|fix"
    r"|correct|improve|object to|criticize|criticise|challenge))"
)

TURN = (
    r"(?:,|\s-|[\u2013\u2014])?\s*\b(?:(?<!nothing )but|yet|however|nonetheless|nevertheless|although|though"
    r"|except|apart from|aside from|other than)\b,?\s*"
)
"""The place where a sentence turns against the clause before it."""

NOT_ONLY = r"\bnot (?:only|just|merely|simply)\b"
"""Before "but": the sentence does not turn there."""

CONCESSION = r"^(?:while|whilst|although|though|even though|granted|admittedly|despite)\b[^,]*,\s*"
"""An opening clause that concedes something: "While the proposal is well argued, ..."."""

OBJECTS = (
    r"\b(?:not|never|no|nor|nobody|nothing|none|neither|without|hardly|barely|cannot|lack(?:s|ed|ing)?"
    r"|fail(?:s|ed|ing|ure)?|miss(?:es|ed|ing)?|ignor(?:es?|ed|ing)|overlook\w*|omit\w*|neglect\w*|forg[eo]t\w*"
    r"|wrong(?:ly)?|false(?:ly)?|untrue|incorrect(?:ly)?|inaccurate(?:ly)?|mistaken(?:ly)?|mistakes?|errors?"
    r"|flaw(?:s|ed)?|weak(?:ness(?:es)?)?|vague|unclear|unproven|unsupported|unrealistic|questionable"
    r"|doubtful|doubt|poor(?:ly)?|bad(?:ly)?|exceptions?|reservations?|mislead\w*|contradict\w*|inconsistent|incomplete|insufficient|oversimplif\w+"
    r"|overstat\w+|understat\w+|exaggerat\w+|underestimat\w+|overestimat\w+|gaps?|holes?|caveats?|drawbacks?"
    r"|downsides?|disagree\w*|object(?:s|ion|ions)? to|reject\w*|instead|unless|too (?:\w+))\b|n't\b"
)
"""Signs that a clause contradicts something."""

DENIED = (
    rf"\bnothing(?: \w+){{0,2}} {_BAD}\b|\b(?:there (?:is|are|'s)|(?:i|we)(?: can(?:not|'t)?"
    r"| could(?: not|n't)?| do(?: not|n't)| would(?: not|n't)?)? (?:see|find|have|spot|make|suggest|propose"
    rf"|change|add|need)) (?:no|any|a|zero|nothing)\b(?: \w+){{0,2}}(?: {_FAULT}| {_BAD}| thing)?"
    r"(?= ?(?:[.,!;]|$)| (?:here|at all|in|with|to|that)\b)"
    rf"|(?:^|\band )(?:it |this )?(?:needs |requires )?no (?:\w+ ){{0,2}}{_FAULT}(?= ?(?:[.,!;]|$)"
    r"| (?:here|at all|from me|to|(?:(?:is|are) )?(?:needed|necessary|required))\b)"
    r"|\bwithout (?:any )?(?:reservations?|hesitation|doubt|question)\b"
    rf"|{NOT_ONLY}|\bnot perfect\b"
)
"""Denials of a fault, which are no objection: "nothing is missing", "no changes needed"."""

APPROVES = (
    rf"\b(?:{VALUED}|realistic|checks? out|(?:hold|add)s? up)\b|^(?:(?:it|this|that|you|the author"
    r"|(?:the|this|your) (?:answer|proposal|response|plan|analysis|draft|text))(?: also| even)?"
    r" (?:covers?|address(?:es)?|includes?|explains?|answers?|handles?|captures?|describes?|identif(?:y|ies)"
    r"|considers?|mentions?|matches)\b)"
)
"""Signs that a clause without a contradiction approves of something."""

PARTIAL = (
    r"\b(?:part(?:ly|ially)|in (?:part|principle|general|spirit)|most(?:ly)?|largely|broadly|generally|mainly"
    r"|premise|goal|aim|direction"
    r"|(?:first|second|third|last|some|one|many|several) (?:of|parts?|points?|claims?))\b"
)
"""Words that limit an agreement."""

EMPTY = (
    r"\b(?:and|so|yes|yeah|well|ok|okay|oh|hi|hello|dear|again|indeed|overall|here|too|also|really|just|very"
    r"|thanks?|thank you|cheers|regards|best|all|of|it|this|that|the|an?|i|you|your|my|we|is|are|as|in|with"
    r"|to|for|on|team|everyone|colleagues?|participant|done|exactly|right|true|same|ditto"
    r"|(?:keep|great|good|nice) (?:it )?(?:up|work|job)|ship it|let's (?:go|ship it)|no further comments?"
    r"|as (?:it )?is)\b|final answer:.*|[^\w]|_"
)
"""Words without content of their own."""
