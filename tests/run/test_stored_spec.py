"""What `Spec.from_json` makes of the specs of other versions, and of damaged ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.context.files import File
from pnyx.core.decision import Given
from pnyx.core.models import Price, Seat
from pnyx.core.text import Material
from pnyx.core.thinking import EFFORTS
from pnyx.errors import Unreadable
from pnyx.run.spec import Spec
from tests.support.processes import spec

ODD: tuple[Any, ...] = (
    None,
    True,
    7,
    0.5,
    "x",
    [],
    [7],
    ["x"],
    [None],
    {},
    {"x": 7},
    {"x": {}},
    {"x": {"y": 7}},
)
TOOL = {"name": "look", "parameters": {"type": "object"}}


def stored() -> dict[str, Any]:
    """A stored spec in which each field that has parts has some."""
    seat = Seat("Participant A", "h:large", price=Price(1.0, 4.0), effort="low")
    one = spec(
        seats=(seat,),
        context=(Material("earlier", "a decision"),),
        responses=(Given("yes", "because"),),
        tables={"voting": {"samples": 2}},
        tools=("calculator",),
        client_tools=(TOOL,),
        answer_schema={"type": "object"},
        efforts_of_phases={"vote": {"effort": "low"}},
        efforts_of_seats={seat.label: {"tokens": 700}},
        files=(File.of_text("a.md", b"one", "one"),),
        judge=replace(seat, label="Judge"),
        trace={"request": "1"},
    )
    one = replace(one, limits=replace(one.limits, phases={"vote": {"effort": "low", "tokens": None}}))
    document: dict[str, Any] = json.loads(json.dumps(one.to_json()))
    return document


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each part of a document, itself included."""
    yield place
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places(part, (*place, name))


def put(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The stored spec with `value` at a place."""
    document = whole = stored()
    for name in place[:-1]:
        document = document[name]
    document[place[-1]] = value
    return whole


def use(one: Spec) -> None:
    """Read all that a view, a resume and a comparison read of it."""
    for seat in one.callable_seats:
        one.output_limit(seat)
        for phase in ("vote", "other"):
            assert one.thinking(seat, phase).effort in (None, *EFFORTS)
    for name in ("brief", "all_options", "payer", "quorum", "seat_rows", "file_rows", "contents", "caps"):
        getattr(one, name)
    assert one.same_request(one)
    json.dumps(one.to_json())


@pytest.mark.parametrize("place", [place for place in places(stored()) if place], ids=str)
def test_an_odd_value_is_read_or_is_a_clear_error(place: tuple[Any, ...]) -> None:
    for value in ODD:
        try:
            read = Spec.from_json(put(place, value), "r1")
        except Unreadable:
            with pytest.raises(Unreadable, match=r"^run r1 cannot be read: "):
                Spec.from_json(put(place, value), "r1")
        else:
            if place != ("protocol",):  # it may be one that is not installed here
                use(read)


@pytest.mark.parametrize("place", list(places(stored())), ids=str)
def test_an_unknown_field_of_a_newer_version_is_ignored(place: tuple[Any, ...]) -> None:
    document = stored()
    part: Any = document
    for name in place:
        part = part[name]
    if isinstance(part, dict) and place != ("trace",):  # its values are texts
        part["of a newer version"] = {"x": 7}
        use(Spec.from_json(document, "r1"))
