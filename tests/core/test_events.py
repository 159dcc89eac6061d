"""Events: every type survives JSON, whatever text is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import CallFinished, Event, RunStarted, Token, VoteTallied, from_json, to_json

strings = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates too


values = st.none() | st.booleans() | st.integers() | strings
st.register_type_strategy(Mapping, st.dictionaries(strings, values, max_size=3))
events = st.one_of(
    *(
        st.builds(cls, **({"data": values} if cls is CallFinished else {}))
        for cls in get_args(Event)
        if cls not in (RunStarted, VoteTallied)
    ),
    st.builds(RunStarted, seats=st.just(({"seat": "Participant A", "model": "a:b"},))),
    st.builds(VoteTallied, tally=st.dictionaries(strings, st.floats(0, 9), max_size=3)),
)


@given(events)
def test_events_survive_json(event: Event) -> None:
    document = json.loads(json.dumps(to_json(event)))
    assert document["type"] == event.type
    again = from_json(document)
    assert json.dumps(to_json(again)) == json.dumps(to_json(event))


@given(strings)
def test_text_is_kept_exactly(text: str) -> None:
    event = CallFinished(attempt=1, fingerprint="f", model="a:b", text=text, key="/0")
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(KeyError):
        from_json({"type": "nonsense"})


def test_types_are_the_ones_of_the_contract() -> None:
    assert {cls.type for cls in get_args(Event)} == {
        *("run_started", "phase_entered", "call_started", "token", "call_finished", "call_failed"),
        *("seat_dropped", "tool_called", "vote_tallied", "budget", "run_finished"),
    }
    assert Token(text="x").seq is None
