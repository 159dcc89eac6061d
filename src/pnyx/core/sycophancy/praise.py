"""Patterns of praise and agreement in English; `hedges` has the patterns that take them back.

A wording is (cues, pattern). The pattern is matched against one sentence of plain text (`plain.plain`) in
lower case. No sentence matches without one of the cues, so few patterns are ever compiled or tried.
Repetitions are bounded, so the time is linear in the length of the sentence.
"""

from __future__ import annotations

from .esteem import CALM, GREAT, LISTED, MILD, SOUND, STRONG, VALUED, VERY

__all__ = ["ASSENT", "CONCEDED", "PRAISE"]

_ARTIFACT = (
    r"(?:answer|response|reply|proposal|analys[ei]s|argument|assessment|review|summary|overview"
    r"|explanation|breakdown|write-?up|recommendation|suggestion|draft|essay|contribution|reasoning"
    r"|treatment|discussion|one)s?"
)
_NOUN = (
    rf"(?:{_ARTIFACT}|(?:plan|point|advice|idea|approach|solution|strategy|piece|work|job|effort|start"
    r"|starting point|foundation|basis|groundwork|framework|case|logic|thinking|insight|observation"
    r"|question|take|catch|stuff|thought|attempt|coverage|call|move|balance)s?)"
)
_DETAIL = (
    rf"(?:{_NOUN}|(?:example|detail|context|evidence|structure|clarity|depth|rationale|information|ground"
    r"|concern|step|reason|illustration|understanding|grasp|knowledge|research"
    r"|execution)s?(?! (?:to (?:doubt|reject|worry|distrust)|not to"
    r"|against)\b)(?<!example(?= of))(?<!illustration(?= of)))"
)
_FILLER = r"(?:(?!of|and|or|is|are|to|in|on|for|but|against)[\w-]+ )?"
_ELSE = (
    r"(?!(?:\w+ )?(?:opposite|alternative|different|other|rival|competing|second|better|best|real|right"
    r"|correct|latter|usual|standard|new|revised|ideal|original question)\b)"
)
_OWNER = r"(?:the (?:author|proposer|participant|writer)|participant [a-z]|my colleague)"
_SUBJECT = (
    rf"(?:(?:(?:{_OWNER}|the (?:proposal|answer|response|plan))'s|the|this|that|your|their|its|his"
    rf"|her) {_ELSE}(?:(?!an?\b|the\b)[\w-]+ ){{0,2}}?(?:{_ARTIFACT}|plan|approach|solution|position|work"
    r"|piece|text|author|proposer|idea|logic|conclusion|diagnosis|verdict|writer|respondent|colleague"
    r"|structure|presentation|case|thinking|participant [a-z])(?: (?:here|above|as a whole|overall|itself"
    r"|given|(?:for|to|of|about|on|behind|by) (?:(?!the opposite|opposite|doing nothing"
    r"|is\b)[\w'-]+ ?){1,5}?(?<! )))?|participant [a-z])"
)
_IS = (
    r"(?:, [\w ]{1,25},)?(?: is| are| was| were| has been| remains| looks| seems| sounds| reads| feels"
    r"| appears)(?: to be| like)?(?:, (?!not\b|in theory|on paper|at first)[\w ]{1,25},)?"
)
_IT_IS = (
    rf"(?:\b(?:{_SUBJECT}|everything|(?:all|most) of (?:this|it|the \w+)){_IS}|^(?:looks?|sounds?|seems?"
    r"|feels?)(?: to be| like)?)"
)
_THIS_IS = rf"\b(?:this|that|these|those|it)(?:'s(?: been)?|{_IS})"
_A = r"(?:an? |one of the |some |such an? |quite an? |rather an? |truly an? |the )?"
_SOME = (
    r"(?:an? |some |many |several |a lot of |a number of |quite an? |such an? |a few |two |three |lots of "
    r"|plenty of )?"
)
_OPENER = (
    r"(?:(?:well|wow|oh|ok|okay|so|yes|yeah|hi|hello|hey|ah|hmm|overall|honestly\?|honestly|frankly|first"
    r"|firstly|first of all|first off|to begin|to begin with|to start|to start with|to be fair|in general"
    r"|in short|all in all|on the whole|in my (?:view|opinion)|i think|i'd say|i (?:want to|have to|must"
    r"|would|can|just) say(?: that)?|again|once again|really|truly|this is|that's|it's"
    r"|dear [a-z]+(?: [a-z]\b)?|colleague|to the author|@?participant [a-z]|let me (?:start"
    r"|begin) (?:by saying|with)(?: that)?|and)[,!.:]? ){0,4}"
)
_ENDS = (
    r"(?= ?(?:[.!;,)\u2013\u2014]|- |$)| (?:overall|throughout|here|indeed|but|though|although|however|yet"
    r"|from|by|so far|with|in (?:principle|general|many ways|parts|places)|all round|all around|as (?:far"
    r"|always|usual|it|ever)|participant|everyone|team|on the whole|to start|to begin|and (?:well|a|an|i"
    r"|very|clear|it|nicely|good|great))\b| (?:this|that|it) is ?[.!])"
)
_COLON = (
    r"(?=:)(?<!plan)(?<!idea)(?<!approach)(?<!solution)(?<!case)(?<!strategy)(?<!question)(?<!call)(?<!move)"
)
_PIECE = (
    rf"(?:{_NOUN}|choice|pick|try|opening|use|structure|research|execution|examples?|detail|clarity|writing"
    r"|presentation)"
)
_ABOUT = r"(?:points?|work|catch|call|job|thinking|questions?)(?= (?:on|about|in|of|there|here|\w+ing)\b)"
_VERB = (
    r"(?:is|are|was|were|has|have|had|will|can|could|would|should|must|does|do|did|needs?|requires?|shows?"
    r"|reveals?|suggests?|finds?|gives?|says?|tells?|points?|leads?|means?|takes?|starts?|begins?|names?"
    r"|contradicts?|misses|fails?|exists?)"
)
_OF = rf"(?= of (?:(?!{_VERB}\b)[\w'-]+ ?){{1,10}}(?:[.!,;]|$))"
_PREDICATE_ENDS = (
    r"(?![-\w])(?=\s*(?:[.,;:!?)\u2013\u2014]|-|$)| (?:and|but|overall|as|in|on(?! (?:schedule|time|cue"
    r"|course))|about|with|here|indeed|enough|so|because|since|though|although|yet|however|throughout"
    r"|to me|from|apart|except|given|of|by|only|than|if|under|within|today|i|while|until|when it comes)\b)"
)
_MAKES = (
    r"(?:(?:make|raise|ha[sv]e|offer|provide|give|present|do|does|did|build|deliver|show|demonstrate"
    r"|contain|include|craft|strike|set|draw|contribute|reach|bring|put forward|lay out|lays out"
    r"|set out)(?:e?s)?|(?:have |has )?(?:made|raised|given|done|written|wrote|gave|offered|provided"
    r"|presented|laid out|built))"
)
_KEENLY = (
    r"(?:(?:do|did|also|must|can only|have to|am inclined to|'m inclined to|tend to|can't help but"
    r"|cannot help but|cannot but|am happy to|'m happy to|really|genuinely|particularly|especially"
    r"|certainly|still|sincerely|personally|deeply|truly|greatly|quite|very much|fully|totally|completely"
    r"|strongly|largely|mostly|broadly|generally|wholeheartedly|entirely|absolutely|basically|essentially"
    r"|partly|partially|100%|readily|definitely|happily|gladly|so|just|in principle),? ){0,4}"
)
_GLADLY = rf"(?:(?:would|'d|will|'ll) )?{_KEENLY}"
_POLITELY = rf"(?:(?:would like to|'d like to|want to|wish to|need to|should) )?{_KEENLY}"
_I = r"\b(?:i|we|one)(?:(?='(?:d|ll|m)\b)| )"
_ACCUSED = (
    r"[^.,;]*\b(?:wrong|flaw\w*|fail\w*|miss(?:es|ed|ing)?|overlook\w*|lack\w*|isn't|is not|doesn't"
    r"|does not|ignor\w+|weak|incomplete|mislead\w*|unconvincing|opposite|opponents|critics?|false"
    r"|mistaken|objections?)\b"
)
_RIGHTLY = (
    "correctly|rightly|aptly|wisely|accurately|astutely|sensibly|cleverly|convincingly|persuasively"
    "|compellingly|nicely|brilliantly|skilfully|skillfully|beautifully|thoughtfully|insightfully"
    "|admirably|commendably|effectively|ably|helpfully|usefully|perceptively|justifiably"
)
_FAULT = (
    r"(?:faults?|flaws?|errors?|mistakes?|problems?|issues?|weakness(?:es)?|objections?|disagreements?"
    r"|criticisms?|complaints?|arguments?|reservations|concerns|quarrel|notes)"
)
_MERIT = (
    "merits|merit|strengths|strength|virtues|virtue|qualities|quality|clarity|thoroughness|elegance"
    "|insights|insight"
)

