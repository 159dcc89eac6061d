"""What an answer repeats of its question is no difference, and what it adds is one."""

from __future__ import annotations

from pnyx import same_answer
from tests.support.rows import rows

LETTERED = "Which city?\nA. Paris\nB. Berlin\nC. Rome"


@rows(
    "question, one, other",
    [
        ("Which port is it?", "port 443", "443"),
        ("Which port is it?", "Port: 443", "443"),
        ("What is the exit code?", "exit code 1", "1"),
        ("On which line is the bug?", "line 12", "12"),
        ("Which room?", "room 12B", "12B"),
        ("In welchem Kapitel steht es?", "Kapitel 3", "3"),
        ("Auf welcher Seite?", "Seite 12", "12"),
        ("Dans quel chapitre ?", "chapitre 3", "3"),
        ("In which year?", "July 20, 1969", "1969"),
        ("In welchem Jahr?", "20. Juli 1969", "1969"),
        ("那是哪一年？", "1969年7月20日", "1969"),
        ("Which exception is raised?", "ValueError: bad value", "ValueError"),
        (LETTERED, "the second option", "B"),
        (LETTERED, "option 2", "B"),
        (LETTERED, "Option 2", "Berlin"),
        (LETTERED, "The third option is correct", "Rome"),
        (LETTERED, "the second option", "option 2"),
        (None, "12 in base 3", "12_3"),
        (None, "base 3: 12", "12_3"),
    ],
)
def test_what_the_question_says_already_may_be_left_out(question: str | None, one: str, other: str) -> None:
    assert same_answer(one, other, question)
    assert same_answer(other, one, question)


@rows(
    "question, one, other",
    [
        ("How many chapters are there?", "chapter 3", "3"),
        ("Which chapter?", "chapter 3", "4"),
        ("On which page of section 12?", "page 12", "section 12"),
        ("What is the least number?", "at least 5", "5"),
        ("Is it 5 or not 5, which?", "not 5", "5"),
        ("What comes after 5?", "after 5", "5"),
        ("What is minus 5?", "minus 5", "5"),
        ("What is under 5?", "under 5", "5"),
        ("Which protocol?", "HTTP/2", "2"),
        ("On which day?", "July 20, 1969", "1969"),
        ("In which year?", "July 20, 1968", "1969"),
        ("In which year?", "July 20, 1969", "July 21, 1969"),
        ("Which exception is raised?", "ValueError: bad", "TypeError"),
        ("Which exception is raised?", "ValueError: a", "ValueError: b"),
        ("What does this Python program print?", "ValueError: a", "ValueError"),
        (LETTERED, "the second option", "A"),
        (LETTERED, "option 2", "Rome"),
        (LETTERED, "option 4", "B"),
        (None, "12 in base 3", "12_4"),
    ],
)
def test_what_it_adds_is_a_difference(question: str | None, one: str, other: str) -> None:
    assert not same_answer(one, other, question)
    assert not same_answer(other, one, question)
