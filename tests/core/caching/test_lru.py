"""A bounded mapping keeps what was used last."""

from __future__ import annotations

from collections import OrderedDict
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.caching.lru import LRU


@given(st.integers(1, 5), st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=60))
def test_it_has_the_entries_of_a_plain_model(size: int, operations: list[tuple[bool, int]]) -> None:
    lru, model = LRU[int, int](size), OrderedDict[int, int]()
    for writes, key in operations:
        if writes:
            lru[key] = key * 2
            model.pop(key, None)
            while len(model) >= size:
                model.popitem(last=False)
            model[key] = key * 2
        elif key in model:
            assert lru[key] == model[key]
            model.move_to_end(key)
        else:
            with pytest.raises(KeyError):
                lru[key]
    assert {key for key in range(9) if key in lru} == set(model)
    assert len(lru) == len(model) <= size


def test_kept_entries_are_evicted_last_and_never_exceed_the_size() -> None:
    lru = LRU[str, bool](3, keep=bool)
    for name, kept in (("open", True), ("a", False), ("b", False), ("c", False), ("d", False)):
        lru[name] = kept
    assert [name for name in ("open", "a", "b", "c", "d") if name in lru] == ["open", "c", "d"]
    for n in range(5):
        lru[f"open {n}"] = True
    assert len(lru) == 3


def test_a_missing_value_is_made_once() -> None:
    counter = count(1)
    lru = LRU[str, int](2, make=lambda key: next(counter))
    assert lru.get("a") is None
    assert (lru["a"], lru["a"], lru["b"], lru.get("a")) == (1, 1, 2, 1)
