"""Events: every type survives JSON, whatever text is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import (
    BranchesClosed,
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    RunStarted,
    SeatAbstained,
    SeatDropped,
    Token,
    ToolCalled,
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


SAMPLES: tuple[Event, ...] = (
    RunStarted(question="Why?", protocol="voting", seats=({"seat": "Participant A", "model": "a:b"},)),
    PhaseEntered(protocol="voting"),
    CallStarted(
        **{"attempt": 1, "fingerprint": "f", "model": "a:b"},  # type: ignore[arg-type]
        **{"prompt_id": "p", "prompt_sha256": "0", "prompt": "Why?"},  # type: ignore[arg-type]
    ),
    CallFinished(attempt=1, fingerprint="f", model="a:b", text="yes"),
    CallFailed(attempt=1, fingerprint="f", model="a:b", kind="timeout", message="late", final=True),
    SeatDropped(model="a:b", reason="late"),
    SeatAbstained(reason="no ballot"),
    BranchesClosed(branches=("/0.1",)),
    ToolCalled(fingerprint="f", tool="search", arguments={}, outcome="found"),
    VoteTallied(rule="majority", tally={"yes": 2.0}),
    Budget(kind="warning", scope="run:x", spent_usd=1.0, reserved_usd=0.0, cap_usd=2.0),
    RunFinished(status="failed", result={}),
)
OTHER: dict[str, tuple[Any, ...]] = {
    "str": (None, 7, True, ["x"], {"x": 1}),
    "int": (None, 1.5, True, "7", [7], {"x": 1}),
    "float": (None, True, "7", [7], {"x": 1}),
    "bool": (None, 1, "true", [True], {"x": 1}),
    "tuple": (None, 7, True, "xy", {"x": 1}, [7], [None], [["x"]]),
    "Mapping": (None, 7, True, "xy", ["x"]),
}
"""Annotation -> values of JSON that it does not allow."""


def test_a_field_of_another_type_is_a_clear_error_in_every_event() -> None:
    assert {type(event) for event in SAMPLES} == set(get_args(Event)) - {Token, UnknownEvent}
    checked = 0
    for event in SAMPLES:
        document = to_json(event)
        for field in fields(event):
            kinds = [kind.partition("[")[0] for kind in str(field.type).split(" | ")]
            if not set(kinds) <= {*OTHER, "None"}:
                continue
            for value in OTHER[kinds[0]]:
                if value is None and "None" in kinds:
                    continue
                with pytest.raises(Unreadable, match=f"cannot be read: {field.name} is "):
                    from_json({**json.loads(json.dumps(document)), field.name: value})
                checked += 1
    assert checked > 700
    with pytest.raises(Unreadable, match="tally is dict, not Mapping"):
        from_json({**to_json(SAMPLES[9]), "tally": {"yes": "two"}})
