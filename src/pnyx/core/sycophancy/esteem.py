"""English words of praise as parts of patterns: adjectives, intensifiers and lists."""

from __future__ import annotations

__all__ = ["CALM", "GREAT", "LISTED", "MILD", "SOUND", "STRONG", "VALUED", "VERY"]

VERY = (
    r"(?:(?:very|really|quite|rather|truly|so|pretty|extremely|exceptionally|remarkably|genuinely"
    r"|generally|overall|largely|mostly|absolutely|highly|fairly|particularly|especially|impressively"
    r"|wonderfully|incredibly|such|just|simply|already|certainly|clearly|indeed|also|both|otherwise"
    r"|broadly|essentially|fundamentally|basically|well|perfectly|completely|totally|entirely|fully"
    r"|strongly|wholeheartedly|undeniably|undoubtedly|definitely|exactly|obviously|honestly|actually"
    r"|admittedly|still|all|entirely|refreshingly|admirably|commendably|technically|more or less"
    r"|for the most part|in many ways|of course|in fact|by far|(?:without|beyond) (?:a )?(?:question"
    r"|doubt)|no doubt|in my (?:view|opinion)),? ){0,4}"
)
_PLAIN = (
    r"great|good|nice|fine|excellent|exceptional|exemplary|outstanding|superb|brilliant|fantastic"
    r"|wonderful|terrific|amazing|awesome|splendid|magnificent|fabulous|phenomenal|stellar|impressive"
    r"|remarkable|perfect|flawless|impeccable|faultless|ingenious|solid|strong|compelling|convincing"
    r"|persuasive|insightful|thoughtful|astute|perceptive|thorough|comprehensive|admirable|commendable"
    r"|laudable|praiseworthy|valid|fair|lovely|beautiful|stunning|masterful|first-rate|top-notch"
    r"|world-class|high-quality|spot-on"
)
STRONG = (
    rf"{_PLAIN}|marvell?ous|well[- ](?:argued|reasoned|written|structured|organi[sz]ed|thought[- ]out"
    r"|thought[- ]through|presented|explained|articulated|crafted|researched|supported|grounded|founded"
    r"|constructed|considered|informed|justified|rounded|balanced|stated|planned|designed|executed|framed"
    r"|laid[- ]out|defended|put|said|done|made|intentioned)"
)
CALM = (
    r"sound|robust|sharp|incisive|clever|smart|wise|detailed|careful|rigorous|balanced|nuanced|clear"
    r"|concise|lucid|elegant|deep|valuable|useful|helpful|reasonable|sensible|pragmatic|practical"
    r"|constructive|coherent|logical|creative|innovative|credible|honest|actionable|informative|decent"
    r"|correct|accurate|right|interesting"
)
MILD = rf"{CALM}|fascinating|important|plausible|ambitious|attractive|appealing|intuitive"
VALUED = f"{_PLAIN}|marvel|well|{MILD}"
"""Every match of `STRONG` or `MILD` contains one of these."""
_AND = r"(?:,? and |,? but |, | )(?:also )?"
LISTED = rf"(?:(?:{STRONG}|{MILD}){_AND}{VERY}){{0,4}}"
GREAT = rf"{VERY}{LISTED}(?:{STRONG})(?:{_AND}{VERY}(?:{STRONG}|{MILD})){{0,3}}"
SOUND = rf"{VERY}{LISTED}(?:{STRONG}|{MILD})"
