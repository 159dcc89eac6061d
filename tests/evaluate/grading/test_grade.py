"""Graders: which answers are right, in the notations that models write."""

from __future__ import annotations

import pytest

from pnyx.errors import UsageError
from pnyx.evaluate.grading.grade import Grade, grade, is_right
from pnyx.evaluate.items import Item
from tests.support.rows import rows


def item(target: str, **more: object) -> Item:
    return Item(id="1", question="Which?", target=target, **more)  # type: ignore[arg-type]


@rows(
    "target, answer, correct",
    [
        ("1/2", "0.5", True),
        ("1/2", "50%", True),
        ("1/2", "2/4", True),
        ("1/2", "50", False),
        ("-3", "\u22123", True),
        ("-3", "3", False),
        ("1000", "1,000", True),
        ("1000", "1e3", True),
        ("2024-02-29", "February 29, 2024", True),
        ("2024-02-29", "29/02/2024", True),
        ("2024-02-29", "2024-02-28", False),
        ("40 hours", "40", True),
        ("40 hours", "2400 minutes", True),
        ("40 hours", "40 minutes", False),
        ("5", "5M", False),
        ("5", "5 M", False),
        ("5", "5MM", False),
        ("5", "5G", False),
        ("5", "5 m", True),
        ("5 g", "5 g", True),
        ("2500000", "2.5M", True),
        ("2500000", "2.5 M", True),
        ("5000000", "5M people", True),
        ("5 MB", "5MB", True),
        ("5 MHz", "5 MHz", True),
        ("5", "5!", False),
        ("120", "5!", True),
        ("15", "Each friend gets 15 apples", True),
        ("15", "between 15 and 16", False),
        ("15", "15 of 16", False),
        ("15", "not 15", False),
        *(
            ("5", answer, False)
            for answer in ("minus 5", "√5", "sqrt(5)", "log 5", "5\\pi", "5 squared", "5^n")
        ),
        *(
            ("5", answer, False)
            for answer in ("5 + 3i", "twice 5", "half of 5", "a third of 5", "5 plus ten")
        ),
        *(("5", answer, False) for answer in ("It cannot be 5", "never 5", "under 5", "up to 5", "5 or six")),
        *(
            ("5", answer, False)
            for answer in (
                "5 pi",
                "5\u03c0",
                "5*pi",
                "5 e",
                "5 x",
                "5 lakh",
                "5 crore",
                "5 millions",
                "5 per mille",
            )
        ),
        *(("5", answer, False) for answer in ("5 millionths", "5 billionths", "The city has 5 lakh people")),
        ("500000", "5 lakh", True),
        ("4\u03c0", "4 pi", True),
        ("4\u03c0", "4*pi", True),
        ("$20 loss", "$20 profit", False),
        ("$20", "$20 profit", True),
        ("3 hours later", "3 hours earlier", False),
        *(("5", answer, False) for answer in ("Jack received -$5", "5 to ten", "5 below zero")),
        *(("-5", answer, True) for answer in ("minus 5", "negative 5", "\u22125", "minus $5")),
        ("12", "The shop gives back $12", True),
        ("10", 'There are 10 letters in the words "node" and "onion" together', True),
        ("40 hours", "The library is open for 40 hours a week", True),
        ("14:30", "The train arrives at 14:30", True),
        ("14:30", "The train arrives at 2:30 pm.", True),
        ("14:30", "The train leaves before 14:30 or at 15:00", False),
        ("15", "It isn't 15", False),
        ("15", "more than 15", False),
        ("15", "It is -15 degrees", False),
        ("15", "version 15.2", False),
        ("Paris", "the Paris", True),
        ("Paris", "Paris or Lyon", False),
        ("yes", "Yes.", True),
    ],
)
def test_exact_accepts_other_notations(target: str, answer: str, correct: bool) -> None:
    assert is_right(item(target), answer) is correct


@rows(
    "question, target, answer, correct",
    [
        ("What percent of 40 is 10?", "25", "25%", True),
        ("What percent of 40 is 10?", "25", "0.25", False),
        ("What percent of 40 is 10?", "25%", "25", True),
        ("Give the share in %.", "12.5", "12.5 percent", True),
        ("What percent of 40 is 10?", "25", "0.25%", False),
        # A question for 20 % of 35 does not ask for percent.
        ("What is 20% of 35?", "7", "7%", False),
        ("What is 20 percent of 35?", "7", "7 percent", False),
        ("Is it so?", "yes", "true", True),
        ("Is it so?", "false", "No, it is not.", True),
        ("Is it so?", "yes", "false", False),
        ("Which element?", "bromine", "Bromine (Br)", True),
        ("Which element?", "bromine", "Bromine (Br, 35)", True),
        ("Which element?", "bromine", "Bromine (or chlorine)", False),
        ("Which element?", "bromine", "Chlorine (bromine)", False),
        ("On which day?", "2106-02-07", "2106-02-07 06:28:15 UTC", True),
        ("On which day?", "2106-02-07", "2106-02-07T06:28:15Z", True),
        ("On which day?", "2106-02-07", "7 February 2106 at 06:28", True),
        ("On which day?", "2106-02-07", "2106-02-08 06:28:15 UTC", False),
        ("When?", "09:05", "09:05:00", True),
        ("When?", "09:05:00", "9:05 am", True),
        ("When?", "09:05", "09:05:30", False),
        ("How many?", "-3", "minus three", True),
        ("How many?", "-3", "negative three", True),
        ("How many?", "3", "minus three", False),
        ("How many?", "-3", "three", False),
    ],
)
def test_additions_that_the_question_or_target_excludes_are_ignored(
    question: str, target: str, answer: str, correct: bool
) -> None:
    assert is_right(Item(id="1", question=question, target=target), answer) is correct


