"""All rows of a table are checked in one test, and a failure names those that failed."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from tests.support.rows import rows


def test_every_row_is_checked_and_those_that_fail_are_named() -> None:
    checked: list[int] = []

    @rows("number", [1, 2, 3, 4], ids=["one", "two", "three", "four"])
    def even(number: int) -> None:
        checked.append(number)
        assert number % 2 == 0, "it is odd"

    with pytest.raises(pytest.fail.Exception) as failed:
        even()
    assert checked == [1, 2, 3, 4]
    first, *others = str(failed.value).splitlines()
    assert first == "2 of 4 rows:"
    assert [line.partition(":")[0] for line in others if "it is odd" in line] == ["one", "three"]


def test_the_other_parameters_are_fixtures_of_the_test() -> None:
    @rows("a, b", [(1, 2), (3, 4)])
    def test(tmp_path: object, a: int, b: int) -> None:
        assert (b - a, tmp_path) == (1, "here")

    assert list(inspect.signature(test).parameters) == ["tmp_path"]
    test(tmp_path="here")


def test_another_error_is_raised_with_all_rows_that_failed() -> None:
    @rows("text", ["7", "x", "8", "y"])
    def number(text: str) -> None:
        assert int(text) < 8

    with pytest.raises(ValueError, match=r"invalid literal.*'x'") as raised:
        number()
    (note,) = raised.value.__notes__
    assert note.startswith("3 of 4 rows:\n'x': ValueError: invalid literal")
    assert "\n'8': assert" in note
    assert "\n'y': ValueError: " in note


def test_what_ends_the_session_ends_the_test_at_once() -> None:
    checked: list[int] = []

    @rows("number", [1, 2])
    def stop(number: int) -> None:
        checked.append(number)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        stop()
    assert (checked, raised.value.__notes__) == ([1], ["in the row 1"])


def test_each_group_is_a_test_of_its_own() -> None:
    @rows("number", [1, 2, 3, 4], groups=["odd", "even", "odd", "even"])
    def small(tmp_path: object, number: int) -> None:
        assert number < 3, tmp_path

    assert list(inspect.signature(small).parameters) == ["tmp_path", "group"]
    assert small.pytestmark[0].args == ("group", ["odd", "even"])
    for group, row in {"odd": 3, "even": 4}.items():
        with pytest.raises(pytest.fail.Exception, match=f"1 of 2 rows:\n{row}: here"):
            small(group=group, tmp_path="here")


async def test_the_rows_of_an_asynchronous_test_are_awaited() -> None:
    @rows("number", [1, 2])
    async def even(number: int) -> None:
        await asyncio.sleep(0)
        assert number % 2 == 0

    with pytest.raises(pytest.fail.Exception, match="1 of 2 rows:\n1: "):
        await even()


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows for case"):
        rows("case", [])
