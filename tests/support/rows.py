"""Check the rows of a table in one test.

As a test of its own, a row costs some milliseconds of pytest for microseconds of work: a minute for thousands
of rows. Use `pytest.mark.parametrize` where a row needs fixtures of its own or takes time.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

__all__ = ["rows"]


def rows(names: str, values: Iterable[Any], ids: Sequence[str] | None = None) -> Callable[..., Any]:
    """Call a test with every row, as `pytest.mark.parametrize` does, and fail with all rows that failed.

    names: of the parameters, separated by commas; with several, a row is a tuple. ids: a name for each row,
    its `repr` if there is none. Raises `ValueError` if there are no rows.
    """
    arguments = [name.strip() for name in names.split(",")]
    table = [row if len(arguments) > 1 else (row,) for row in values]
    if not table:
        raise ValueError(f"no rows for {names}")
    labels = list(ids) if ids is not None else [repr(row if len(arguments) > 1 else row[0]) for row in table]
    calls = [(name, dict(zip(arguments, row, strict=True))) for name, row in zip(labels, table, strict=True)]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(**others: Any) -> None:
            with _all_of(len(calls)) as failed:
                for name, row in calls:
                    with _one_of(name, failed):
                        test(**row, **others)

        @functools.wraps(test)
        async def run_async(**others: Any) -> None:
            with _all_of(len(calls)) as failed:
                for name, row in calls:
                    with _one_of(name, failed):
                        await test(**row, **others)

        signature = inspect.signature(test)
        assert set(arguments) <= set(signature.parameters), f"{test.__name__} does not take {names}"
        others = [p for name, p in signature.parameters.items() if name not in arguments]
        chosen: Any = run_async if inspect.iscoroutinefunction(test) else run
        chosen.__signature__ = signature.replace(parameters=others)
        return chosen

    return decorate


@contextlib.contextmanager
def _all_of(n: int) -> Iterator[list[str]]:
    """Yield a list for the messages of failed rows, and fail with it unless it is empty."""
    failed: list[str] = []
    yield failed
    if failed:
        pytest.fail("\n".join([f"{len(failed)} of {n} rows:", *failed]), pytrace=False)


@contextlib.contextmanager
def _one_of(name: str, failed: list[str]) -> Iterator[None]:
    try:
        yield
    except (AssertionError, pytest.fail.Exception) as error:
        failed.append(f"{name}: {error}")
    except BaseException as error:
        error.add_note(f"in the row {name}")
        raise
