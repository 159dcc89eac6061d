"""Events: every type survives JSON, whatever text is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import (
    CallFinished,
    Event,
    RunStarted,
    Token,
    UnknownEvent,
    VoteTallied,
    event_type,
    from_json,
    to_json,
)
from pnyx.errors import Unreadable

strings = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates too


values = st.none() | st.booleans() | st.integers() | strings
st.register_type_strategy(Mapping, st.dictionaries(strings, values, max_size=3))
events = st.one_of(
    *(
        st.builds(cls, **({"data": values} if cls is CallFinished else {}))
        for cls in get_args(Event)
        if cls not in (RunStarted, VoteTallied, UnknownEvent)
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


def test_an_unknown_type_is_kept_as_it_is() -> None:
    document = {"type": "panel_rested", "seq": 3, "key": "/2", "mood": {"a": [1]}}
    event = from_json(document)
    assert isinstance(event, UnknownEvent)
    assert (event.name, event.seq, event.key, event_type(event)) == ("panel_rested", 3, "/2", "panel_rested")
    assert to_json(event) == document


@given(events, st.dictionaries(strings, values))
def test_unknown_fields_are_ignored(event: Event, more: dict[str, Any]) -> None:
    document = to_json(event)
    extra = {key: value for key, value in more.items() if key not in document}
    assert from_json({**extra, **document}) == event


@pytest.mark.parametrize("document", [{}, {"type": 3}, {"type": "seat_dropped", "model": "a:b"}])
def test_an_event_without_a_required_field_is_a_clear_error(document: dict[str, Any]) -> None:
    with pytest.raises(Unreadable, match="has no"):
        from_json(document)


def test_types_are_the_ones_of_the_contract() -> None:
    assert {cls.type for cls in get_args(Event)} == {
        *("run_started", "phase_entered", "call_started", "token", "call_finished", "call_failed"),
        *("seat_dropped", "tool_called", "vote_tallied", "budget", "run_finished"),
        *("seat_abstained", "branches_closed", "unknown"),
    }
    assert Token(text="x").seq is None
