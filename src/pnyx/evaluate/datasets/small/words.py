"""Letters and words to count, and word problems of two steps. The last kind of each category is a choice."""

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
SHORT = (
    "apple", "bread", "book", "cat", "dog", "egg", "fish", "green", "house", "jam", "king", "lamp", "moon",
    "night", "onion", "paper", "river", "sun", "tree", "water",
)  # fmt: skip
PHRASES = (
    ("dogs", "my sister", "horses", "nobody", "the old teacher", "we"),
    ("waited", "slept", "sang loudly", "stood still", "laughed", "looked tired"),
    ("outside", "today", "in town", "again", "by the river"),
)


def _letter_count(rng: Random) -> Draft:
    word = rng.choice(WORDS + SHORT)
    letter = rng.choice(sorted(set(word)))
    return Draft(
        f'How many times does the letter "{letter}" occur in the word "{word}"? Answer with a number.',
        str(word.count(letter)),
    )


def _word_count(rng: Random) -> Draft:
    text = " ".join(rng.choice(phrases) for phrases in PHRASES)
    return Draft(f'How many words are in this text: "{text}"? Answer with a number.', str(len(text.split())))


def _length(rng: Random) -> Draft:
    one, two = rng.sample(SHORT, 2)
    return Draft(
        f'How many letters do the words "{one}" and "{two}" have together? Answer with a number.',
        str(len(one) + len(two)),
    )


def _word_with(rng: Random) -> Draft:
    letter = rng.choice("aegilnoprst")
    words = rng.sample(WORDS + SHORT, 4)
    having = [word for word in words if letter in word]
    if len(having) != 1:
        return _word_with(rng)
    wrong = tuple(word for word in words if word != having[0])
    return Draft(f'Which of the words {", ".join(words)} has the letter "{letter}" in it?', having[0], wrong)


LETTERS: tuple[Kind, ...] = (_letter_count, _word_count, _length, _word_with)

THINGS = ("apples", "pencils", "stickers", "eggs", "books", "marbles", "cards", "cookies")


def _boxes(rng: Random) -> Draft:
    person, things = rng.choice(PEOPLE), rng.choice(THINGS)
    boxes, each, gone = rng.randint(2, 6), rng.randint(4, 10), rng.randint(2, 7)
    return Draft(
        f"{person} has {boxes} boxes with {each} {things} in each box and gives away {gone} {things}. "
        f"How many {things} does {person} have left? Answer with a number.",
        str(boxes * each - gone),
    )


def _change(rng: Random) -> Draft:
    person = rng.choice(PEOPLE)
    first, second = rng.randint(2, 4), rng.randint(2, 3)
    one, two = rng.randint(2, 5), rng.randint(1, 4)
    paid = first * one + second * two + rng.randint(1, 20)
    return Draft(
        f"{person} buys {first} notebooks at ${one} each and {second} pens at ${two} each and pays with "
        f"${paid}. How many dollars does the shop give back? Answer with a number.",
        str(paid - first * one - second * two),
    )


def _shared(rng: Random) -> Draft:
    one, two = rng.sample(PEOPLE, 2)
    things, friends, each = rng.choice(THINGS), rng.randint(2, 5), rng.randint(3, 10)
    mine = rng.randint(2, friends * each - 2)
    if each in (friends, mine, friends * each - mine):
        return _shared(rng)
    return Draft(
        f"{one} has {mine} {things} and {two} has {friends * each - mine}. They put them together "
        f"and share them equally among {friends} friends. How many {things} does each friend get? "
        "Answer with a number.",
        str(each),
    )


def _seats(rng: Random) -> Draft:
    rows, each, free = rng.randint(3, 10), rng.randint(4, 10), rng.randint(2, 9)
    taken = rows * each - free
    wrong = near(rng, taken, rows * each, taken + each, rows * (each - 1) + free, step=2)
    return Draft(
        f"A hall has {rows} rows of {each} seats, and {free} seats are empty. How many seats are taken?",
        str(taken),
        tuple(map(str, wrong)),
    )


STORIES: tuple[Kind, ...] = (_boxes, _change, _shared, _seats)
