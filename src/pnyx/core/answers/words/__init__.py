"""Words of many languages as data. The tables are JSON files, keyed by codes of languages (ISO 639-1).

Those of values:

- `calendar.json`: names of months and weekdays and decimal marks, made from CLDR by
  `python -m tests.core.answers.words.calendar_table`. `dates.json`: words around days, months, years and
  hours, and the languages all of whose countries write the day before the month.
- `truths.json`: yes, no, true and false, and how `conditions` begin. `numbers.json`: 0 to 100, without
  words that mean something else in English. `ordinals.json`: first to tenth or more, nouns that an ordinal
  counts, and `from_cardinals`: endings and what replaces them in the cardinal.
  `bounds.json`: words before and after a number that make it a bound. `scales.json`: what multiplies a
  number, as its power of ten: `apart` from it, or `joined` to it. `unit_names.json`: names of units of
  measure other than English ones. `accents.json`: words that only accents tell from other words.
  `fractions.json`: halves, the nouns of other parts and how languages put them together, also with units.
  `large_numbers.json`: hundreds, thousands and millions. `counts.json`: words that are a number where the
  question asks how many.

- `entities.json`: names of countries, languages and currencies by their codes, made from CLDR by `python -m
  tests.core.answers.words.entity_table`. `aliases.json`: names that CLDR lacks, those of chemical elements
  and of `other` things; `asked` has what is a name only where the question is about its kind. `topics.json`:
  words that say what a question is about. `spellings.json`: how British words start and how American ones do,
  and short forms.

- `amounts.json`: sentences that state one amount. `so`: words that conclude. `verbs`: of amounts. `small`:
  words that say nothing beside an amount. `alters`: words that deny or change it. `and`: words that add to
  it. `unspaced`, `conclusive_unspaced`: the same in scripts without spaces.
- `polar.json`: sentences that answer yes or no. `negations`; `prefixes` that deny a word and `opposites`;
  `others` and `wh`: words of other questions; `small`: words that say nothing; `short`: whether the verb
  alone is an answer, and `hedges` that are none.

- `status_codes.json`: the phrases of HTTP's status codes, in small letters without marks.

- `copulas.json`: words of sentences that state an answer, besides the verbs of `answers.json`. `more`: verbs
  by language. `unspaced`: between a subject and what it is, in scripts without spaces, and `subjects` that
  refer to what was asked. `last`: verbs at the end. `endings`: of a statement. `pronouns`, `articles`: words
  that any subject may have. `joined`: short forms and what they are short for.

Those of questions:

- `requests.json`: what a question asks for. `write` and `texts`: verbs and nouns of texts to be written.
  `programs`: what is written but is no such text. `open`: an opinion, a comparison or reasons. `compound`:
  one part needs the result of another. `measured`: a quantity. A stem ends with a hyphen.
  `orders.json`: words of questions that ask for an order.

Those of replies:

- `answers.json`: the labels of a final answer and the words around its value. `final`: labels that name the
  final answer. `answer`: labels that may name another one too. `leads`: words before a label. `is`: verbs
  after it. `not_but`: pairs of words around a value that is denied, before the right one ("not 5 but 7");
  the first is empty where the language puts both behind it. `deny`: words that deny a value or name several.
  `ends`: what may follow a value in its sentence. `unknown`: sentences that give no answer. `option`: words
  before the letter of an option.
- `no_answers.json`: words in the place of an answer that give none. `unknown`: nothing is known. `vague`:
  what the answer is like, or where it stands. `none`: there is nothing. `words`: of questions that ask for a
  word. `open`: how questions begin that ask for an explanation or a text.
- `languages.json`: `scripts`: blocks of letters with their script, or with their language if only one is
  written in it. `words`: the commonest words of languages that share a script. `questions`: those with which
  short questions are asked.
- `verdicts.json`: the words of votes and verdicts: language -> word of a prompt -> its translations.
- `replies.json`: `declines`: parts of sentences that refuse, with an ellipsis for words between. `padding`:
  parts of the sentences around them. `praise`: what an opening that praises or agrees begins with.
  `contrast`: words of objections. `assent`: praise and agreement at any place. `merits`: all other
  words of replies that only praise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

__all__ = ["UNSPACED", "decimal_marks", "months", "table", "unambiguous", "weekdays"]

UNSPACED = ("zh", "ja", "th", "ko")
"""Languages whose words may follow each other, a number or a label without a space."""


@cache
def table(name: str) -> Any:
    """The content of `name`.json."""
    # `importlib.resources` takes longer to import than all tables together to read.
    loader: Any = __spec__.loader
    return json.loads(loader.get_data(f"{__path__[0]}/{name}.json"))


@cache
def months() -> dict[str, int]:
    """Name of a month in small letters -> its number, without names of two months in two languages."""
    return _numbered("months", 1)


@cache
def weekdays() -> dict[str, int]:
    """Name of a weekday in small letters -> its number, 0 for Monday."""
    return _numbered("weekdays", 0)


@cache
def decimal_marks() -> dict[str, str]:
    """Language -> its decimal mark."""
    return {language: row["decimal"] for language, row in table("calendar").items()}


def _numbered(kind: str, first: int) -> dict[str, int]:
    rows = table("calendar").values()
    return unambiguous(
        (name, n) for row in rows for n, names in enumerate(row[kind], first) for name in names
    )


def unambiguous(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Name -> its number, without names of several numbers."""
    found: dict[str, set[int]] = {}
    for name, number in pairs:
        found.setdefault(name, set()).add(number)
    return {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1}
