"""Letters of options: one, several in any order, or one with its text."""

from __future__ import annotations

import re

from ...caching.regex import regex
from ..language.folding import fold_words, items_of, strip_edges

__all__ = ["folded_option", "letters_of"]

_LETTER = regex(
    r"(?:(?:(?:the )?(?:correct |right |final )?(?:answer|option|choice) is )?(?:option|choice|answer"
    r"|alternative|letter|antwort|opción|opção|opzione|respuesta|réponse|resposta|risposta|letra|alternativa|lettera|lettre|optie|odpowiedź|вариант|ответ)\s+|(?:选项|選項|选|選|答案|보기)\s*"
    r"|(?:the )?(?:correct |right |final )?(?:answer|option|choice) is )?[(\[]?([A-Z])(?:[)\]][.:]?|[.:])?"
    r"|(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])\)|(?:option|choice)\s+\(?([A-Z])\)?(?:\s*[.:,]|\s+-))"
    r"(?!\s*(?:(?:and|or)\b|[,&]|\(?[A-Z]\))).+",
    re.IGNORECASE,
)
_LETTERS = regex(
    r"(?P<opens>[{\[(]?)\s*\(?[A-Z]\)?(?:(?:\s*[,;&、，]\s*|\s+)(?:(?:and|und|et|y|e|и|和|と)\s+)?\(?[A-Z]\)?)+\s*[}\])]?",
    re.IGNORECASE,
)
_OPTIONS = regex(r"^(?:options|choices|answers|both)\s+(?=[(A-Z])|\s+only$", re.IGNORECASE)
_AND = regex(r"\s(?:and|und|et|y|e|и)\s", re.IGNORECASE)
_LETTER_ALONE = regex(r"(?<![^\W\d_])[A-Z](?![^\W\d_])", re.IGNORECASE)
_ANY_LETTER = regex(r"[(\[]?([^\W\d_])[)\].:]*")
_CYRILLIC = regex(r"(?:(?:вариант|ответ|буква)\s+)?[(\[]?([А-Е])(?:[)\].:]+\s.+|[)\].:]*)", re.IGNORECASE)
_NAMES = (
    r"option|opción|opção|opzione|optie|réponse|respuesta|resposta|risposta|alternativa|letra|lettre|antwort"
    r"|aussage"
)
_ARTICLES = r"(?:la |le |el |a |o |l['’]|die |de )"
_WITH_ARTICLE = regex(rf"{_ARTICLES}(?:(?i:{_NAMES}) )?([A-H])\)?|([A-H]) ?(?:şıkkı(?:dır)?|项|選項|选项|번)")
_NAMED = regex(rf"{_ARTICLES}(?:(?:{_NAMES}) )?\(?([a-z])\)?|(?:{_NAMES}) \(?([a-z])\)?", 2)
_STATEMENT = regex(r"I(?: only)?")
"""Statement I, where the options end before the letter I."""
_RUN_OF_ONE = regex(r"[A-Za-z]")
_RUN = regex(r"[A-Z]{2,6}")


def letters_of(text: str, letters: str, *, ordered: bool) -> str | None:
    """The letters of the options that `text` names, in capitals: `B`, or `A, C` for several; else None.

    Several are in alphabetical order, unless `ordered`. letters: those of the question's options, if they are
    known: then `AC` names two of them.
    """
    if letters and "I" not in letters and _STATEMENT.fullmatch(text):
        return None
    text = _OPTIONS.sub("", text)
    if letters and (match := _ANY_LETTER.fullmatch(text)) and match[1].upper() in letters:
        return match[1].upper()
    if letters and (match := _CYRILLIC.fullmatch(text)) and match[1].upper() in letters:
        return match[1].upper()
    if match := _WITH_ARTICLE.fullmatch(text):
        return str(match[1] or match[2])
    if letters and (match := _NAMED.fullmatch(text)) and (match[1] or match[2]).upper() in letters:
        return str(match[1] or match[2]).upper()
    if ordered and len(items := items_of(text, ordered=True)) > 1 and all(map(_RUN_OF_ONE.fullmatch, items)):
        return ", ".join(item.upper() for item in items)
    if match := _LETTER.fullmatch(text):
        return str(next(filter(None, match.groups()))).upper()
    several = _LETTERS.fullmatch(text)
    if several and (several["opens"] not in ("(", "[") or text.upper() == text or text.count("(") > 1):
        found = [letter.upper() for letter in _LETTER_ALONE.findall(_AND.sub(", ", text))]
    elif letters and _RUN.fullmatch(text) and set(text) <= set(letters):
        found = list(text)
    else:
        return None
    unique = list(dict.fromkeys(found))
    return ", ".join(unique if ordered else sorted(unique))


def folded_option(text: str) -> str:
    """The text of an option in one form: `only I` for `I only`, `I and II` for `both I and II`."""
    folded = fold_words(strip_edges(text)).removeprefix("both ")
    return f"only {folded.removesuffix(' only')}" if folded.endswith(" only") else folded
