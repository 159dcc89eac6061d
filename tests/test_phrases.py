"""Lists of names in words."""

from __future__ import annotations

from pnyx.phrases import first_of, listed


def test_names_are_listed_in_words() -> None:
    assert [listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_of_many_names_the_first_are_shown_with_the_number_of_the_others() -> None:
    names = [f"n{n}" for n in range(2000)]
    assert [first_of(names[:n], 2) for n in (0, 1, 2, 3)] == ["", "n0", "n0, n1", "n0, n1 and 1 more"]
    assert first_of(names) == "n0, n1, n2, n3, n4 and 1,995 more"
