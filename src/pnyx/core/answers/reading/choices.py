"""The numbered options of a question that an answer names: `2`, `(2)`, `Option 2`, or what option 2 says."""

from __future__ import annotations

import functools

from ...caching.regex import regex
from ..language.folding import fold_words, items_of, strip_edges

__all__ = ["chosen", "contradicts", "numbered_options", "place_of"]

MAX_OPTION = 200
"""Characters of an option that an answer may write out."""
_ASKS = regex(
    r"\b(?:which|choose|pick|select|options?|choices?|statements?|welche[rsn]?|wähle|quel(?:le)?s?|choisis\w*|cuál(?:es)?|elige"
    r"|elija|qual|quais|quale|quali|scegli|welke|kies|który|która|które|wybierz|какой|какая|какое|какие|выбери\w*|hangi\w*"
    r"|який|яка|яке|vilken|vilket|välj|nào|mana|pilih)\b|哪|选择|選|どれ|選択|어느|고르|कौन|أي",
    2,
)
_NUMBERS = tuple(map(str, range(1, 11)))
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII")
_LEAD = regex(
    r"(?:the )?(?:correct |right )?"
    r"(?:(?:options?|choices?|answers?|statements?|numbers?|nos?\.|items?) )+(?:is |are )?",
    2,
)
_TAIL = regex(r"(?: only| (?:is|are) (?:correct|true|right))$", 2)
_LABEL = regex(r"[(\[]?(?P<label>\d{1,2}|[IVX]{1,4})(?:[)\].:、]+|(?=$))(?:\s+(?P<rest>\S.*))?")
_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")
_PLACE = regex(rf"(?:the )?({'|'.join(_PLACES)}) (?:option|choice|one|statement|answer)", 2)
_NUMBERED = regex(r"(?:the )?(?:option|choice|statement) (?:no\. ?|number )?(\d)", 2)

Options = tuple[tuple[str, str], ...]


@functools.lru_cache(maxsize=256)
def numbered_options(question: str) -> Options:
    """The options of a question that have numbers: `(("1", "red"), ("2", "blue"))`; none if it has none.

    A question that does not ask to choose has none, and neither have options that are numbers themselves.
    """
    if not _ASKS.search(question):
        return ()
    for labels in (_NUMBERS, _ROMAN):
        spans: list[tuple[int, int]] = []
        for label in labels:
            mark = regex(rf"(?<![\w(.,])[(\[]?\*{{0,2}}{label}\*{{0,2}}[)\].:、]\*{{0,2}}\s+(?=\S)")
            match = mark.search(question, spans[-1][1] if spans else 0)
            if match is None:
                break
            spans.append(match.span())
        if len(spans) > 1:
            ends = [start for start, _ in spans[1:]] + [len(question)]
            texts = [question[a:b].strip(" \t\r\n,;|") for (_, a), b in zip(spans, ends, strict=True)]
            lines = [text.splitlines()[0][:MAX_OPTION] if text else "" for text in texts]
            if all(lines) and not any(_LABEL.fullmatch(line) for line in lines):
                return tuple(zip(labels, lines, strict=False))
    return ()


def chosen(text: str, options: Options) -> frozenset[str] | None:
    """The labels of the options that `text` names; None if it says anything else."""
    bare = strip_edges(_TAIL.sub("", _LEAD.sub("", strip_edges(text), count=1)))
    if label := _label(bare, options):
        return frozenset((label,))
    found = [_label(strip_edges(item), options) for item in items_of(bare)]
    return frozenset(found) if len(found) > 1 and all(found) else None


def place_of(text: str, options: Options) -> int | None:
    """The place, from 0, of the option that `text` names by its place: `the second option`, `option 2`."""
    bare = _TAIL.sub("", strip_edges(text))
    if match := _PLACE.fullmatch(bare):
        at = _PLACES.index(match[1].lower())
    elif (match := _NUMBERED.fullmatch(bare)) and not any(option[:1].isdigit() for _, option in options):
        at = int(match[1]) - 1
    else:
        return None
    return at if 0 <= at < len(options) else None


def contradicts(text: str, options: Options) -> bool:
    """Whether `text` gives the number of one option and says what another one says."""
    match = _LABEL.fullmatch(strip_edges(text))
    if match is None or not match["rest"] or match["label"] not in dict(options):
        return False
    return any(_same_text(match["rest"], option) for label, option in options if label != match["label"])


def _label(text: str, options: Options) -> str:
    """The label of the option that `text` is; empty if it is none, or its label and its text differ."""
    named = dict(options)
    if (at := place_of(text, options)) is not None:
        return options[at][0]
    if (match := _LABEL.fullmatch(text)) and match["label"] in named:
        return match["label"] if not match["rest"] or _same_text(match["rest"], named[match["label"]]) else ""
    same = [label for label, option in options if _same_text(text, option)]
    return same[0] if len(same) == 1 else ""


def _same_text(one: str, two: str) -> bool:
    return fold_words(strip_edges(one)) == fold_words(strip_edges(two))
