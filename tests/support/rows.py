"""Check the rows of a table in one test.

As a test of its own, a row costs some milliseconds of pytest for microseconds of work: a minute for thousands
of rows. Use `pytest.mark.parametrize` where a row needs fixtures of its own or takes time.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

__all__ = ["rows"]


def rows(
    names: str,
    values: Iterable[Any],
    ids: Iterable[str] | None = None,
    groups: Iterable[str] | None = None,
) -> Callable[..., Any]:
    """Call a test with every row, as `pytest.mark.parametrize` does, and fail with all rows that failed.

    names: of the parameters, separated by commas; with several, a row is a tuple. ids: a name for each row,
    its `repr` if there is none. groups: a name for each row; each group is a test of its own. Raises
    `ValueError` if there are no rows.
    """
    arguments = [name.strip() for name in names.split(",")]
    table = [row if len(arguments) > 1 else (row,) for row in values]
    if not table:
        raise ValueError(f"no rows for {names}")
    labels = list(ids) if ids is not None else [repr(row if len(arguments) > 1 else row[0]) for row in table]
    calls = [(name, dict(zip(arguments, row, strict=True))) for name, row in zip(labels, table, strict=True)]
    grouped: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for group, call in zip(groups or [""] * len(calls), calls, strict=True):
        grouped.setdefault(group, []).append(call)

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(group: str = "", **others: Any) -> None:
            with _Failures(len(grouped[group])) as failures:
                for name, row in grouped[group]:
                    with failures.of(name):
                        test(**row, **others)

        @functools.wraps(test)
        async def run_async(group: str = "", **others: Any) -> None:
            with _Failures(len(grouped[group])) as failures:
                for name, row in grouped[group]:
                    with failures.of(name):
                        await test(**row, **others)

        signature = inspect.signature(test)
        assert set(arguments) <= set(signature.parameters), f"{test.__name__} does not take {names}"
        others = [p for name, p in signature.parameters.items() if name not in arguments]
        if groups is not None:
            others.append(inspect.Parameter("group", inspect.Parameter.KEYWORD_ONLY))
        chosen: Any = run_async if inspect.iscoroutinefunction(test) else run
        chosen.__signature__ = signature.replace(parameters=others)
        return pytest.mark.parametrize("group", list(grouped))(chosen) if groups is not None else chosen

    return decorate


class _Failures:
    """The rows of a test that failed. On exit it fails with all of them; if one raised another error than
    that of an `assert`, with the first such error."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.messages: list[str] = []
        self.error: Exception | None = None

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        try:
            yield
        except (AssertionError, pytest.fail.Exception) as error:
            self.messages.append(f"{name}: {error}")
        except Exception as error:
            self.messages.append(f"{name}: {type(error).__name__}: {error}")
            self.error = self.error or error
        except BaseException as error:
            error.add_note(f"in the row {name}")
            raise

    def __enter__(self) -> _Failures:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None or not self.messages:
            return
        message = "\n".join([f"{len(self.messages)} of {self.n} rows:", *self.messages])
        if self.error is not None:
            self.error.add_note(message)
            raise self.error
        pytest.fail(message, pytrace=False)
