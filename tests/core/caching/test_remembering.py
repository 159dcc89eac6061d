"""A remembered function has the same results, and calls the original once for each text that is not long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.caching import remembering
from pnyx.core.caching.remembering import remembered


@given(st.lists(st.tuples(st.text(max_size=5), st.integers(0, 3)), max_size=30))
def test_results_are_those_of_the_function(calls: list[tuple[str, int]]) -> None:
    made: list[tuple[str, int]] = []

    def repeat(text: str, times: int = 1) -> str:
        made.append((text, times))
        return text * times

    quick = remembered(repeat)
    assert [quick(*call) for call in calls] == [text * times for text, times in calls]
    assert sorted(made) == sorted(set(calls))


def test_a_long_text_is_read_each_time_and_not_kept() -> None:
    made: list[str] = []

    def length(text: str) -> int:
        made.append(text)
        return len(text)

    quick, long = remembered(length), "x" * (remembering.CHARACTERS + 1)
    assert quick(long) == quick(long) == len(long)
    assert made == [long, long]
