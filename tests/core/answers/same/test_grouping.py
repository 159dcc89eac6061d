"""Which short answers count as one."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.answers.replies.extract import same
from pnyx.core.answers.same.grouping import MAX_CHARS, find_group, group_answers
from tests.support.rows import rows

SENTENCES = ("The trip is 12 km long", "Each of them gets 12.", "The answer cannot be 12")
WORDINGS = (
    "12",
    "12.0",
    "12 km",
    "12000 m",
    "12 kg",
    "B",
    "b)",
    "B. Paris",
    "Paris",
    "yes",
    "No",
    "1/2",
    "50%",
    *SENTENCES,
)
wordings = st.lists(st.sampled_from(WORDINGS) | st.none(), max_size=14)


def sets(groups: dict[str, tuple[str, ...]]) -> set[frozenset[str]]:
    return {frozenset(group) for group in groups.values()}


def test_one_answer_in_several_notations_is_one_group_named_after_its_most_frequent_wording() -> None:
    groups = group_answers(["50%", "1/2", "1/2", None, "0.25"])
    assert sets(groups) == {frozenset({"1/2", "50%"}), frozenset({"0.25"})}
    assert set(groups) == {"1/2", "0.25"}


def test_of_equally_frequent_wordings_the_first_is_the_name() -> None:
    assert set(group_answers(["50%", "1/2"])) == {"50%"}
    assert set(group_answers(["1/2", "50%"])) == {"1/2"}


def test_an_answer_without_a_unit_joins_the_one_that_has_one() -> None:
    assert sets(group_answers(["12", "12 km", "12000 m"])) == {frozenset({"12", "12 km", "12000 m"})}


def test_what_matches_two_groups_joins_neither() -> None:
    assert sets(group_answers(["12", "12 km", "12 kg", "12.0"])) == {
        frozenset({"12", "12.0"}),
        frozenset({"12 km"}),
        frozenset({"12 kg"}),
    }


def test_opposite_ways_are_apart_and_a_plain_number_between_them_joins_neither() -> None:
    assert sets(group_answers(["$20 loss", "$20 profit", "$20 gain", "$20"])) == {
        frozenset({"$20 loss"}),
        frozenset({"$20 profit", "$20 gain"}),
        frozenset({"$20"}),
    }
    assert sets(group_answers(["3 hours later", "3"])) == {frozenset({"3 hours later", "3"})}


def test_a_letter_joins_the_option_that_is_given_with_its_text() -> None:
    assert sets(group_answers(["B", "B. Paris", "(b)"])) == {frozenset({"B", "B. Paris", "(b)"})}


def test_prose_and_empty_answers_are_not_counted() -> None:
    assert group_answers([None, "", "x" * (MAX_CHARS + 1)]) == {}
    assert find_group("x" * (MAX_CHARS + 1), {"x": ("x",)}) is None
    assert find_group(None, {"x": ("x",)}) is None


def test_a_further_answer_finds_its_group_by_what_it_says() -> None:
    groups = group_answers(["12 km", "12 kg", "7"])
    assert find_group("12,000 m", groups) == "12 km"
    assert find_group("7.0", groups) == "7"
    assert find_group("12", groups) is None
    assert find_group("8", groups) is None


@given(wordings)
def test_every_counted_answer_is_in_one_group_and_like_another_in_it(answers: list[str | None]) -> None:
    groups = group_answers(answers)
    assert sorted(a for group in groups.values() for a in group) == sorted({a for a in answers if a})
    for name, group in groups.items():
        assert name in group
        assert all(find_group(a, groups) == name for a in group)
        short = [a for a in group if a not in SENTENCES]
        assert len(short) == 1 or all(any(same(a, b) for b in short if b != a) for a in short)


@given(wordings, st.randoms())
def test_the_groups_do_not_depend_on_the_order(answers: list[str | None], random: Random) -> None:
    shuffled = list(answers)
    random.shuffle(shuffled)
    assert sets(group_answers(shuffled)) == sets(group_answers(answers))


@rows(
    "sentence, value",
    [
        ("Each friend gets 10 cards", "10"),
        ("The sale price of the desk is $90", "$90"),
        ("The sale price of the lamp is $20", "$20.00"),
        ("The club now has 770 members", "770 members"),
        ("The lesson began at 18:00", "6 pm"),
        ("The trip is 12 km long.", "12000 m"),
    ],
)
def test_a_sentence_joins_the_value_that_it_states_which_is_the_name(sentence: str, value: str) -> None:
    assert group_answers([sentence, sentence, value]) == {value: (value, sentence)}
    assert find_group(sentence, {value: (value,), "11": ("11",)}) == value


@rows(
    "sentence, value",
    [
        ("The answer cannot be 10", "10"),
        ("There are more than 10 cards", "10"),
        ("The club has 10 members and 3 dogs", "10"),
        ("The trip is 12 km long", "12 kg"),
        ("The price is $90", "€90"),
        ("The city in district 9 is Gotham", "Gotham"),
        ("The city has 5 lakh people", "5"),
        ("The earth has 5 billion people", "5"),
        ("The area is 4 pi", "4"),
    ],
)
def test_a_sentence_that_may_say_something_else_joins_no_group(sentence: str, value: str) -> None:
    assert len(group_answers([sentence, value])) == 2


def test_sentences_alone_are_compared_as_they_stand() -> None:
    assert len(group_answers(["Each friend gets 10 cards", "They get 10 cards each"])) == 2
    assert set(group_answers(["Each friend gets 10 cards"])) == {"Each friend gets 10 cards"}