_WORK = (
    # "Great answer!", "A solid proposal overall", "What a thoughtful analysis"
    (
        VALUED,
        rf"^{_OPENER}(?:what |such )?(?:(?P<article>an?|some|another|this|that"
        rf"|your) )?{GREAT} {_FILLER}(?:{_PIECE}(?:{_ENDS}|{_COLON}|(?<!example){_OF})|{_ABOUT})",
    ),
    (
        VALUED,
        rf"^{_OPENER}{VERY}(?:{CALM}) {_NOUN}(?= ?(?:[.!]|$)|,? (?:but|though|overall|here|throughout)\b)",
    ),
    (
        VALUED,
        r"[,;] (?:great|excellent|good|nice|fantastic) (?:work|job|stuff|answer|points?|question)"
        r"(?= ?[.!]|$)",
    ),
    # "Excellent!", "Well argued.", "Clear, concise and well written.", "How thoughtful!"
    (
        VALUED,
        rf"^{_OPENER}{VERY}(?:{STRONG})(?=[!.]|, (?!however)| (?:and|but) (?:{STRONG}|{MILD})\b| - "
        r"| ?[\u2013\u2014]|$)",
    ),
    (VALUED, rf"^{_OPENER}{VERY}(?:(?:{MILD}),? ){{0,3}}and {VERY}(?:{STRONG})(?=[!.,]|$)"),
    (
        "how |very |really |extremely |admirably |commendably |refreshingly |wonderfully ",
        rf"^(?:how|very|really|extremely|admirably|commendably|refreshingly|wonderfully) (?:{STRONG}"
        rf"|{CALM})(?=[!.,]|$)",
    ),
    (
        "well|nicely|beautifully|neatly",
        r"^(?:very |so |really )?(?:well|nicely|beautifully|neatly) (?:said|put|done|argued|reasoned|written"
        r"|structured|stated|explained|thought[- ]out|played|spotted|observed)\b(?! (?:than|by|if))",
    ),
    (VALUED, rf"^{VERY}(?:commendable|admirable|laudable|exemplary|praiseworthy) \w+(?= ?[.!,;]|$)"),
    (
        "to see|to read|to hear",
        rf"^{_OPENER}{VERY}(?:great|good|nice|lovely|wonderful|happy|glad|pleased|refreshing) to (?:see|read"
        r"|hear)\b",
    ),
    # "This is an excellent plan", "The proposal remains a very good start"
    (
        VALUED,
        rf"(?:{_IT_IS}|{_THIS_IS}) {VERY}{_A}{SOUND} {_FILLER}{_ARTIFACT}\b(?! (?:against|to (?!me|us)\w"
        r"|for not)|-)",
    ),
    (
        VALUED,
        rf"(?:{_IT_IS}|(?P<pronoun>{_THIS_IS})) {VERY}{_A}{SOUND} {_FILLER}{_NOUN}\b(?! (?:against|to (?!me"
        r"|us)\w)|-)",
    ),
    (
        "one of the|best|finest|clearest",
        rf"\bone of the (?:best|finest|strongest|clearest|most \w+)(?:-\w+)?\b[^.;,]{{0,40}} {_ARTIFACT}"
        rf"|\b(?:best|finest|clearest) {_ARTIFACT} (?:so far|i(?:'ve| have)|here)\b",
    ),
    (" being ", rf"\b(?:despite|besides|apart from|aside from|for all) being {_A}{SOUND} {_NOUN}\b"),
    # "You make a good point", "The proposal provides a thorough overview"
    (
        VALUED,
        rf"(?:\b(?:you|this|that|he|she|they|{_SUBJECT}|{_OWNER})|\b(?:you've|they've)"
        rf"|^it) {VERY}{_MAKES} (?:up |out |us )?{VERY}{_SOME}{SOUND} {_FILLER}(?!questions?\b|issues?\b"
        rf"|steps? (?:back|away)){_DETAIL}\b(?!-)",
    ),
    (
        "there are|there is",
        rf"\bthere (?:are|is) (?:\w+ ){{0,2}}{GREAT} (?:point|idea|insight|element|thought|observation"
        r"|aspect)s? (?:here|in (?:this|the|your))\b",
    ),
    # "The answer is well argued", "You're absolutely right", "It is correct that …"
    (
        f"{VALUED}|true|spot|on point|bang on|on the mark|hard to|difficult to|a joy",
        rf"(?:{_IT_IS}|(?P<pronoun>{_THIS_IS})) {VERY}{LISTED}(?:{STRONG}|(?!clear\b)(?:{CALM})"
        r"|clear(?! (?:about|in|on|from|with)\b|:)|true(?! (?:of|in|on|only|by)\b)|spot[- ]on|on point"
        r"|bang on|on the right track|on the mark|right on the money|(?:hard|difficult) to (?:fault"
        rf"|argue with|disagree with)|a joy){_PREDICATE_ENDS}",
    ),
    (
        "right|correct|spot",
        rf"\b{_SUBJECT}{_IS} {VERY}(?:right (?:to|in)|(?:right|correct|spot[- ]on) (?:that|about))\b",
    ),
    (
        "true|right|correct",
        r"\bit(?:'s| is) (?:certainly |indeed |quite |absolutely |of course )?(?:true|right|correct) that\b",
    ),
    (
        "right|correct|spot|on to something|a point|taken",
        rf"\byou(?:'re| are| were) {VERY}(?:right|correct|spot[- ]on|on to something"
        r"|on the right track)\b(?!-)(?! (?:there|here|now|where))|\byou(?:'ve| have)(?: got)? a point\b"
        r"|\bpoint(?: \w+){0,4} well[- ]taken\b",
    ),
    (
        "while|although|though|whilst|granted|admittedly",
        rf"^(?:while|although|though|even though|whilst|granted|admittedly),? (?:{_SUBJECT}|it|this"
        rf"|that){_IS} {VERY}(?:{MILD}|{STRONG})\b(?! (?:to|that)\b)",
    ),
    (
        _RIGHTLY,
        rf"\b(?:you|this|it|that|who|{_SUBJECT}|{_OWNER}) (?:has |have )?(?:quite )?(?:{_RIGHTLY}) (?!(?:or"
        r"|and|fails?|ignores?|misses|avoids?)\b)\w+",
    ),
    (
        "well",
        rf"\b(?:{_SUBJECT}|this|you) \w+s? (?:[\w'-]+ ){{0,6}}(?:very |really |quite "
        r"|so )?(?<!as )(?<!may )well(?= ?[.!,;]|$| but\b)",
    ),
    (
        " right",
        rf"\b(?:{_SUBJECT}|it|this|you) (?:clearly |really )?(?:gets?|got) (?:it|this|that|everything|things"
        r"|(?:the|most|a|much|many|several|so|some)(?: [\w-]+){1,4}|much|most|a lot) right\b",
    ),
    (
        "sense",
        r"(?:^|\b(?!only\b)[\w']+ )(?:makes|(?<=you )make|(?<=they )make|(?<=points )make) (?:a lot of "
        r"|perfect |good |complete |total |great |much |excellent |plenty of )?sense\b(?! (?:to (?!me\b|us\b)"
        r"|that|when|where))",
    ),
    (
        "hit|nail|spot|cover|touch|check|tick| out| up|does well|through|going for it|full marks|0/10|5/5|a+",
        r"\bhits? (?:the nail|the mark|the spot)|\bnail(?:s|ed) (?:it|the)\b|\bspot[- ]on\b(?! (?:the|a|an|my"
        r"|your))|\b(?:covers?|touches?|checks?|ticks?) (?:all|most|many|every|the (?=main|key"
        r"|essential))(?: of)?(?: the)?(?: (?:key|main|important|essential|relevant|right))* ?(?:bases"
        r"|points?|ground|aspects|boxes|essentials|notes)\b|\b(?:math|maths|numbers?|logic|sums?|reasoning|arithmetic"
        r"|analysis|argument|figures?|answer|proposal|plan|it|this)(?: here)? (?:checks?|holds?|stacks?"
        rf"|adds?) (?:out|up)(?: well)?(?= ?[.!,;]|$| but)|\b(?:{_SUBJECT}|it|this) does well\b"
        r"|\bthought (?:this|it) through\b|\ba lot going for it\b|\bfull marks\b|^(?:10/10|5/5|100/100|a\+)",
    ),
)
ASSENT = (
    # "I agree", "Agreed.", "I'm fully on board"
    (
        "agree|concur",
        rf"{_I}{_GLADLY}(?:agree|concur)\b(?! (?:to disagree|if|only|were|had))"
        rf"(?! (?:that|with)\b{_ACCUSED})",
    ),
    (
        "agree|seconded",
        rf"^{_OPENER}{VERY}(?:agreed?|100% agree|seconded)(?= ?(?:[.,!;:\u2013\u2014]|- |$)| (?:with|that|on"
        rf"|completely|fully|100%|wholeheartedly)\b)(?! (?:that|with)\b{_ACCUSED})",
    ),
    (
        "endorse|second|support|approve|accept|echo|share",
        rf"{_I}{_GLADLY}(?:endorse|second|support|approve of|accept|echo|share) (?:this|your|it\b|(?:the|its"
        rf"|that|participant [a-z]'s|the author's) {_ELSE}(?:\w+ )?(?:{_ARTIFACT}|plan|view|conclusion"
        r"|premise|position|point|approach)\b)",
    ),
    (
        "agreement|on board|convinced|persuaded|impressed|fan of|with you|grateful|sold",
        r"\b(?:i am|i'm|i was|we are|we're) (?:(?!not|never|hardly"
        r"|less)\w+ ){0,3}?(?:in (?:\w+ ){0,2}?agreement|on board|(?:convinced|persuaded) by (?:the|this"
        r"|your)|impressed|a (?:big |huge )?fan of|with you|grateful|sold)\b",
    ),
    (
        "absolutely|exactly|precisely|correct|true|totally|bingo|amen|ditto|yup|yep|100%|right|sound"
        "|agreement|fair enough|point taken|good call|bang on|lgtm|+1",
        r"^(?:yes,? )?(?:absolutely|exactly|precisely|correct|true|totally|bingo|amen|ditto|yup|yep"
        r"|100%)(?=[!.,]|$| [\u2013\u2014-] )|^(?:exactly|absolutely|completely|totally|quite|entirely"
        r"|perfectly|broadly|largely|mostly|basically|essentially|that's|all|so|very|yes,?) (?:right|correct"
        r"|true|sound)\b(?= ?[!.,]|$)|^in (?:full |complete |broad )?agreement\b|^(?:fair enough|point taken"
        r"|good call|right on|bang on|lgtm)\b|^\+1",
    ),
    (
        VALUED,
        rf"{_I}{_GLADLY}(?:call|consider|find|found|deem|rate|judge|regard|see) (?:this|it"
        rf"|{_SUBJECT}) (?:to be |as )?{VERY}(?:an? )?{VERY}{LISTED}(?:{STRONG}"
        rf"|{CALM})(?: {_FILLER}{_NOUN})?{_PREDICATE_ENDS}",
    ),
)
"""Wordings of agreement."""
_THANKS = (
    # "Thank you for …", "I appreciate", "Love the structure"
    (
        "thank|kudos|bravo|congrat|hats off|chapeau|props to|thumbs up|compliments",
        r"(?:^|[,!] |\b(?:i|we|my|many|with|and|warm|sincere) )(?:thank you"
        r"|thanks)(?: (?!to\b)[\w-]+){0,3}?(?:,|!|\.|$| for| to (?:you|participant|the author|everyone)"
        r"| again)|\b(?:kudos|bravo|congrat\w+|hats off|chapeau|props to|(?:two )?thumbs up|compliments (?:to"
        r"|on|for))\b",
    ),
    (
        "applaud|commend|praise|congratulate|salute|thank",
        rf"{_I}{_POLITELY}(?:applaud|commend|praise|congratulate|salute|thank) (?!nothing|none|no)",
    ),
    (
        "appreciate|admire|enjoy|respect|value|welcome",
        rf"{_I}{_KEENLY}(?:appreciate|admire|enjoy(?:ed)?|respect|value|welcome) (?!to\b|if\b|when\b|none\b"
        r"|nothing\b|no\b|a (?:better|different)\b)",
    ),
    ("love|like", rf"{_I}{_KEENLY}(?:loved?|liked?) (?:this|that|the|your|how|it|its|participant) {_ELSE}"),
    (
        "lov|appreciate|enjoyed|impressed",
        rf"^{VERY}(?:love|loved|loving|appreciate|enjoyed) (?:this|the|how|that|your|it)\b|^impressed (?:by"
        r"|with)\b",
    ),
    # "has real merit", "there is a lot to like", "to its credit"
    (
        _MERIT,
        rf"\b(?:{_SUBJECT}|this|it|that) (?:\w+ )?ha(?:s|ve) (?:(?:some|much|real|clear|obvious|genuine"
        r"|a lot of|great|many|considerable|several|its|undeniable|certain|definite"
        rf"|substantial) ){{0,2}}(?:{_MERIT})\b",
    ),
    (
        _MERIT,
        r"\bdespite (?:its|the|these|this|their|some|many|your)(?: proposal's| answer's"
        r"| response's)? (?:(?:many|obvious|clear|overall|real|evident|considerable|several"
        rf"|other) ){{0,2}}(?:{_MERIT})\b",
    ),
    ("acknowledg", rf"\b(?:by|to|let me|first) acknowledg\w+ (?:[\w'-]+ ){{0,4}}(?:{_MERIT})\b"),
    (
        "like|admire|commend|praise|appreciate|agree with|love",
        r"\bthere(?:'s| is| are)? (?:so |very )?(?:a lot|much|plenty|lots|many things"
        r"|some things) (?:here )?(?:to|i) (?:like|admire|commend|praise|appreciate|agree with|love)\b"
        r"|\bi (?:see|find|found) (?:a lot|much|plenty|lots) (?:here )?to (?:like|admire|commend|praise"
        r"|appreciate|love)\b",
    ),
    (
        "deserve|credit",
        r"\bdeserves? (?:\w+ )?(?:credit|praise|recognition|applause|commendation)\b|\bcredit where\b"
        r"|\bto (?:its|your) credit\b",
    ),
    ("\U0001f44d|\U0001f44f|\U0001f4af|\U0001f64c", r"[\U0001f44d\U0001f44f\U0001f4af\U0001f64c]"),
)
PRAISE = _WORK + ASSENT + _THANKS
"""Wordings of praise, agreement and thanks.

Group `article`: the phrase may be the subject of a rule. Group `pronoun`: its referent is known only if the
text before it mentions nothing else.
"""

