"""Letters and words to count, and stories that hide two operations. The last kind of each is a choice."""

from __future__ import annotations

from random import Random

from ..drawing import PEOPLE, Draft, Kind, near

__all__ = ["LETTERS", "STORIES"]

WORDS = (
    "banana", "coffee", "committee", "window", "mississippi", "elephant", "bookkeeper", "pepper", "success",
    "balloon", "possession", "happiness", "address", "kettle", "butterfly", "grammar", "parallel", "umbrella",
    "tomorrow", "raspberry", "vacation", "holiday", "december", "engineer", "cheese", "referee", "tattoo",
    "alphabet", "cinnamon", "gallery", "necessary", "millennium", "accommodation", "hippopotamus", "lollipop",
)  # fmt: skip
PHRASES = (
    ("the old dog", "my little sister", "a grey horse", "nobody", "our neighbour", "the new teacher"),
    ("waited", "slept quietly", "was singing", "looked very tired", "stood still"),
    ("near the wooden gate", "under a tree", "behind the kitchen door", "in town", "by the river"),
    ("last night", "until the rain began", "every afternoon", "again", "for almost an hour"),
)


def _letter_count(rng: Random) -> Draft:
    word = rng.choice(WORDS)
    letter = rng.choice(sorted(set(word)))
    return Draft(
        f'How many times does the letter "{letter}" occur in the word "{word}"? Answer with a number.',
        str(word.count(letter)),
    )


def _word_count(rng: Random) -> Draft:
    text = " ".join(rng.choice(phrases) for phrases in PHRASES)
    return Draft(f'How many words are in this text: "{text}"? Answer with a number.', str(len(text.split())))


def _length(rng: Random) -> Draft:
    one, two = rng.sample(WORDS, 2)
    return Draft(
        f'How many letters do the words "{one}" and "{two}" have together? Answer with a number.',
        str(len(one) + len(two)),
    )


def _word_with_most(rng: Random) -> Draft:
    letter = rng.choice("aeiloprst")
    words = rng.sample(WORDS, 4)
    most = max(word.count(letter) for word in words)
    best = [word for word in words if word.count(letter) == most]
    if len(best) != 1:
        return _word_with_most(rng)
    wrong = tuple(word for word in words if word != best[0])
    return Draft(
        f'Which of the words {", ".join(words)} contains the letter "{letter}" most often?', best[0], wrong
    )


LETTERS: tuple[Kind, ...] = (_letter_count, _word_count, _length, _word_with_most)

THINGS = ("apples", "pencils", "stickers", "eggs", "books", "marbles", "cards", "cookies")


def _boxes(rng: Random) -> Draft:
    person, things = rng.choice(PEOPLE), rng.choice(THINGS)
    boxes, each, gone = rng.randint(4, 12), rng.randint(6, 15), rng.randint(7, 22)
    return Draft(
        f"{person} has {boxes} boxes with {each} {things} in each box and gives away {gone} {things}. "
        f"How many {things} does {person} have left? Answer with a number.",
        str(boxes * each - gone),
    )


def _change(rng: Random) -> Draft:
    person = rng.choice(PEOPLE)
    first, second = rng.randint(2, 6), rng.randint(2, 5)
    one, two = rng.randint(3, 7), rng.randint(2, 8)
    paid = first * one + second * two + rng.randint(3, 30)
    return Draft(
        f"{person} buys {first} notebooks at ${one} each and {second} pens at ${two} each and pays with "
        f"${paid}. How many dollars does the shop give back? Answer with a number.",
        str(paid - first * one - second * two),
    )


def _shared(rng: Random) -> Draft:
    one, two = rng.sample(PEOPLE, 2)
    things, friends, each = rng.choice(THINGS), rng.randint(3, 8), rng.randint(6, 15)
    mine = rng.randint(10, friends * each - 5)
    return Draft(
        f"{one} has {mine} {things} and {two} has {friends * each - mine}. They put them together "
        f"and share them equally among {friends} friends. How many {things} does each friend get? "
        "Answer with a number.",
        str(each),
    )


def _seats(rng: Random) -> Draft:
    rows, each, free = rng.randint(8, 20), rng.randint(8, 16), rng.randint(9, 40)
    taken = rows * each - free
    wrong = near(rng, taken, rows * each, taken + each, rows * (each - 1) + free, step=2)
    return Draft(
        f"A hall has {rows} rows of {each} seats, and {free} seats are empty. How many seats are taken?",
        str(taken),
        tuple(map(str, wrong)),
    )


STORIES: tuple[Kind, ...] = (_boxes, _change, _shared, _seats)