ON_WHICH_DAY = "On which day does it first reach the top? Answer with the number of the day."
IN_WHICH_PLACE = "You overtake the runner in fifth place. In which place are you then? Answer with a number."


@rows(
    "question, target, answer",
    [
        *(
            (ON_WHICH_DAY, "10", answer)
            for answer in (
                "Day 10",
                "10th",
                "10th day",
                "the 10th",
                "On the tenth day.",
                "Day: ten",
                "day no. 10",
            )
        ),
        *((ON_WHICH_DAY, "21", answer) for answer in ("21st", "twenty-first", "the twenty first day")),
        *(
            (IN_WHICH_PLACE, "5", answer)
            for answer in ("5th", "fifth", "5th place", "in fifth place", "Place 5")
        ),
        ("Which box is the heaviest? Answer with its number.", "2", "Box two"),
        ("What remainder does 17 leave when divided by 5?", "2", "Remainder 2"),
    ],
)
async def test_an_ordinal_is_its_number_if_the_question_asks_which(
    question: str, target: str, answer: str
) -> None:
    question_item = Item(id="1", question=question, target=target)
    assert await grade(question_item, f"So it is.\n\nFinal answer: {answer}") == Grade(target, True)
    assert is_right(Item(id="1", question=question, target=target, grader="numeric"), answer)


@rows("answer", ["B) 25", "B 25", "(B) 25", "**B**: 25", "A 23", "A) 23"])
async def test_a_letter_with_the_text_of_another_option_is_unread(answer: str) -> None:
    question_item = item("23", choices=("21", "23", "25", "27"))
    assert (await grade(question_item, f"So it is.\n\nFinal answer: {answer}", answer)).answer is None
    assert is_right(question_item, "B) 23")
    assert is_right(question_item, "B")
    assert is_right(item("dog", choices=("cat", "dog")), "A dog")


@rows(
    "question, target, answer",
    [
        *(
            ("How many days does it take?", "10", answer)
            for answer in ("10th", "tenth", "the 10th day", "Day 10")
        ),
        ("How many are there?", "20", "twenty-first"),
        ("On which day is it full, and how many days are left?", "10", "10th"),
        *(
            (ON_WHICH_DAY, "10", answer)
            for answer in ("10th night", "Night 10", "the day after the 10th", "not the 10th", "Day 10 or 11")
        ),
        *((ON_WHICH_DAY, "10", answer) for answer in ("10th to 11th", "10th from the end", "Day 10.5")),
        (ON_WHICH_DAY, "20", "20th of 21"),
        *((IN_WHICH_PLACE, "5", answer) for answer in ("5th step", "fifth of six", "between 5th and 6th")),
        # Either the second one named, which is 1, or the number 2: ambiguous.
        ("Which number is the larger: 2 or 1?", "2", "the second"),
        ("Which box is the heaviest: 1, 3 or 2? Answer with its number.", "2", "the second box"),
        ("What fraction of them is it?", "1/3", "third"),
        ("What root does it have?", "5", "root 5"),
    ],
)
async def test_an_ambiguous_ordinal_is_unread(question: str, target: str, answer: str) -> None:
    question_item = Item(id="1", question=question, target=target)
    assert await grade(question_item, "So it is.", answer) == Grade(None, False, "no answer could be read")


async def test_a_wrong_ordinal_is_read_and_wrong() -> None:
    question_item = Item(id="1", question=ON_WHICH_DAY, target="20")
    for answer in ("twenty-first", "21st day", "Day 21"):
        assert await grade(question_item, "So it is.", answer) == Grade("21", False)