CONCEDED = (
    # "I couldn't agree more", "I have no objections", "nothing to add"
    (
        "can't|cannot|couldn't|could not|hardly|hard to|difficult to|struggle to|don't|do not|unable to",
        r"\b(?:can(?:'t|not)|couldn't|could not|can hardly|could hardly|hard to|difficult to|struggle to"
        r"|don't|do not|unable to) (?:possibly |really |easily )?(?:agree more|disagree(?! (?:more|strongly))"
        r"|fault|argue with|object|quarrel with|ask for (?:more|better)|have (?:said|put) it better|improve"
        r" (?:on|upon)|(?:find|see|identify|spot|have) (?:(?:any|a|much|anything|many|fault|single|real|major"
        rf"|serious|significant|obvious|substantive|to) ){{0,3}}(?:{_FAULT}|wrong|disagree|criticize)"
        r"(?= ?(?:[.!,;]|$)| (?:here|in|with|about)\b))\b",
    ),
    (
        "not to|faulted|improved|bettered",
        r"\b(?:hard|difficult) not to (?:agree|admire|like|be impressed)\b|\bcan(?:'t|not) be (?:faulted"
        r"|improved|bettered)\b",
    ),
    ("praise|admiration|respect", r"\b(?:nothing but|only) (?:praise|admiration|respect)\b"),
    (
        "nothing|little|not much|not a lot|no reason",
        r"\b(?:nothing|little|not much|not a lot|no reason)(?: \w+)? (?:to|i(?:'d| would| could"
        r"| can)) (?:\w+ )?(?:add|object|critici[sz]e|challenge|fault|disagree|argue|improve|dispute|change"
        r"|correct|quarrel)\b",
    ),
    (
        "wrong with",
        r"\b(?:nothing|not much|little) (?:is )?wrong with (?:this|it|the (?:answer|proposal|response|plan"
        r"|reasoning))\b",
    ),
    (
        "no |zero |few |little ",
        r"^(?:i (?:can |could )?(?:have|see|find)|i've(?: got)?|there (?:are|is))? ?(?:really "
        r"|absolutely )?(?:no|zero|few|little) (?:(?:major|real|serious|substantive|significant|further|other"
        rf"|strong) )?{_FAULT}(?= ?(?:[.!,;]|$)| (?:here|from me|(?:with|in) (?:this|it|the (?:answer"
        r"|proposal|response|plan|reasoning))|to (?:raise|add|make))\b)",
    ),
    (
        "not only|not just|not merely",
        r"\bnot (?:only|just|merely) (?:(?:is|does|was) (?:this|it|the \w+"
        rf"|your \w+) (?:\w+ ){{0,2}})?{VERY}(?:{STRONG}|{CALM})\b",
    ),
    ("not bad", r"\bnot bad(?: at all)?(?= ?[.!,])"),
)
"""Wordings of praise and agreement with a negation that takes nothing back."""
