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


def test_another_error_is_raised_with_its_row() -> None:
    @rows("text", ["7", "x"])
    def number(text: str) -> None:
        int(text)

    with pytest.raises(ValueError, match="invalid literal") as raised:
        number()
    assert raised.value.__notes__ == ["in the row 'x'"]


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
