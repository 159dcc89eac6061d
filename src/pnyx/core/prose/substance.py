"""Whether a text says anything: not blank, not one phrase over and over, not a verdict without a reason."""

from __future__ import annotations

from math import sqrt

from ..caching.regex import regex
from ..caching.remembering import remembered
from .convergence import words

__all__ = ["is_rubbish", "is_substantive", "names_something"]

LOOP_WORDS = 20
"""A text with fewer words is too short to be called a loop. Numbers do not count: they may repeat."""
LOOP_VARIETY = 1.2
"""A text with fewer different words than this times the root of all (Guiraud's index) repeats itself. Of
12,285 recorded replies of models of 0.1 to 1.5 billion parameters, 6 % are below it and half above 3.4."""
LEAST_WORDS, LEAST_SHARE = 2, 0.1
"""A critique names something if so many different words, and this share of all, are not in `BARE`."""

_SAYING = regex(r"[^\s.\u2026\u3002!?\uff01\uff1f,;:_*#\-\u2013\u2014\u200b-\u200f\ufeff]")
_DIGIT = regex(r"\d")
_BARE = """
a about actually again all also am an and answer answers are argument as at be because been but by can
can't cannot case certainly challenge claim claims clearly completely conclusion correct could critique
decision definitely did disagree disagreement do does doesn't don't entirely error errors even everything
false final fix flaw flawed for from fundamental fundamentally good has have he here however i i'm if in
incorrect into invalid is isn't issue issues it it's its just likely maybe me mistake mistaken mistakes
more most much my no not nothing of on one only or our part perhaps point probably problem problems
proposal proposed question really reason reasoning reconsidered rejected response right s same see should
simply so solution some statement strongly t text than that that's the their them then there there's
these they thing things this those to totally true unsound untrue valid very was we were what when which
why will with won't would wrong wrongly you your
"""
TRUTH = frozenset(("yes", "no", "true", "false"))
BARE = frozenset(_BARE.split())
"""English words that state a verdict, or nothing. Text in other languages has none of them, and is not judged
by this list."""


@remembered
def is_rubbish(text: str) -> bool:
    """Whether `text` has nothing but blanks and punctuation, or repeats the same few words.

    Quotes are not punctuation here: a literal such as `""` is an answer.
    """
    if not _SAYING.search(text):
        return True
    every = [word for word in words(text) if word.isalpha() or not _DIGIT.search(word)]
    return len(every) >= LOOP_WORDS and len(set(every)) < LOOP_VARIETY * sqrt(len(every))


def names_something(short: str) -> bool:
    """Whether a short answer is one: more than a word of a verdict, or yes, no, true or false."""
    named = words(short)
    return not named or bool(set(named) - BARE or set(named) & TRUTH)


@remembered
def is_substantive(critique: str, besides: str = "") -> bool:
    """Whether a critique says more than its verdict: it names a number, or something other than `BARE`.

    besides: text whose words count for nothing, such as the answer that it only repeats.

    "The answer is wrong about." and "I disagree." say nothing that could be answered.
    """
    if is_rubbish(critique):
        return False
    every = words(critique)
    named = set(every) - BARE - set(words(besides))
    least = 1 if any(_DIGIT.search(word) for word in named) else LEAST_WORDS
    return len(named) >= max(least, LEAST_SHARE * len(every))
