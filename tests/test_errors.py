"""Errors cross the border of a process, such as that of a pool of a program."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator

import pytest

import pnyx.errors
from pnyx.errors import PnyxError, ProviderError

VALUES = {"str": "words", "int": 7, "bool": True, "Sequence[str]": ("a", "b"), "float | None": 2.5}


def every_error(cls: type[PnyxError] = PnyxError) -> Iterator[type[PnyxError]]:
    yield cls
    for inner in cls.__subclasses__():
        if inner.__module__ == pnyx.errors.__name__:
            yield from every_error(inner)


def made(cls: type[PnyxError]) -> PnyxError:
    """An error of this class, with a value for every parameter."""
    if cls is ProviderError:
        return ProviderError("timeout", "words", billed=True, retry_after=2.5)
    if cls.__init__ is Exception.__init__:
        return cls("words")
    parameters = inspect.signature(cls).parameters.values()
    return cls(**{one.name: VALUES[one.annotation] for one in parameters})


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_error_is_the_same_behind_a_pickle_and_a_copy(again: object) -> None:
    assert callable(again)
    for cls in every_error():
        error = made(cls)
        error.add_note("noted")
        found = again(error)
        assert (type(found), str(found), vars(found)) == (cls, str(error), vars(error)), cls.__name__
