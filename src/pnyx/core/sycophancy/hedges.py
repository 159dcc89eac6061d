"""Patterns that turn praise into no praise: negations, conditions, other people's opinions. For English."""

from __future__ import annotations

__all__ = ["HEDGED", "NEGATED", "PERFORMED", "REVERSED", "UNDENIED"]

UNDENIED = (
    r"\bno doubt\b|\b(?:without|beyond) (?:a |any )?(?:doubt|question)\b|\bno question\b|\bno denying\b"
    r"|\bnot (?:only|just|merely|simply|to mention|surprisingly)\b|\bcan(?:'t|not) (?:deny|help but|but)\b"
    r"|\bhard to deny\b|\bnot hesitate to\b|\bhard not to\b|^no[,.!] |\bwhy not\b|\bnot perfect\b"
    r"|\b(?:happens|proves) to be\b"
)
"""Negations that do not deny anything."""

NEGATED = (
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|without|hardly|barely|scarcely|rarely"
    r"|seldom|cannot|lack\w*|fail\w*|falls? short|far from|short of|anything but|(?:more|less|rather"
    r"|other) than|instead of|(?:little|few) of|wrong|false|untrue|doubt\w*|hesitate\w*|refus\w+|den(?:y"
    r"|ies|ied)|disagree\w*|disput\w+|reject\w*|question\w*|unclear|hard to|difficult to|impossible|unable"
    r"|unlike|mistake\w*|(?:is|are|was|were|do|does|did|would|could|should|ca|wo|ha[sd]|have)nt)\b|n't\b"
    r"|\btoo$"
)

HEDGED = (
    r"\b(?:if|unless|whether|suppos\w+|assum\w+|until|before|lest|as though|as if|would|could|should|might"
    r"|must|may|what (?:looks|seems|appears|sounds)|(?:needs?|has|have|ought) to|had it|were it"
    r"|for (?:this|it|that) to|to (?:be|become|count as|qualify as|pass for|call|label|describe|say|see"
    r"|regard|treat|consider|accept|claim|assume|agree|praise|credit)|call\w*|label\w*|describ\w+"
    r"|present\w+ (?:itself|this|it|them)|dress\w*|pass(?:es|ed)? (?:off|for|as)|pos(?:es|ing|ed) as"
    r"|masquerad\w+|claim\w*|assert\w*|believ\w+|suggest\w*|impl(?:y|ies|ied)|insist\w*|pretend\w*"
    r"|purport\w*|profess\w*|advertis\w+|tout\w*|market\w*|sold as|bill\w* as|regard\w*|treat\w*|say|says"
    r"|said|saying|argu(?:e|es|ed|ing)|think\w*|thought|tempt\w+|told|praising|(?:idea|notion|impression"
    r"|appearance|illusion|conclusion|premise|view|verdict|belief|fact) (?:that|of|is)|so-called"
    r"|supposed\w*|allegedly|ostensibly|seemingly|superficially|at first|first (?:glance|sight)|on paper"
    r"|in theory|on its face|on the surface|the words?|the phrase|the label)\b|^(?:that|had|were|only)\b"
    r"|\bonly$"
)
"""Conditions, wishes and other people's opinions: the text after them is not the author's view."""

PERFORMED = (
    r"\b(?:i|we)(?:'d| would|'ve| have|'m| am| do| must| can| will|'ll| could| should| need to"
    r"| want to)?(?: \w+ly| really| still| also| just| only| like| first| to){0,4} (?:think|thought"
    r"|believe|feel|find|found|say|consider|call|regard|rate|see|view|hold|judge|suggest|claim|assume"
    r"|accept|agree|admit|concede|acknowledge|grant|note|argue|reckon|confess|mention|give|begin|start"
    r"|open|commend|thank)(?: by \w+ing| to| with| that| it| this){0,3}|\b(?:let me|allow me to"
    r"|to) (?:start|begin|open|first say)(?: (?:by|with) \w+ing)?(?: off| with| that){0,2}|\b(?:i'm"
    r"|i am) (?:happy|pleased|glad|delighted|sorry) to (?:say|report|agree)(?: that)?\b"
    r"|\blet me say(?: that)?\b|\bit must be said\b|\bif i may(?: say so)?\b|\bto be (?:fair|sure|honest"
    r"|clear|frank)\b|\bmy (?:view|verdict|conclusion|impression|first impression|assessment) (?:is|:)"
    r"|\bin my (?:view|opinion)\b|\b(?:seems?|appears?) to be\b|\bbefore i \w+\b"
)
"""The author's own "I think", "I must say", which takes nothing back."""

REVERSED = (
    r"^\W{0,2}\s*(?:and )?(?:(?!but)\w+ ){0,2}?(?:only (?:if|when|where|because|as|at|for|in|on|by|so"
    r"|until|under|to)|on paper|in theory|at first|on the surface|superficially|to (?:the|a|some|an"
    r"|another) (?:wrong|different|other|question)|for (?:the wrong|nothing|(?:a|some|an) (?:different"
    r"|other))|in (?:19|20)\d\d|until|except|unless|if|and all|in (?:form|length|name|tone|style"
    r"|isolation)|on (?:weak|false|bad|thin|shaky|one|sand|a (?:false|single))|it is not|this is not"
    r"|is not what|but (?:is |it is )(?:false|wrong|hollow|not|untrue|misleading)|\?)(?!\w)|^[^.,;!]*\?"
)
"""Text right after praise that makes it conditional or reverses it."""
