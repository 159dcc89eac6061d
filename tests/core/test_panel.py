"""`Panel.first`: the reply of the first seat that answers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pnyx.core.models import Seat
from pnyx.core.steps import Ask, Panel, Reply
from pnyx.core.text import Draft
from pnyx.errors import SeatAbsent
from tests.support.seats import seat

A, B, C = seat("A", "one:a"), seat("B", "two:b"), seat("C", "three:c")
CUT = "cut off"


def first(replies: Mapping[Seat, str | None], *, whole: bool = True) -> tuple[Reply, list[Ask]]:
    """The reply that `Panel.first` returns, and every ask. A text that ends with `CUT` is cut off."""
    asks: list[Ask] = []
    script = Panel((A, B, C)).first(
        tuple(replies), lambda one: Draft("p", "sha", (f"You are {one.label}.",)), whole=whole
    )
    value: Reply | None = None
    error: SeatAbsent | None = None
    while True:
        try:
            ask = script.throw(error) if error else script.send(value)
        except StopIteration as done:
            return done.value, asks
        assert isinstance(ask, Ask)
        asks.append(ask)
        text = replies[ask.seat]
        error = SeatAbsent(ask.seat.label) if text is None else None
        value = None if text is None else Reply(ask, text, truncated=text.endswith(CUT))


def test_no_seat_is_asked_after_the_first_that_answers() -> None:
    reply, asks = first({A: None, B: "yes", C: "no"})
    assert (reply.text, [ask.seat for ask in asks]) == ("yes", [A, B])


def test_a_draft_may_be_made_for_each_seat() -> None:
    _, asks = first({A: None, B: "yes"})
    assert [ask.prompt.text for ask in asks] == ["You are Participant A.\n", "You are Participant B.\n"]


def test_whole_asks_the_next_seat_after_a_reply_that_is_cut_off() -> None:
    reply, asks = first({A: f"a, {CUT}", B: None, C: "whole"})
    assert (reply.text, len(asks)) == ("whole", 3)


def test_without_a_whole_reply_the_first_that_is_cut_off_is_returned_and_marked() -> None:
    reply, _ = first({A: None, B: f"b, {CUT}", C: f"c, {CUT}"})
    assert (reply.text, reply.truncated) == (f"b, {CUT}", True)


def test_without_whole_a_reply_that_is_cut_off_counts() -> None:
    reply, asks = first({A: f"a, {CUT}", B: "whole"}, whole=False)
    assert (reply.text, len(asks)) == (f"a, {CUT}", 1)


def test_if_no_seat_answers_the_last_absence_is_raised() -> None:
    with pytest.raises(SeatAbsent, match="Participant B"):
        first({A: None, B: None})
    with pytest.raises(SeatAbsent, match="no seat"):
        first({})


def test_a_reply_without_its_prompt_says_the_same_and_holds_nothing_that_was_sent() -> None:
    asked = Panel((A,)).ask(A, Draft("p", "0" * 64, ("Why?",)))
    whole = Reply(asked, "because", {"n": 1}, truncated=True, source="json")
    kept = whole.without_prompt()
    assert (kept.seat, kept.text, kept.data, kept.truncated, kept.source) == (
        A,
        "because",
        {"n": 1},
        True,
        "json",
    )
    assert (whole.ask.prompt.text, kept.ask.prompt.text, kept.ask.prompt.id) == ("Why?\n", "", "p")
