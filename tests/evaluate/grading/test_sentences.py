"""Answers in sentences: clear ones are read, ambiguous ones are not."""

from __future__ import annotations

import pytest

from pnyx.evaluate.grading.grade import Grade, grade, is_right
from pnyx.evaluate.items import Item
from tests.support.rows import rows

BEGAN = "A lesson of 45 minutes ends at 18:45. When did it begin?"
AGO = "Today is Monday. What day of the week was it 5 days ago?"
AHEAD = "Today is Monday. What day of the week will it be 16 days from today?"
MINUTES = "How many minutes are 9 hours and 46 minutes? Answer with a number."
LONGEST = "Which of these lengths is the longest: 370 m, 0.18 km, 260 m, 24000 cm?"
LARGER = "Which is larger: 8/9 or 1/4? Answer with that fraction."
OLDEST = "Ada is younger than Liam, and Ben is younger than Ada. Who is the oldest?"
OPEN = "A library is open from 9 am to 5 pm on 5 days a week. How many hours a week is it open?"
TIMES = ("18:05", "19:30", "18:00", "17:00")
DAYS = ("Wednesday", "Friday", "Saturday", "Monday")
LENGTHS = ("370 m", "260 m", "0.18 km", "24000 cm")
NAMES = ("Ada", "Ben", "Liam", "Iris")


def ask(question: str, target: str, *choices: str) -> Item:
    return Item(id="1", question=question, target=target, choices=choices)


@rows(
    "item, answer",
    [
        (ask(BEGAN, "18:00", *TIMES), "The lesson began at 18:00"),
        (ask(BEGAN, "18:00"), "The lesson that ends at 18:45 began at 18:00"),
        (ask(BEGAN, "18:00"), "It began at 6:00 in the evening"),
        (ask(AGO, "Wednesday", *DAYS), "The day of the week 5 days ago was Wednesday"),
        (ask(AGO, "Wednesday", *DAYS), "5 days ago it was a Wednesday."),
        (ask(AGO, "Wednesday"), "It is Wednesday."),
        (ask(AGO, "Wednesday"), "Today is Monday, so 5 days ago was Wednesday"),
        (ask(AHEAD, "Wednesday"), "16 days from today is Wednesday"),
        (ask(MINUTES, "586 minutes"), "There are 586 minutes in 9 hours and 46 minutes"),
        (ask(LONGEST, "370 m", *LENGTHS), "The longest length is 370 m"),
        (ask(LONGEST, "370 m", *LENGTHS), "The greatest of these lengths is 370 m"),
        (ask(LARGER, "8/9"), "8/9 is larger than 1/4"),
        (ask(LARGER, "8/9"), "8/9 > 1/4"),
        (ask(LARGER, "8/9"), "The larger fraction is 8/9"),
        (ask("Which is larger: 16.3 or 16.21?", "16.3"), "16.3 is larger than 16.21"),
        (ask("Who is taller, Ada or Ben?", "Ada"), "Ada is taller than Ben"),
        (ask(OLDEST, "Liam"), "The oldest is Liam."),
        (ask(OLDEST, "Liam", *NAMES), "The oldest is Liam."),
        (ask("When does the loan end?", "2024-03-05"), "The date is 2024-03-05"),
        (ask("When does the loan end?", "2024-03-05"), "The loan ends on March 5, 2024"),
        (ask("What is the capital of France?", "Paris"), "The capital is Paris"),
        (ask("What is 7 + 8?", "15"), "The sum of 7 and 8 is 15"),
        (ask(OPEN, "40 hours"), "The library is open for 40 hours a week"),
        (ask(OPEN, "40 hours"), "40 hours a week"),
        (ask("How fast is it?", "37.5 km/h"), "It goes at 37.5 kilometers per hour"),
        (ask("How many are left?", "5"), "There are 5 in total"),
    ],
)
async def test_a_sentence_is_read_as_the_value_that_it_states(item: Item, answer: str) -> None:
    assert is_right(item, answer)
    assert (await grade(item, f"Step 1.\n\nFinal answer: {answer}", answer)).correct