@rows(
    "question, target, answer, correct",
    [
        ("What is it then in kelvin?", "281.26", "281.26K", True),
        ("What is it then in kelvin?", "281.26", "281.26 \u00b0K", True),
        ("What is it then in kelvin?", "281.26", "The temperature is 281.26K", True),
        ("What is it then in kelvin?", "281.26 K", "281.26 degrees Kelvin", True),
        ("What is it then in kelvin?", "281.26", "28.126K", False),
        ("It falls by 7 kelvin. How many people are there?", "4000", "4K", True),
        ("How many people are there?", "4", "4K", False),
    ],
)
def test_k_is_kelvin_if_the_question_asks_for_it(
    question: str, target: str, answer: str, correct: bool
) -> None:
    assert is_right(Item(id="1", question=question, target=target), answer) is correct
    assert is_right(Item(id="1", question=question, target=target, grader="numeric"), answer) is correct


@rows(
    "target, answer, correct",
    [
        ("10 lb", "10.05 pounds", True),
        ("50 cents", "$0.501", True),
        ("20 degrees", "20.1 °C", True),
        ("20 degrees", "20.1 degrees", True),
        ("10 lb", "£10.05", False),
        ("10 pounds", "£10.05", True),
        ("20 °C", "20.1 °F", False),
        ("50 cents", "$0.52", False),
    ],
)
def test_a_tolerance_applies_to_every_meaning_of_a_unit(target: str, answer: str, correct: bool) -> None:
    assert is_right(item(target, grader="numeric", tolerance=0.01), answer) is correct


@rows(
    "answer, correct",
    [
        ("3.14", True),
        ("3.15", False),
        ("3.1416", True),
        ("3.14 m", True),
        ("314 cm", True),
        ("about three", False),
    ],
)
def test_a_numeric_answer_may_be_off_by_its_tolerance(answer: str, correct: bool) -> None:
    assert is_right(item("3.1416 m", grader="numeric", tolerance=0.001), answer) is correct


@rows("answer, letter", [("B", "B"), ("(b)", "B"), ("4", "B"), ("B) 4", "B"), ("Option B", "B"), ("5", "C")])
async def test_a_choice_is_its_letter_or_its_text(answer: str, letter: str) -> None:
    question_item = item("4", choices=("3", "4", "5"))
    assert question_item.target == "B"
    graded = await grade(question_item, f"I think so.\n\nFinal answer: {answer}")
    assert graded == Grade(letter, letter == "B")


async def test_an_unread_answer_is_wrong_and_says_why() -> None:
    graded = await grade(item("4"), "I would rather not say.")
    assert graded == Grade(None, False, "no answer could be read")


async def test_a_judge_is_not_asked_if_code_can_decide() -> None:
    async def ask(prompt: str) -> str:
        raise AssertionError(prompt)

    assert (await grade(item("4", grader="judge"), "Final answer: 4.0", None, ask)).correct


@pytest.mark.parametrize("short", [None, "4"])
async def test_a_judge_is_not_asked_about_an_empty_reply(short: str | None) -> None:
    """Also if a failed run has a provisional short answer."""

    async def ask(prompt: str) -> str:
        raise AssertionError(prompt)

    graded = await grade(item("4", grader="judge"), " \n", short, ask)
    assert graded == Grade(None, False, "no answer could be read")


@pytest.mark.parametrize(
    ("verdicts", "correct", "why"),
    [
        (("yes", "yes"), True, None),
        (("no", "no"), False, None),
        (("yes", "no"), False, "the judge's verdict depends on the order of the answers"),
        (("perhaps", "perhaps"), False, "the judge's verdict could not be read"),
    ],
)
async def test_a_judge_counts_only_if_both_orders_agree(
    verdicts: tuple[str, str], correct: bool, why: str | None
) -> None:
    left = list(verdicts)

    async def ask(prompt: str) -> str:
        return f"Final answer: {left.pop(0)}"

    graded = await grade(item("Because it is lighter.", grader="judge"), "It weighs less.", None, ask)
    assert (graded.correct, graded.why) == (correct, why)


async def test_a_judged_answer_keeps_its_own_words_right_or_wrong() -> None:
    for verdict in ("yes", "no"):

        async def ask(prompt: str, verdict: str = verdict) -> str:
            return f"Final answer: {verdict}"

        question_item = item("Because it is lighter.", grader="judge")
        assert (await grade(question_item, "It weighs less.", "less weight", ask)).answer == "less weight"
        graded = await grade(question_item, "Weight.\nThat is\nwhat it lacks, as one can see.", None, ask)
        assert (graded.answer or "").startswith("weight that is what it lacks")
        assert graded.correct is (verdict == "yes")


@rows(
    "fields, message",
    [
        ({"target": " "}, "has no target"),
        ({"target": "4", "choices": ("4",)}, "has 1 choices"),
        ({"target": "9", "choices": ("4", "5")}, "is not one of its choices"),
        ({"target": "4", "grader": "choice"}, "has no choices"),
        ({"target": "2024-01-01", "grader": "numeric"}, "is not a number"),
        ({"target": "A", "choices": ("B", "A")}, "the letter of one choice and the text of another"),
    ],
)
def test_a_question_without_a_right_answer_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Item(id="1", question="Which?", **fields)  # type: ignore[arg-type]
