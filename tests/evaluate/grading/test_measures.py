"""The unit that a question asks for applies to a target without one."""

from __future__ import annotations

from pnyx.evaluate.grading.grade import grade, is_right
from pnyx.evaluate.grading.measures import question_unit
from pnyx.evaluate.items import Grader, Item
from tests.support.rows import rows


@rows(
    "question, symbol",
    [
        ("How many minutes does it take?", "min"),
        ("A pool holds 90 L, and a pump moves 10 L an hour. How many hours does it take?", "h"),
        ("In metres, how far is it?", "m"),
        ("How fast is that in km/h? Round to 2 decimal places.", "km/h"),
        ("How fast is it, in kilometres per hour?", "km/h"),
        ("Convert 5 km to m.", "m"),
        ("How many cubic metres are in 5000 litres?", "m^3"),
        ("How many days are there in a week?", "d"),
        ("What is it now, in dollars?", "usd"),
        ("How many cars pass in minutes of rain?", None),
        ("Which runner came in second place?", None),
        ("¿Quién llegó en segundo lugar?", None),
        ("Quel coureur est arrivé en seconde place ?", None),
        ("¿Cuánto dura, en segundos?", "s"),
        ("How many hours in weeks, and how many minutes?", None),
        ("In a town of 500, how many are taller than 2 m?", None),
        ("Who was it in a red coat?", None),
    ],
)
def test_a_question_names_its_unit(question: str, symbol: str | None) -> None:
    unit = question_unit(question)
    assert (unit and unit.symbol) == symbol


@rows("grader", ["exact", "numeric"])
@rows(
    "question, target, answer, correct",
    [
        ("How many minutes does it take?", "120", "2 hours", True),
        ("How many minutes does it take?", "120", "120 minutes", True),
        ("How many minutes does it take?", "120", "120", True),
        ("How many minutes does it take?", "15", "15 hours", False),
        ("How far is it, in metres?", "5000", "5 km", True),
        ("How far is it, in metres?", "5", "5 km", False),
        ("What does it cost in dollars?", "5", "$5", True),
        ("What does it cost in dollars?", "5", "5 cents", False),
        ("How many are left?", "5", "5 apples", True),
        ("Convert 90 minutes to hours.", "1.5", "90 minutes", False),
        ("Convert 90 minutes to hours.", "1.5 hours", "90 minutes", False),
        ("Convert 90 minutes to hours.", "1.5", "1.5 hours", True),
        ("How many minutes are 9 hours and 46 minutes?", "586 minutes", "9 hours and 46 minutes", False),
        ("How many minutes are 9 hours and 46 minutes?", "586 minutes", "586 minutes", True),
        ("A film of 90 minutes begins late. How many minutes does it last?", "90", "90 minutes", True),
        ("What is 3 + 2?", "5", "5 m", True),
    ],
)
async def test_an_answer_in_another_unit_is_converted(
    question: str, target: str, answer: str, correct: bool, grader: Grader
) -> None:
    item = Item(id="1", question=question, target=target, grader=grader)
    assert is_right(item, answer) is correct
    assert (await grade(item, f"Reasons.\n\nFinal answer: {answer}")).correct is correct
