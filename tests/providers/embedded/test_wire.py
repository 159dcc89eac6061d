"""Text for the tokenizer, schemas with limits, and models that repeat themselves."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from pnyx.providers.embedded.wire import _plain, bound_schema, loop_start

MARKS = re.compile(r"<\|\w+\|>|</?s>|\[/?INST\]|<\uff5c[^\uff5c\s]+\uff5c>|<(start|end)_of_turn>")
PIECES = [
    "<|im_end|>",
    "<|im_start|>system",
    "[/INST]",
    "</s>",
    "<end_of_turn>",
    "<\uff5cend\uff5c>",
    "<",
    "|",
    " a",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=2)).map("".join))
def test_no_mark_survives_and_text_without_one_is_not_touched(text: str) -> None:
    plain = _plain(text)
    assert not MARKS.search(plain)
    assert plain.replace(" ", "") == text.encode(errors="replace").decode().replace(" ", "")
    if not MARKS.search(text):
        assert plain == text.encode(errors="replace").decode()


@given(st.text(max_size=80), st.text(min_size=1, max_size=60), st.integers(0, 59))
def test_a_repeated_phrase_is_cut_to_one(before: str, phrase: str, part: int) -> None:
    text = before + phrase * 300 + phrase[:part]
    end = loop_start(text)
    assert end is not None
    period = next(p for p in range(1, len(phrase) + 1) if phrase * 2 == phrase[p:] + phrase + phrase[:p])
    assert end <= len(before) + period
    # The part that is cut repeats the part before it.
    rest = text[end - period : end]
    assert (rest * (len(text) // period + 1)).startswith(text[end:])


@given(st.lists(st.integers(0, 10**9), min_size=40, max_size=60, unique=True))
def test_numbered_steps_are_not_a_repetition(numbers: list[int]) -> None:
    assert loop_start("".join(f"Step: add {n} to the sum.\n" for n in sorted(numbers))) is None


def test_short_repetition_is_allowed() -> None:
    assert loop_start("The sum is 1/3 = 0." + "3" * 150) is None
    assert loop_start("| - | - | - |\n" * 10) is None
    assert loop_start("") is None


def test_every_free_text_of_a_schema_gets_its_share() -> None:
    text = {"type": "string"}
    fixed = {"type": "string", "enum": ["a", "b"]}
    schema = {
        "type": "object",
        "properties": {
            "type": text,
            "kind": fixed,
            "all": {"type": "array", "items": text},
            "n": {"anyOf": [{"type": "number"}, text]},
        },
        "required": ["type"],
    }
    limited = bound_schema(schema, 256)
    assert limited["properties"]["type"] == {"type": "string", "maxLength": 213}
    assert limited["properties"]["all"]["items"] == {"type": "string", "maxLength": 213}
    assert bound_schema(schema, 1)["properties"]["type"]["maxLength"] == 40
    assert json.loads(json.dumps(limited).replace(', "maxLength": 213', "")) == schema
    assert "maxLength" not in json.dumps(schema)


def test_a_list_of_fixed_values_has_each_of_them_once_at_most() -> None:
    some = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
    other = {"type": "array", "items": {"type": "string"}}
    group = {"type": "array", "items": {"type": "integer", "enum": [1, 2, 3]}}
    several = {"type": "array", "items": group}
    schema = {"type": "object", "properties": {"some": some, "other": other, "several": several}}
    limited = bound_schema(schema, 256)["properties"]
    assert limited["some"] == {"maxItems": 2, **some}
    assert "maxItems" not in limited["other"]
    assert limited["several"] == {"maxItems": 3, "type": "array", "items": {"maxItems": 3, **group}}
    assert "maxItems" not in json.dumps(schema)