@rows(
    "item, answer",
    [
        *(
            (ask(BEGAN, "18:00", *TIMES), answer)
            for answer in (
                "The lesson did not begin at 18:00",
                "It didn't begin at 18:00",
                "It began at 18:00 or 17:00",
                "It began before 18:00",
                "It began between 17:00 and 18:00",
                "It began at 16:30 and not at 18:00",
                "It began at 18:00 pm, ended at 18:50",
                "Any time but 18:00",
                "18:00 is wrong",
                "It began at 118:00",
                "It took 18:00:30",
            )
        ),
        *(
            (ask(AGO, "Wednesday", *DAYS), answer)
            for answer in (
                "The day of the week 5 days ago was not Wednesday",
                "It was the day before Wednesday",
                "5 days ago was Wednesday or Friday",
                "It is later than Wednesday",
                "Wednesday is impossible",
                "The day after it was Wednesday",
            )
        ),
        (ask("Today is Monday. What day was it 7 days ago?", "Monday", *DAYS), "Today is Monday"),
        *(
            (ask(AGO, "Wednesday"), answer)
            for answer in ("It was not Wednesday", "The day before was Wednesday", "Tomorrow is Wednesday")
        ),
        (ask("Today is Monday. What day was it 7 days ago?", "Monday"), "Today is Monday"),
        *(
            (ask(LONGEST, "370 m", *LENGTHS), answer)
            for answer in (
                "The shortest length is 370 m",
                "The longest length is 370 m/s",
                "The longest length is 1370 m",
                "The longest length is 370 mm",
                "The longest length is more than 370 m",
                "260 m is longer than 370 m",
                "The longest length is 370 m + 1",
                "The longest is 400 m and the second 370 m",
            )
        ),
        *(
            (ask(LARGER, "8/9"), answer)
            for answer in (
                "8/9 is smaller than 1/4",
                "8/9 is not larger than 1/4",
                "1/4 is larger than 8/9",
                "8/9 < 1/4",
                "The smaller fraction is 8/9",
                "8/9 is larger than 1/4 or not",
                "Neither 8/9 is larger than 1/4",
            )
        ),
        *(
            (ask(OLDEST, "Liam", *choices), answer)
            for choices in ((), NAMES)
            for answer in (
                "The youngest is Liam",
                "The oldest is not Liam",
                "The oldest is the brother of Liam",
                "The oldest is Liam's brother",
                "The oldest is either Liam or Ada",
                "It isn't true that the oldest is Liam",
                "The person next to Liam",
                "The second is Liam",
                "The oldest lives with Liam",
                "All but Liam",
            )
        ),
        *(
            (ask(MINUTES, "586 minutes"), answer)
            for answer in (
                "There are not 586 minutes in 9 hours and 46 minutes",
                "There are 586 seconds in 9 hours and 46 minutes",
                "There are 586 minutes in 9 hours and 47 minutes",
                "There are 586 minutes in 9 hours or 587 minutes",
                "There are more than 586 minutes in 9 hours and 46 minutes",
                "That makes 586 hours",
                "That makes 586 seconds in total",
            )
        ),
        *(
            (ask(OPEN, "40 hours"), answer)
            for answer in (
                "It takes 40 seconds",
                "The library is open 40 days a week",
                "It is open for 40 minutes a week",
                "It is open for 40 hours a day",
            )
        ),
        *(
            (ask("How many dollars?", "$12"), answer)
            for answer in ("The shop gives back 12 cents", "The shop gives back €12", "It costs 12 euros")
        ),
        *(
            (ask("How long is it?", "12 km"), answer)
            for answer in ("The road is 12 miles long", "The road is 12 kg heavy", "It goes 12 km per hour")
        ),
        *(
            (ask("How many?", "15"), answer)
            for answer in (
                "Any number but 15",
                "Everything except 15",
                "The wrong answer is 15",
                "Ada wrongly says 15",
                "It exceeds 15",
                "It lies outside 15",
                "It differs from 15",
                "The square of 15",
                "The inverse of 15",
                "It is short of 15",
                "It lacks 15",
                "It used to be 15",
                "The number after 15",
                "It comes before 15",
                "It ends before day 15",
                "It begins after the night 15",
                "It fails to reach 15",
                "It is far from 15",
                "The sum of 7 and 8 is 16 and the other is 15",
            )
        ),
        (ask("When does it arrive?", "02:30"), "It arrives at 2:30 in the afternoon"),
        (ask("When does it arrive?", "14:30"), "It takes 14:30 minutes"),
        (ask("When does it end?", "2024-03-05"), "It ends before 2024-03-05"),
        (ask("When does it end?", "2024-03-05"), "It was not on 2024-03-05"),
        (ask("When does it end?", "2024-03-05"), "The day before it ends is 2024-03-05"),
        (ask("What is the capital of France?", "Paris"), "The second city is Paris"),
        (ask("How many minutes?", "15", "15", "30"), "It takes 15 hours"),
    ],
)
async def test_an_ambiguous_sentence_is_not_read_as_the_answer(item: Item, answer: str) -> None:
    assert not is_right(item, answer)
    assert not (await grade(item, f"Step 1.\n\nFinal answer: {answer}", answer)).correct


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        (ask("How many?", "15"), "Gina has boxes of marbles and gives away some"),
        (ask(BEGAN, "18:00"), "the time at which it began"),
        (ask("When does it end?", "2024-03-05"), "the end of winter"),
        (ask(BEGAN, "18:00", *TIMES), "The lesson began at 11:05"),
        (ask(OLDEST, "Liam", *NAMES), "I will provide the answer"),
    ],
)
async def test_text_in_place_of_a_value_is_unread(item: Item, answer: str) -> None:
    assert await grade(item, "", answer) == Grade(None, False, "no answer could be read")


@pytest.mark.parametrize(
    ("item", "short", "answer"),
    [
        (ask("How many?", "15"), "16", "16"),
        (ask(BEGAN, "18:00", *TIMES), "17:30", "17:30"),
        (ask(OLDEST, "Liam", *NAMES), "Zoe", "zoe"),
        (ask("What is the capital of France?", "Paris"), "I do not know it", "I do not know it"),
    ],
)
async def test_an_answer_that_is_not_an_option_is_wrong_but_read(item: Item, short: str, answer: str) -> None:
    graded = await grade(item, "", short)
    assert (graded.answer or "").casefold() == answer.casefold()
    assert not graded.correct
