"""Layers of settings: merging, and keys in messages."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pnyx.config.layers import Value, dotted, flatten, merge, place, to_tables
from pnyx.config.schema import Settings

TABLE = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.text("ab", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=8,
)
DOCUMENT = st.dictionaries(st.text("ab", min_size=1, max_size=2), TABLE, max_size=3)


def merged(low: Any, high: Any) -> Any:
    if not (isinstance(low, dict) and isinstance(high, dict)):
        return high
    return low | {k: merged(low[k], v) if k in low else v for k, v in high.items()}


@given(DOCUMENT, DOCUMENT)
def test_merging_flat_layers_equals_deep_merging(low: dict[str, Any], high: dict[str, Any]) -> None:
    found = to_tables(merge([flatten(low, "low"), flatten(high, "high")]))
    assert json.dumps(found) == json.dumps(merged(low, high))  # also in the same order


@given(st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_shown_keys_are_printable_ascii(key: list[str]) -> None:
    assert dotted(key).isascii()
    assert dotted(key).isprintable()


def test_the_origin_is_that_of_the_key_or_of_the_nearest_table() -> None:
    tree = merge([flatten({"a": {"b": 1, "c": [1, 2]}}, "low"), flatten({"a": {"b": 2}}, "high")])
    assert place(tree, ["a", "b"]) == "high"
    assert place(tree, ["a", "c", 1]) == "low"
    assert place(tree, ["a", "missing"]) in ("high", "low")
    assert place(tree, ["z"]) in ("high", "low")
    assert place({}, ["a"]) == "default"


KEY = st.lists(st.sampled_from("ab"), max_size=3).map(tuple)


@given(st.dictionaries(KEY.filter(len), st.sampled_from(["a file", "flags"])), KEY)
def test_a_table_has_the_origin_of_its_first_key(
    origins: dict[tuple[str, ...], str], key: tuple[str, ...]
) -> None:
    settings = Settings()
    settings.note_origins({name: Value(1, where) for name, where in origins.items()})
    within = [where for name, where in origins.items() if name[: len(key)] == key]
    assert settings.origin(*key) == origins.get(key, next(iter(within), "default"))
