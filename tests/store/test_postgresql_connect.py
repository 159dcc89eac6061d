"""A PostgreSQL connection that ends as soon as it is made."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import asyncpg  # type: ignore[import-untyped]
import pytest

from pnyx.store.postgresql import _bound_silence

ENDED = [
    asyncpg.exceptions.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
    asyncpg.exceptions.InterfaceError("connection is closed"),
    asyncpg.exceptions.InternalClientError("got result for unknown protocol state 3"),
]


@pytest.mark.parametrize("error", ENDED, ids=lambda error: type(error).__name__)
def test_a_connection_that_ends_in_its_first_statement_is_a_lost_one(error: Exception) -> None:
    def run_async(statement: Callable[..., object]) -> None:
        raise error

    with pytest.raises(ConnectionResetError, match="the connection was lost"):
        _bound_silence(SimpleNamespace(run_async=run_async), SimpleNamespace(driver_connection=None))
