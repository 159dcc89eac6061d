"""Whether an answer writes out the options of the question that another one names by their letters."""

from __future__ import annotations

from collections.abc import Callable

from ...caching.regex import regex
from ..language.folding import fold_words, items_of
from ..reading.hints import NO_HINTS, Hints
from ..reading.options import folded_option
from ..reading.parse import Answer, read

__all__ = ["is_mislabelled", "label_matches", "names_options", "option_of"]

Same = Callable[[Answer, Answer, Hints], bool]


def label_matches(one: Answer, two: Answer) -> bool:
    """Whether `one` is an option with its text, and `two` its letter."""
    return two.kind == "option" and one.label == two.text and not _FURTHER.search(one.written)


_FURTHER = regex(r"[,;&] ?(?:and )?[(\[]?[A-Z][)\].:]\s")
"""The letter of one more option: `A. Whale, C. Bat` is not A."""


def names_options(one: Answer, two: Answer, hints: Hints, same: Same) -> bool:
    """Whether `one` is the letter of the question's option that `two` writes out, or several."""
    if one.kind != "option" or two.kind == "option" or not hints.options:
        return False
    letters = one.text.split(", ")
    items = [two.written] if len(letters) == 1 else list(items_of(two.written))
    return sorted(letters) == sorted(option_of(item, hints, same) for item in items)


def is_mislabelled(text: str, hints: Hints) -> bool:
    """Whether `text` gives the letter of one option and the text of another: `(A) 34` where B is 34."""
    labelled, options = _OPTION_LABEL.match(text), dict(hints.options)
    if labelled is None or labelled["letter"] not in options:
        return False
    rest = folded_option(text[labelled.end() :])
    own = folded_option(options[labelled["letter"]])
    return rest != own and rest in map(folded_option, options.values())


def option_of(text: str, hints: Hints, same: Same) -> str:
    """The letter of the option that `text` names; empty if it names none, or several."""
    if _FURTHER.search(text):
        return ""
    answer = read(text)
    if (behind := _LETTER_BEHIND.fullmatch(text)) and same(
        read(behind[1]), read(dict(hints.options).get(behind[2], "")), NO_HINTS
    ):
        return behind[2]
    if labelled := _OPTION_LABEL.match(text):
        text = text[labelled.end() :]
    found = [
        letter
        for letter, option in hints.options
        if answer.label == letter or answer.text == letter or same(read(option), answer, NO_HINTS)
    ]
    folded = folded_option(text)
    if not found:
        found = [letter for letter, option in hints.options if folded_option(option) == folded]
    if not found and folded in ("both", "all", "none", "neither"):
        # `both` is the only option that begins so.
        found = [letter for letter, option in hints.options if fold_words(option).startswith(f"{folded} ")]
    if labelled and found != [labelled["letter"]] and labelled["letter"] in dict(hints.options):
        return ""  # a letter with the text of another option
    return found[0] if len(found) == 1 else ""


_LETTER_BEHIND = regex(r"(\S.{0,60}?)\s*[(\[]([A-Z])[)\]]")
_OPTION_LABEL = regex(r"[(\[]?(?P<letter>[A-ZА-Я])[)\].:]+\s")
