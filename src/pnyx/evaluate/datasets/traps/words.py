"""Letters and digits, which models do not see: their tokens are longer."""

from __future__ import annotations

from random import Random

from ..drawing import Draft, Kind

__all__ = ["LETTERS"]

ONES = (
    "", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NAMES_BELOW_100 = [*ONES[1:], *(tens + one for tens in TENS for one in ONES[:10])]
"""The names of the numbers from 1 to 99, without hyphens."""

COUNTED = ("strawberry r", "cranberry r", "mississippi s", "occurrence c", "assassination s", "committee e",
           "parallelogram l", "uncharacteristically c", "bookkeeping o")  # fmt: skip
REVERSED = ("lollipop", "stressed", "reviled", "keyboard", "umbrella", "turquoise", "squirrel")
SENTENCES = (
    "the seventh green tree never bends even when fierce breezes blow between these fences",
    "every evening three elderly geese meet beneath the beech tree near the reservoir",
    "seven clever engineers freed the wheel before the bells were heard here",
)
ORDERS = (
    ("alphabetical order, from A to Z", False),
    ("reverse alphabetical order, from Z to A", True),
)


def _in_a_word(rng: Random) -> Draft:
    word, letter = rng.choice(COUNTED).split()
    return Draft(
        f'How many times does the letter "{letter}" occur in "{word}"? Answer with a number.',
        str(word.count(letter)),
    )


def _in_a_sentence(rng: Random) -> Draft:
    sentence = rng.choice(SENTENCES)
    return Draft(
        f'How many letters "e" are there in "{sentence}"? Answer with a number.', str(sentence.count("e"))
    )


def _backwards(rng: Random) -> Draft:
    word = rng.choice(REVERSED)
    return Draft(f'Write "{word}" backwards. Answer with the letters as one word.', word[::-1])


def _without(rng: Random) -> Draft:
    letter = rng.choice("aeo")
    words = rng.choice(SENTENCES).split()
    return Draft(
        f'How many words of "{" ".join(words)}" do not contain the letter "{letter}"? Answer with a number.',
        str(sum(letter not in word for word in words)),
    )


def _in_order(rng: Random) -> Draft:
    way, backwards = rng.choice(ORDERS)
    found = [
        number
        for number, name in enumerate(NAMES_BELOW_100, 1)
        if list(name) == sorted(name, reverse=backwards)
    ]
    (number,) = found
    return Draft(
        f"Of the whole numbers from 1 to 99, just one has an English name whose letters stand in {way}. "
        "Which number is it? Answer in digits.",
        str(number),
    )


def _digits(rng: Random) -> Draft:
    digit, last = rng.randint(1, 9), 100 * rng.randint(1, 5)
    return Draft(
        f"All whole numbers from 1 to {last} are written down, one after another. "
        f"How many times is the digit {digit} written? Answer with a number.",
        str(sum(str(number).count(str(digit)) for number in range(1, last + 1))),
    )


LETTERS: tuple[Kind, ...] = (_in_a_word, _in_a_sentence, _backwards, _without, _in_order, _digits)
