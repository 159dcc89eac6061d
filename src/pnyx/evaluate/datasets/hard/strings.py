"""Letters to count, to move and to compare in long texts."""

from __future__ import annotations

import string
from random import Random

from ..drawing import Draft, Kind

__all__ = ["STRINGS"]

WORDS = (
    "abandon", "absence", "adapter", "balance", "bandage", "cabinet", "caravan", "cascade", "decade",
    "defence", "elegance", "embassy", "fabric", "fallacy", "garage", "general", "harvest", "heritage",
    "imagine", "integer", "javelin", "journey", "kitchen", "lantern", "lattice", "machine", "mandate",
    "narrate", "network", "obstacle", "package", "parade", "quarrel", "radiate", "reserve", "saffron",
    "seaweed", "tangent", "terrace", "umbrella", "vacancy", "venture", "warrant", "weather", "yesterday",
    "zealous",
)  # fmt: skip


def _count(rng: Random) -> Draft:
    words, letter = rng.sample(WORDS, 24), rng.choice("aern")
    text = " ".join(words)
    return Draft(
        f'How many times does the letter "{letter}" occur in this text? Answer with a number.\n\n{text}',
        str(text.count(letter)),
    )


def _cipher(rng: Random) -> Draft:
    words, shift = rng.sample(WORDS, 3), rng.randint(3, 11)
    letters = string.ascii_lowercase
    moved = "".join(words).translate(str.maketrans(letters, letters[shift:] + letters[:shift]))
    return Draft(
        f'Write the words "{" ".join(words)}" without spaces, move every letter {shift} places forward in '
        "the alphabet (after z comes a), and then write the whole backwards. Answer with the letters as "
        "one word.",
        moved[::-1],
    )


def _sorted(rng: Random) -> Draft:
    words, place = rng.sample(WORDS, 16), rng.randint(5, 12)
    return Draft(
        "Write each of these words backwards, sort the words so written alphabetically, and take number "
        f"{place} of them, counting from 1. Which is it? Answer with that word, written forwards as here: "
        f"{', '.join(words)}.",
        sorted(words, key=lambda word: word[::-1])[place - 1],
    )


def _distance(rng: Random) -> Draft:
    one, two = rng.sample(WORDS, 2)
    above = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(two, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
        above = row
    return Draft(
        f'What is the Levenshtein distance of "{one}" and "{two}" (the least number of letters to insert, '
        "delete or replace that makes one of the other)? Answer with a number.",
        str(above[-1]),
    )


def _overlaps(rng: Random) -> Draft:
    text, part = "".join(rng.choices("ab", k=44)), rng.choice(("aba", "bab", "aa", "abba", "bb"))
    found = sum(text.startswith(part, at) for at in range(len(text)))
    return Draft(
        f'How many times does "{part}" occur in "{text}", when occurrences may overlap? Answer with a '
        "number.",
        str(found),
    )


def _nth(rng: Random) -> Draft:
    words, letter = rng.sample(WORDS, 26), rng.choice("ae")
    holders = [word for word in words for _ in range(word.count(letter))]
    place = rng.randint(9, len(holders) - 1)
    return Draft(
        f'The letters "{letter}" of this text are numbered from its start, beginning with 1. Which word '
        f'holds the "{letter}" with the number {place}? Answer with the word.\n\n{" ".join(words)}',
        holders[place - 1],
    )


STRINGS: tuple[Kind, ...] = (_count, _cipher, _sorted, _distance, _overlaps, _nth)
