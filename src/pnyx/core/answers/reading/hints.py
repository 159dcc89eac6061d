"""What a question says about how its answers read: the decimal mark, percent, options, an order."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from ...caching.regex import regex
from ...prose.language import language_of
from ..numbers.units import NONE, Unit, read_unit
from ..words import UNSPACED, decimal_marks, table
from .choices import numbered_options

__all__ = ["NO_HINTS", "Hints", "ends_of", "hints_of", "question_unit"]

_CHARS = 20_000
"""Characters of a question that are searched: those at its start and its end, half each."""


@dataclass(frozen=True, slots=True, eq=False)  # a question has one; its fields would be hashed at each read
class Hints:
    """What a question tells about the notation of its answers; each field is empty or False if it does not.

    language: two-letter code of its language, as far as its script and its commonest words show. decimal:
    the decimal mark of its own numbers, else of its language: `.` or `,`. percent: it asks for percent, so
    that `50` equals `50%`. ordered: the order of a list counts. truth: it does not ask for what a program
    gives, so that `true` equals `yes`. bases: number bases that it names. exact: it asks for a code, an
    identifier or a version, where leading and trailing zeros count. options: its options in order, their
    letters first: `("A", "Paris")`. unit: the unit of measure that it asks for. ratio: it asks for a ratio,
    so that `3:2` equals `6:4`. day_first: its language writes the day before the month: `03/05/2024`.
    counted: it asks how many, so that `none` is 0. true_or_false: it asks for one of the two, so that `F` is
    false.
    factored, expanded: it asks for an expression in this form, so that its value alone is not enough.
    printed: it asks what code prints, so that case counts. verbatim: it asks for exactly what is printed.
    topics: what it is about, of `words/topics.json`, so that codes and symbols name things, and the last name
    of a person does.
    numbered: its options that have numbers instead of letters: `("1", "Paris")`.
    """

    language: str = ""
    decimal: str = ""
    percent: bool = False
    ordered: bool = False
    truth: bool = False
    bases: tuple[int, ...] = ()
    exact: bool = False
    options: tuple[tuple[str, str], ...] = ()
    unit: Unit = NONE
    ratio: bool = False
    day_first: bool = False
    counted: bool = False
    true_or_false: bool = False
    factored: bool = False
    expanded: bool = False
    printed: bool = False
    verbatim: bool = False
    topics: frozenset[str] = frozenset()
    numbered: tuple[tuple[str, str], ...] = ()


NO_HINTS = Hints()


def ends_of(question: str) -> str:
    """The start and the end of a long question, which say what is asked about the document between them."""
    if len(question) <= _CHARS:
        return question
    return f"{question[: _CHARS // 2]}\n{question[-_CHARS // 2 :]}"


def hints_of(question: str | None) -> Hints:
    """The hints in `question`; none without one."""
    return _hints_of(ends_of(question or ""))


@functools.lru_cache(maxsize=256)
def _hints_of(text: str) -> Hints:
    if not text.strip():
        return NO_HINTS
    language = language_of(text)
    return Hints(
        language=language,
        decimal=_decimal(text, language),
        percent=bool(_PERCENT.search(text)),
        ordered=_asks_for_order(text, language),
        truth=not _PROGRAM.search(text),
        bases=_bases(text),
        exact=_asks_for_code(text),
        options=_options(text),
        unit=question_unit(text) or NONE,
        ratio=bool(_RATIO.search(text)),
        day_first=language in table("dates")["day_first"],
        counted=_asks_for_number(text, language),
        true_or_false=bool(_TRUE_OR_FALSE.search(text)),
        factored=bool(_FACTORED.search(text)),
        expanded=bool(_EXPANDED.search(text)),
        printed=bool(_PRINTED.search(text)),
        verbatim=bool(_VERBATIM.search(text)) and not _COUNTED.search(text),
        topics=_topics(text, language),
        numbered=numbered_options(text),
    )


def _decimal(text: str, language: str) -> str:
    """The decimal mark of the numbers in the question, else that of its language."""
    found = {match[0].strip("0123456789") for match in _DECIMALS.finditer(text)}
    if len(found) == 1:
        return found.pop()
    return decimal_marks().get(language, "")


_TOPIC_WORD = regex(r"[^\W\d_][^\s\d!-&(-/:-@\[-`{-~،؟।]*")


def _topics(text: str, language: str) -> frozenset[str]:
    """What a question is about, by words of its language, or English ones if that is not known."""
    language = language or "en"
    words = f" {' '.join(_TOPIC_WORD.findall(text.casefold()))} "
    return frozenset(
        topic
        for topic, terms in table("topics").items()
        if any(
            term in words if language in UNSPACED else f" {term} " in words
            for term in terms.get(language, ())
        )
    )


_DECIMALS = regex(r"(?<![\d.,])\d+[.,](?:\d{1,2}|\d{4,})(?![\d.,]*\d)")
_RATIO = regex(
    r"\b(?:ratio|verhältnis|rapport|razón|proporção|rapporto|odds|proportion)\b|比例|比", re.IGNORECASE
)
_PROGRAM = regex(
    r"\w\([^()\n]{0,80}\)[^.?!\n]{0,20}\b(?:returns?|evaluates?|outputs?|gives?|yields?|shows?)\b"
    r"|\w\([\[{'\"]"
    r"|\b(?:does|will|would) (?:`[^`\n]{1,60}`|[\w.]+(?:\([^()\n]{0,60}\))?) (?:return|evaluate to)\b"
    r"|\breturn value\b|\b(?:function|program"
    r"|this code|provided code|snippet|expression|prints?|printed|output|Python)\b"
)


def _asks_for_number(text: str, language: str) -> bool:
    folded = text.casefold()
    words = table("counts")["asked"]
    # Where the language is not known, long words tell.
    asked = words.get(language) or [word for rows in words.values() for word in rows if len(word) > 4]
    return any(word in folded for word in asked)


_TRUE_OR_FALSE = regex(r"\btrue or false\b|\btrue/false\b|\bT or F\b", 2)
_FACTORED = regex(
    r"(?:^|[.:;?!]\s+|\bplease )factor(?:i[sz]e)?\b(?! of\b)"
    r"|\bfactor(?:i[sz]e)? (?:completely|fully)\b"
    r"|\bfactor(?:i[sz]e)? the (?:\w+ )?(?:expression|polynomial|quadratic|trinomial|binomial)\b"
    r"|\b(?:fully|completely) factor(?:i[sz])?ed\b|\bfactor(?:i[sz])?ed (?:form|completely|fully)\b",
    2,
)
_EXPANDED = regex(
    r"(?:^|[.:;?!]\s+|\bplease )expand\b|\bexpand (?:and simplify|the (?:\w+ )?(?:expression|product))\b"
    r"|\bexpanded form\b",
    2,
)
_PRINTED = regex(
    r"\bname of (?:the|this|a) (?:[^\W\d]+ )?(?:class|function|method|variable|module|package"
    r"|attribute|keyword)\b|"
    r"```|\b(?i:password|passphrase|passcode|api key|access key|case[- ]sensitive)\b"
    r"|\b(?:prints?|printed|printf|println|stdout|console\.log"
    r"|output of (?:this|the)(?: [^\W\d]+)? (?:code|program|script|snippet|function|command))\b"
)
_VERBATIM = regex(
    r"\bwhat (?:exactly )?(?:does|do|will|would|is|gets?|exactly) (?:[^.?!]{0,60} )?(?:prints?|printed"
    r"|output)\b"
    r"|\b(?:exact|precise|verbatim|standard|console) output\b|\bstdout\b"
    r"|\boutput of (?:this|the)(?: [^\W\d]+){0,2} (?:code|program|script|snippet|command)\b"
    r"|\bwas gibt [^.?!]{1,60}\baus\b|\bwas wird (?:hier )?ausgegeben"
    r"|\bqu['’]?(?:affiche|imprime|est-ce qu[^.?!]{1,40} affiche)\b"
    r"|\bque (?:affiche|imprime|muestra)\b|\bqué (?:imprime|muestra)\b|\b(?:che )?cosa stampa\b"
    r"|\bo que (?:imprime|exibe)\b"
    r"|\bчто (?:выведет|выводит|напечатает|печатает)\b|(?:输出|打印)(?:什么|的是)|何(?:が|を)(?:出力|表示)",
    2,
)
_COUNTED = regex(r"\bhow (?:many|much|often|long)\b|\bnumber of\b", 2)


def _asks_for_order(text: str, language: str) -> bool:
    if _ORDERED.search(_FIRST_PERSONS.sub("", text)):
        return True
    folded = text.casefold()
    return any(word in folded for word in table("orders").get(language, ()))


def _asks_for_code(text: str) -> bool:
    """Whether the answer is a code or a version, in which zeros count. A number of codes is none."""
    if _COUNTED.search(text) or not (found := _EXACT.search(text)):
        return False
    return found[0].casefold() in ("version", "release") or not _PROGRAM.search(text)


_PERCENT = regex(
    r"\b(?:what|which|how many|in|as a|the|find|by what) (?:[^\W\d]+ ){0,2}?(?:percent|percentage)\b"
    r"|\bpercentage (?:of|change|increase|decrease)\b|\bper cent\b"
    r"|\b(?:wie ?viele? prozent|quel pourcentage|qué porcentaje|que porcentagem|che percentuale"
    r"|сколько процентов|какой процент)\b|百分之几|百分比|何パーセント|몇 ?퍼센트|प्रतिशत"
    r"|(?:in|à|als|en|em) (?:%|prozent|pour cent|por ciento|por cento)",
    re.IGNORECASE,
)
_FIRST_PERSONS = regex(r"\bwho (?:were|are) the first (?=(?:two|three|four|five|six|\d+) )", 2)
"""Of the first two people, none comes first."""
_ORDERED = regex(
    r"\b(?:order|first|ascending|descending|ordered (?:pair|triple|quadruple)s?"
    r"|sort(?:ed|s|ing)?|rank(?:ed|s|ing)?|sequence|chronological(?:ly)?|alphabetical(?:ly)?|respectively"
    r"|coordinates?|vectors?|permutation)\b"
    r"|\bfrom (?:the )?"
    r"(?:[^\W\d_]{2,20}est|least|most|best|worst|first|early|late|low|high|small|large|big)\b"
    r"[^.?!\n]{0,40}? to (?:the )?"
    r"(?:[^\W\d_]{2,20}est|most|least|best|worst|last|late|early|high|low|large|small|big)\b",
    re.IGNORECASE,
)
_BASE = regex(
    r"\bbase[\s$-]+\{?(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen)\b"
    r"|\b(binary|octal|decimal|hexadecimal|ternary)\b|_\{?(\d{1,2})\}?",
    re.IGNORECASE,
)
_BASE_NAMES = {
    "binary": 2, "ternary": 3, "octal": 8, "decimal": 10, "hexadecimal": 16,
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "sixteen": 16,
}  # fmt: skip
_EXACT = regex(
    r"\b(?:version|release|codes?|zip code|postal code|postcode|pin|phone number|area code|serial number"
    r"|identifier|isbn|barcode|passcode|password|regex|command|file ?name|(?:environment )?variable)\b",
    re.IGNORECASE,
)


def _bases(text: str) -> tuple[int, ...]:
    found = {
        _BASE_NAMES.get(name) or int(name)
        for match in _BASE.finditer(text)
        if (name := next(filter(None, match.groups())).lower())
    }
    return tuple(sorted(base for base in found if 2 <= base <= 36))


_LETTERS = ("ABCDEFGHIJ", "abcdefghij", "АБВГДЕЖ", "абвгдеж")
MAX_OPTION = 200
"""Characters of an option that an answer may write out."""


def _options(text: str) -> tuple[tuple[str, str], ...]:
    """The options that follow each other with their letters, on lines of their own or on one: `A) … B) …`."""
    for letters in _LETTERS:
        starts: list[tuple[int, int]] = []
        for letter in letters:
            mark = re.compile(rf"(?<![\w(])[(\[]?\*{{0,2}}{letter}\*{{0,2}}[)\].:、．]\*{{0,2}}(?!\w\.)\s*")
            match = mark.search(text, starts[-1][1] if starts else 0)
            if match is None:
                break
            starts.append(match.span())
        if len(starts) > 1:
            ends = [start for start, _ in starts[1:]] + [len(text)]
            texts = [text[a:b].strip(" \t\r\n,;.|") for (_, a), b in zip(starts, ends, strict=True)]
            return tuple(
                (letter.upper(), option.splitlines()[0][:MAX_OPTION])
                for letter, option in zip(letters, texts, strict=False)
                if option
            )
    return ()


_WORDS = r"(?P<words>(?:°[CF]\b|[a-zμ°$€£/]+)(?:\s+[a-z/]+){0,3})"
_FOREIGN = r"(?P<words>[^\W\d_]+(?:(?:/|\s+)[^\W\d_]+)?)"
_HOW_MANY = (
    regex(rf"\b(?i:how many)\s+{_WORDS}"),
    regex(
        r"\b(?i:wie ?viele?|combien d[e'’]|cuánt[ao]s|quant[aeio]s?|hoeveel|ile|сколько|скільки|hur många|kaç"
        rf"|berapa)\s*{_FOREIGN}"
    ),
    regex(r"(?:多少|几|幾|何|몇)\s*(?P<words>[\u3040-\u9fff\uac00-\ud7af]{1,2})"),
)
_IN = (
    regex(rf"\b(?i:in|to|into)\s+(?!second\b){_WORDS}"),
    regex(rf"\b(?:in|In|en|En|em|Em|à|в|у|i|w)\s+(?!(?:second[eo]?|segundo)\b){_FOREIGN}"),
    regex(r"\b(?P<words>[^\W\d_]{1,20}) (?:cinsinden|में)"),
)
"""How many of a unit are asked for, and in which unit, in English, in other languages, and without spaces.
Who came in second place does not ask for seconds."""
_SYMBOLS = frozenset("mghsL")
"""The units of one letter that questions use. In others, `a` is an article and not the ampere."""


@functools.lru_cache(256)
def question_unit(question: str) -> Unit | None:
    """The unit that the question asks for; None if it names none, or several."""
    # `How many` takes precedence over `in`: `How many cars in ten minutes?` does not ask for minutes.
    if _HOW_MANY[0].search(question):
        matches = list(_HOW_MANY[0].finditer(question))
    else:
        matches = _matches(_HOW_MANY[1:], question) or _matches(_IN, question)
    found = {unit for match in matches if (unit := _named_unit(match["words"].split()))}
    return found.pop() if len(found) == 1 else None


def _matches(forms: tuple[re.Pattern[str], ...], question: str) -> list[re.Match[str]]:
    """The matches of the first form that has any which names a unit."""
    each = ([m for m in form.finditer(question) if _named_unit(m["words"].split())] for form in forms)
    return next(filter(None, each), [])


def _named_unit(words: list[str]) -> Unit | None:
    """The unit that the longest run of words from the start names; None if there is none."""
    if len(words[0]) == 1 and words[0] not in _SYMBOLS:
        return None
    named = (read_unit(" ".join(words[:count]), counted=False) for count in range(len(words), 0, -1))
    return next((unit for unit in named if unit), None)
